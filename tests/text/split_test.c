/* Splitting by patterns: stages, gaps, hostile patterns. */
#include "test.h"
#include "text/split.h"

static char got[4096];

static void note(void *of, struct view word)
{
    (void)of;
    strncat(got, "|", sizeof(got) - strlen(got) - 1);
    strncat(got, word.at, word.n);
}

static void expect(const char *const *patterns, int n, const char *text, const char *expected)
{
    struct split split;
    struct split_work work;
    struct fault fault;
    assert_int_equal(split_open(&split, patterns, n, &fault), STATUS_OK);
    split_work_init(&work, &split);
    work.word = note;
    got[0] = '\0';
    split_work_run(&work, view_text(text));
    assert_string_equal(got, expected);
    split_work_free(&work);
    split_close(&split);
}

static void pieces_and_gaps(void **state)
{
    (void)state;
    static const char *const words[] = { "\\p{L}+" };
    expect(words, 1, "ab 12cd", "|ab| 12|cd");
    expect(words, 1, "", "");
    expect(words, 1, "\xC3\xA9\xE4\xB8\xAD!", "|\xC3\xA9\xE4\xB8\xAD|!");
}

static void stages_follow_each_other(void **state)
{
    (void)state;
    static const char *const stages[] = { "[\r\n]", "\\p{N}" };
    expect(stages, 2, "a1\n23b", "|a|1|\n|2|3|b");
    static const char *const ends[] = { "\n", "\\s+$" };
    expect(ends, 2, "a  \nb ", "|a|  |\n|b| ");
}

static void odd_patterns_do_no_harm(void **state)
{
    (void)state;
    static const char *const odd[][1] = { { "" }, { "a*" }, { "(?=b)" } };
    expect(odd[0], 1, "abab", "|a|b|a|b");
    expect(odd[1], 1, "baab", "|b|aa|b");
    expect(odd[2], 1, "abab", "|a|ba|b");
}

/* Ways without end are given up, and that is said. */
static void hostile_patterns_are_given_up(void **state)
{
    (void)state;
    static const char *const hostile[] = { "(a+)+$" };
    char text[3001];
    memset(text, 'a', 3000);
    text[2999] = '!';
    text[3000] = '\0';
    struct split split;
    struct split_work work;
    struct fault fault;
    assert_int_equal(split_open(&split, hostile, 1, &fault), STATUS_OK);
    split_work_init(&work, &split);
    work.word = note;
    got[0] = '\0';
    split_work_run(&work, view_text(text));
    assert_true(work.regex.is_spent);
    split_work_free(&work);
    split_close(&split);
}

static void bad_patterns_are_refused(void **state)
{
    (void)state;
    static const char *const bad[] = { "[", "(?<x", "\\C", "*a" };
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        struct split split;
        struct fault fault = { "" };
        assert_int_equal(split_open(&split, &bad[i], 1, &fault), STATUS_UNSUPPORTED);
        assert_non_null(strstr(fault.text, "regular expression"));
        split_close(&split);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pieces_and_gaps),          cmocka_unit_test(stages_follow_each_other),
        cmocka_unit_test(odd_patterns_do_no_harm),  cmocka_unit_test(hostile_patterns_are_given_up),
        cmocka_unit_test(bad_patterns_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
