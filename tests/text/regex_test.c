/* Walking over matches: empty ones, those that the library skips, hostile patterns. */
#include "test.h"
#include "base/mem.h"
#include "text/regex.h"
#include <jansson.h>
#include <string.h>

/* Expects the matches in text as "start-end start-end ". */
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
    static const char *const bad[] = { "[", "(?<x", "\\C", "*a", "(?:(a*)\\1\\1b|.)" };
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        struct regex regex;
        struct fault fault = { "" };
        assert_int_equal(regex_open(&regex, view_text(bad[i]), &fault), STATUS_UNSUPPORTED);
        assert_non_null(strstr(fault.text, "regular expression"));
        regex_close(&regex);
    }
}

/* Patterns that backtrack without end, and those that take quadratic time or more. */
static void steps_are_bounded(void **state)
{
    (void)state;
    enum { N = 20000 };
    static const char *const hostile[] = {
        "(a+)+b",           "(?:a|a)*b", "a*a*a*b",       "(?=a*b)a",
        "(?<!(?=a*b))ab",   "(?>a+)b",   "a++b",          "(?:(?:a{1,9}){1,9}){1,9}b",
        "(?:a?){40}a{40}b", ".*.*.*x",   "[^b]*?[^b]*?b",
    };
    char *text = mem_take(N);
    memset(text, 'a', N);
    for (size_t i = 0; i < COUNT_OF(hostile); i++) {
        struct regex regex;
        struct regex_work work;
        struct regex_walk walk;
        struct fault fault;
        size_t bounds[2];
        assert_int_equal(regex_open(&regex, view_text(hostile[i]), &fault), STATUS_OK);
        regex_work_init(&work);
        regex_work_grant(&work, N);
        int64_t n_steps = work.n_steps_left;
        assert_true(n_steps < 1000 * N);
        regex_walk_begin(&walk, &regex, &work, view_of(text, N));
        while (regex_walk_next(&walk, bounds))
            ;
        if (!work.is_spent)
            print_message("%s is not spent\n", hostile[i]);
        assert_true(work.is_spent);
        assert_true(work.n_steps_left > -2 * N); /* only a few more than granted */
        regex_work_free(&work);
        regex_close(&regex);
    }
    mem_give(text);
}

/* A tokenizer's own pattern takes a part of the grant, whatever the text. */
static void real_patterns_have_steps_enough(void **state)
{
    (void)state;
    enum { N = 200000 };
    static const char *const real[] = {
        "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+",
        "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}|"
        " ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+",
        "[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{M}]*[\\p{Ll}\\p{M}]+(?i:'s|'t)?|\\p{N}{1,3}|\\s+",
    };
    static const char *const units[] = { "a",   " ",   "\n", "1",           "!",
                                         "aA ", "\n ", "'s", "\xE4\xB8\xAD" };
    char *text = mem_take(N);
    for (size_t k = 0; k < COUNT_OF(real) * COUNT_OF(units); k++) {
        const char *unit = units[k / COUNT_OF(real)];
        size_t n = strlen(unit), bounds[2];
        for (size_t i = 0; i < N; i++)
            text[i] = unit[i % n];
        struct regex regex;
        struct regex_work work;
        struct regex_walk walk;
        struct fault fault;
        assert_int_equal(regex_open(&regex, view_text(real[k % COUNT_OF(real)]), &fault),
                         STATUS_OK);
        regex_work_init(&work);
        regex_work_grant(&work, N);
        int64_t n_steps = work.n_steps_left;
        regex_walk_begin(&walk, &regex, &work, view_of(text, N / n * n));
        while (regex_walk_next(&walk, bounds))
            ;
        assert_true(n_steps - work.n_steps_left < 50 * N);
        regex_work_free(&work);
        regex_close(&regex);
    }
    mem_give(text);
}

static void texts_match_themselves(void **state)
{
    (void)state;
    struct regex regex;
    struct regex_work work;
    struct regex_walk walk;
    struct fault fault;
    size_t bounds[2];
    assert_int_equal(regex_open_text(&regex, view_text("a.*[\\d]{2}"), &fault), STATUS_OK);
    regex_work_init(&work);
    regex_walk_begin(&walk, &regex, &work, view_text("aa.*[\\d]{2}a.*[5]"));
    assert_true(regex_walk_next(&walk, bounds));
    assert_true(bounds[0] == 1 && bounds[1] == 11);
    assert_false(regex_walk_next(&walk, bounds));
    regex_work_free(&work);
    regex_close(&regex);
}

/* --- the stored sample of tests/text/regex_agreement.py --- */

static void cut_as_stored(const struct regex *regex, const json_t *row)
{
    const json_t *text = json_array_get(row, 0), *ends = json_array_get(row, 1);
    struct view view = view_of(json_string_value(text), json_string_length(text));
    struct regex_work work;
    struct regex_walk walk;
    size_t bounds[2], at = 0, n = 0, got[512];
    if (!json_is_array(ends))
        return; /* the library gave up */
    regex_work_init(&work);
    regex_walk_begin(&walk, regex, &work, view);
    while (regex_walk_next(&walk, bounds) && n < COUNT_OF(got) - 2) {
        if (bounds[0] > at)
            got[n++] = bounds[0];
        if (bounds[1] > bounds[0])
            got[n++] = bounds[1];
        at = bounds[1];
    }
    if (at < view.n && !work.is_spent)
        got[n++] = view.n;
    if (!work.is_spent)
        assert_int_equal(n, json_array_size(ends));
    for (size_t i = 0; i < n && !work.is_spent; i++)
        assert_int_equal(got[i], json_integer_value(json_array_get(ends, i)));
    regex_work_free(&work);
}

static void patterns_cut_as_in_the_library(void **state)
{
    (void)state;
    FILE *file = fopen(SOURCE_ROOT "/tests/text/regex_sample.jsonl", "r");
    assert_non_null(file);
    int n_equal = 0;
    json_t *line;
    while ((line = json_loadf(file, JSON_DISABLE_EOF_CHECK | JSON_ALLOW_NUL, NULL)) != NULL) {
        const json_t *pattern = json_array_get(line, 0), *rows = json_array_get(line, 1);
        struct view view = view_of(json_string_value(pattern), json_string_length(pattern));
        struct regex regex = { 0 };
        struct fault fault = { "" };
        enum status status = regex_open(&regex, view, &fault);
        if (status != STATUS_OK)
            assert_non_null(strstr(fault.text, "regular expression"));
        for (size_t i = 0; status == STATUS_OK && i < json_array_size(rows); i++)
            cut_as_stored(&regex, json_array_get(rows, i));
        n_equal += status == STATUS_OK;
        regex_close(&regex);
        json_decref(line);
    }
    (void)fclose(file);
    assert_true(n_equal > 150);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(empty_matches_cut_too),  cmocka_unit_test(bad_patterns_are_refused),
        cmocka_unit_test(steps_are_bounded),      cmocka_unit_test(real_patterns_have_steps_enough),
        cmocka_unit_test(texts_match_themselves), cmocka_unit_test(patterns_cut_as_in_the_library),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
