/* Widened patterns: inside and outside of classes, escapes left alone. */
#include "test.h"
#include "text/letters.h"
#include "text/split.h"

static void expect_shape(const char *pattern, const char *begin, const char *end)
{
    struct str out;
    str_init(&out);
    text_letters_widen(pattern, &out);
    struct view view = view_of(out.at, out.n);
    assert_true(view_starts(view, begin));
    assert_true(out.n >= strlen(end));
    assert_string_equal(out.at + out.n - strlen(end), end);
    str_free(&out);
}

static void properties_become_classes(void **state)
{
    (void)state;
    expect_shape("\\p{L}+", "[\\p{L}\\x{1C89}-\\x{1C8A}", "\\x{323AF}]+");
    expect_shape("[^\\s\\p{L}\\p{N}]+", "[^\\s\\p{L}\\x{1C89}", "\\x{1E5FA}]+");
    expect_shape("[]\\p{N}]\\p{N}", "[]\\p{N}\\x{10D40}", "\\x{1E5FA}]");
    expect_shape("\\[\\p{Lu}\\\\", "\\[\\p{Lu}\\\\", "\\p{Lu}\\\\");
    expect_shape("a\\", "a\\", "a\\");
}

static int n_words;
static void count(void *of, struct view word)
{
    (void)of, (void)word;
    n_words++;
}

static void newer_letters_are_letters(void **state)
{
    (void)state;
    static const char *const pattern[] = { "\\p{L}+" };
    struct split split;
    struct split_work work;
    struct fault fault;
    assert_int_equal(split_open(&split, pattern, 1, &fault), STATUS_OK);
    split_work_init(&work, &split);
    work.word = count;
    split_work_run(&work, view_text("a\xF0\x93\xB2\xB0z")); /* U+13CB0, of Unicode 16 */
    assert_int_equal(n_words, 1);
    split_work_free(&work);
    split_close(&split);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(properties_become_classes),
        cmocka_unit_test(newer_letters_are_letters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
