/* Walking over matches: empty ones, those that the library passes over, hostile patterns. */
#include "test.h"
#include "text/regex.h"
#include <string.h>

/* The matches in text as "start-end start-end ". */
static void expect(const char *pattern, const char *text, const char *expected)
{
    struct regex regex;
    struct regex_work work;
    struct regex_walk walk;
    struct fault fault;
    char got[256] = "";
    size_t bounds[2], n = 0;
    assert_int_equal(regex_open(&regex, view_text(pattern), &fault), STATUS_OK);
    regex_work_init(&work);
    regex_walk_begin(&walk, &regex, &work, view_text(text));
    while (regex_walk_next(&walk, bounds) && n < sizeof(got) - 48)
        n += (size_t)snprintf(got + n, sizeof(got) - n, "%zu-%zu ", bounds[0], bounds[1]);
    assert_string_equal(got, expected);
    assert_false(regex_walk_next(&walk, bounds));
    regex_work_free(&work);
    regex_close(&regex);
}

/* Expectations are those of tokenizers 0.23.3, pre_tokenizers.Split(Regex(...), "isolated"). */
static void empty_matches_cut_too(void **state)
{
    (void)state;
    expect("\\p{L}+", "ab 12cd", "0-2 5-7 ");
    expect("", "abab", "0-0 1-1 2-2 3-3 4-4 ");
    expect("", "\xC3\xA9\xE4\xB8\xAD", "0-0 2-2 5-5 ");
    expect("a*", "baab", "0-0 1-3 4-4 ");
    expect("(?=b)", "abab", "1-1 3-3 ");
    expect("(?<=a)", "aab", "1-1 2-2 ");
    expect("x", "", "");
}

static void bad_patterns_are_refused(void **state)
{
    (void)state;
    static const char *const bad[] = { "[", "(?<x", "\\C", "*a" };
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        struct regex regex;
        struct fault fault = { "" };
        assert_int_equal(regex_open(&regex, view_text(bad[i]), &fault), STATUS_UNSUPPORTED);
        assert_non_null(strstr(fault.text, "split pattern"));
        regex_close(&regex);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(empty_matches_cut_too),
        cmocka_unit_test(bad_patterns_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
