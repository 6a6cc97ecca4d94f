/* Added tokens in a text: the leftmost and longest, white space, words, and hidden matches. */
#include "test.h"
#include "text/added.h"
#include <stdio.h>

static char got[256];

static void walk(const struct text_added *added, const char *text, bool is_normalized, bool skips)
{
    struct text_added_walk w;
    struct view before;
    int32_t id;
    size_t n = 0;
    got[0] = '\0';
    text_added_begin(&w, added, view_text(text), is_normalized, skips);
    while (text_added_next(&w, &before, &id) && n < sizeof(got) - 64)
        n += (size_t)snprintf(got + n, sizeof(got) - n, "[%.*s]%d ", (int)before.n, before.at, id);
}

struct row {
    const char *text;
    unsigned flags;
};

static void open_rows(struct text_added *added, const struct row *rows, int32_t n)
{
    struct tokenizer_added tokens[16];
    struct view texts[16];
    struct fault fault;
    for (int32_t i = 0; i < n; i++) {
        tokens[i] = (struct tokenizer_added){ i, rows[i].flags };
        texts[i] = view_text(rows[i].text);
    }
    assert_int_equal(text_added_open(added, tokens, texts, n, false, &fault), STATUS_OK);
}

static void expect(const struct text_added *added, const char *text, const char *expected)
{
    walk(added, text, false, false);
    assert_string_equal(got, expected);
}

static void the_longest_of_the_leftmost_counts(void **state)
{
    (void)state;
    static const struct row rows[] = { { "ab", 0 }, { "abc", 0 }, { "bcd", 0 } };
    struct text_added added;
    open_rows(&added, rows, COUNT_OF(rows));
    expect(&added, "xabcdab", "[x]1 [d]0 ");
    expect(&added, "x", "[x]-1 ");
    expect(&added, "", "");
    text_added_close(&added);
}

static void white_space_is_swallowed(void **state)
{
    (void)state;
    static const struct row rows[] = { { "<l>", ADDED_STRIPS_LEFT },
                                       { "<r>", ADDED_STRIPS_RIGHT },
                                       { "  ", ADDED_STRIPS_LEFT | ADDED_STRIPS_RIGHT } };
    struct text_added added;
    open_rows(&added, rows, COUNT_OF(rows));
    expect(&added, "a \xE3\x80\x80<l> b", "[a]0 [ b]-1 ");
    expect(&added, "a <r>\n\xC2\xA0 b", "[a ]1 [b]-1 ");
    expect(&added, "<r> <l>", "[]1 []0 ");
    expect(&added, "<r>   a", "[]1 [a]-1 ");   /* also before tokens of white space */
    expect(&added, "a\n    b", "[a]2 [b]-1 "); /* the first one swallows the second */
    text_added_close(&added);
}

static void words_are_whole(void **state)
{
    (void)state;
    static const struct row rows[] = { { "the", ADDED_SINGLE_WORD }, { "e", 0 } };
    struct text_added added;
    open_rows(&added, rows, COUNT_OF(rows));
    expect(&added, "the oe other-the", "[]0 [ o]1 [ other-]0 ");
    expect(&added, "bathe", "[bathe]-1 "); /* a match that does not count hides the e inside it */
    expect(&added, "\xC3\xA9the", "[\xC3\xA9the]-1 ");
    text_added_close(&added);
}

static void special_ones_hide_what_they_cover(void **state)
{
    (void)state;
    static const struct row rows[] = { { "<s>", ADDED_SPECIAL }, { "s>", 0 } };
    struct text_added added;
    open_rows(&added, rows, COUNT_OF(rows));
    walk(&added, "<s>s>", false, true);
    assert_string_equal(got, "[<s>]1 ");
    walk(&added, "<s>s>", false, false);
    assert_string_equal(got, "[]0 []1 ");
    text_added_close(&added);
}

static void each_is_found_in_its_text(void **state)
{
    (void)state;
    static const struct row rows[] = { { "raw", 0 }, { "normal", ADDED_NORMALIZED } };
    struct text_added added;
    open_rows(&added, rows, COUNT_OF(rows));
    expect(&added, "raw normal", "[]0 [ normal]-1 ");
    walk(&added, "raw normal", true, false);
    assert_string_equal(got, "[raw ]1 ");
    text_added_close(&added);
}

static void equal_and_empty_ones_are_refused(void **state)
{
    (void)state;
    static const struct tokenizer_added tokens[] = { { 3, 0 }, { 4, 0 } };
    const struct view equal[] = { view_text("a"), view_text("a") };
    const struct view empty[] = { view_text("a"), view_text("") };
    struct text_added added;
    struct fault fault = { "" };
    assert_int_equal(text_added_open(&added, tokens, equal, 2, false, &fault), STATUS_UNSUPPORTED);
    text_added_close(&added);
    assert_int_equal(text_added_open(&added, tokens, empty, 2, false, &fault), STATUS_UNSUPPORTED);
    assert_non_null(strstr(fault.text, "the added token 4 is empty"));
    text_added_close(&added);
    assert_int_equal(text_added_open(&added, tokens, equal, 2, true, &fault), STATUS_OK);
    expect(&added, "a", "[]3 ");
    text_added_close(&added);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_longest_of_the_leftmost_counts),
        cmocka_unit_test(white_space_is_swallowed),
        cmocka_unit_test(words_are_whole),
        cmocka_unit_test(special_ones_hide_what_they_cover),
        cmocka_unit_test(each_is_found_in_its_text),
        cmocka_unit_test(equal_and_empty_ones_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
