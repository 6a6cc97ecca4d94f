/* A table of options: every type, its range, and options that may be given many times. */
#include "../test.h"
#include "base/flags.h"

static const char *text;
static struct flags_texts texts;
static int64_t whole, span, size;
static double real;
static bool is_on, has_whole;

static bool parse(int argc, const char **argv, const char **plain, int *n_plain)
{
    const struct flags_row rows[] = {
        { "text", "T", FLAGS_TEXT, &text, 0, 0, "a text", NULL },
        { "texts", "T", FLAGS_TEXTS, &texts, 0, 0, "many", NULL },
        { "whole", "N", FLAGS_I64, &whole, 1, 10, "whole", &has_whole },
        { "real", "X", FLAGS_F64, &real, 0, 0, "real", NULL },
        { "span", "D", FLAGS_DURATION, &span, 0, 0, "span", NULL },
        { "size", "B", FLAGS_BYTES, &size, 0, 0, "size", NULL },
        { "on", NULL, FLAGS_SWITCH, &is_on, 0, 0, "on", NULL },
    };
    const struct flags flags = { "doc", "[A [B]]", rows, COUNT_OF(rows), 0, 2 };
    return flags_parse(&flags, argc, (char **)(uintptr_t)argv, plain, n_plain);
}

static void every_type(void **state)
{
    const char *plain[2];
    const char *argv[] = { "x",      "--text=a", "--texts",    "b",      "one",  "--texts=c",
                           "--real", "2.5",      "--span=10m", "--size", "2GiB", "--on",
                           "two",    "--whole",  "10",         NULL };
    int n = 0;
    (void)state;
    assert_true(parse(15, argv, plain, &n));
    assert_string_equal(text, "a");
    assert_true(texts.n == 2 && strcmp(texts.at[1], "c") == 0);
    assert_true(whole == 10 && real == 2.5 && span == INT64_C(600000000000) && is_on && has_whole);
    assert_true(size == INT64_C(2) << 30);
    assert_true(n == 2 && strcmp(plain[0], "one") == 0 && strcmp(plain[1], "two") == 0);
}

static void wrong_values(void **state)
{
    static const char *const wrong[] = { "--whole=0", "--whole=11", "--whole=1.5", "--real=-1",
                                         "--real=x",  "--span=-1",  "--size=much", "--whole=" };
    const char *plain[2];
    int n;
    (void)state;
    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        const char *argv[] = { "x", wrong[i], NULL };
        assert_false(parse(2, argv, plain, &n));
    }
}

static void bounds_are_named(void **state)
{
    double value[2];
    const struct {
        struct flags_row row;
        const char *text, *sentence;
    } wrong[] = {
        { { "seeds", "N", FLAGS_I64, value, 1, 1000, "", NULL },
          "0",
          "seeds: \"0\" is out of range, expected 1 to 1000" },
        { { "seed", "N", FLAGS_I64, value, 0, 0, "", NULL },
          "-1",
          "seed: \"-1\" is out of range, expected 0 or more" },
        { { "rate-scale", "F", FLAGS_F64, value, 1e-9, 1e9, "", NULL },
          "0",
          "rate-scale: \"0\" is out of range, expected 1e-09 to 1000000000" },
        { { "timeout", "T", FLAGS_DURATION, value, 1e6, 1e15, "", NULL },
          "0s",
          "timeout: \"0s\" is out of range, expected 0.001 to 1000000 seconds" },
        { { "until", "T", FLAGS_DURATION, value, 0, 0, "", NULL },
          "-1s",
          "until: \"-1s\" is out of range, expected 0 seconds or more" },
        { { "bus-bytes", "B", FLAGS_BYTES, value, 1 << 20, 1e12, "", NULL },
          "1KiB",
          "bus-bytes: \"1KiB\" is out of range, expected 1048576 to 1000000000000 bytes" },
    };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        struct fault fault;
        assert_int_equal(flags_assign(&wrong[i].row, wrong[i].text, &fault), STATUS_BAD_INPUT);
        assert_string_equal(fault.text, wrong[i].sentence);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(every_type),
                                        cmocka_unit_test(wrong_values),
                                        cmocka_unit_test(bounds_are_named) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
