/* The progress bar of a running program. */
#include "../test.h"
#include "base/bar.h"

static const char *text_of(const char *what, double share, double elapsed_s, const char *more)
{
    static char text[BAR_COLUMNS + 1];
    bar_text(text, what, share, elapsed_s, more);
    return text;
}

static void a_bar_fills(void **state)
{
    (void)state;
    assert_string_equal(text_of("sim", 0, 0, ""), "sim [                        ]   0%");
    assert_string_equal(text_of("sim", 0.5, 0.9, "7 requests"),
                        "sim [############            ]  50%, 7 requests");
    assert_string_equal(text_of("sim", 0.999, 0, ""), "sim [####################### ]  99%");
    assert_string_equal(text_of("sim", 7, 0, ""), "sim [########################] 100%");
    assert_string_equal(text_of("sim", -7, 0, ""), "sim [                        ]   0%");
}

static void what_is_left_is_as_quick_as_what_was(void **state)
{
    (void)state;
    assert_string_equal(text_of("plan", 0.25, 10, "x"),
                        "plan [######                  ]  25%, 30 s left, x");
    assert_string_equal(text_of("plan", 0.005, 10, ""), "plan [                        ]   0%");
}

static void a_line_is_never_wider_than_its_columns(void **state)
{
    (void)state;
    char more[200];
    memset(more, 'm', sizeof(more) - 1);
    more[sizeof(more) - 1] = '\0';
    assert_int_equal(strlen(text_of("sim", 0.5, 1e9, more)), BAR_COLUMNS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_bar_fills),
        cmocka_unit_test(what_is_left_is_as_quick_as_what_was),
        cmocka_unit_test(a_line_is_never_wider_than_its_columns),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
