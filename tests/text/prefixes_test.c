/* The texts of a set that begin a text: all of them in order, the longest, and sets with equal
 * texts. */
#include "test.h"
#include "text/prefixes.h"

static void open_set(struct text_prefixes *set, bool keeps_last)
{
    static const char *const words[] = { "b", "abc", "", "ab", "a", "abd", "ab", "\xC3\xA9" };
    struct view texts[COUNT_OF(words)];
    int32_t ids[COUNT_OF(words)];
    for (size_t i = 0; i < COUNT_OF(words); i++) {
        texts[i] = view_text(words[i]);
        ids[i] = (int32_t)i + 10;
    }
    text_prefixes_open(set, texts, ids, COUNT_OF(words), keeps_last);
}

static void walks_from_the_shortest(void **state)
{
    (void)state;
    struct text_prefixes set;
    struct text_prefixes_walk walk;
    open_set(&set, false);
    assert_int_equal(set.n, 6);
    text_prefixes_begin(&walk, &set, view_text("abcd"));
    static const int32_t ids[] = { 14, 13, 11 };
    for (size_t i = 0; i < COUNT_OF(ids); i++) {
        int32_t found = text_prefixes_next(&walk);
        assert_true(found >= 0 && set.ids[found] == ids[i]);
    }
    assert_int_equal(text_prefixes_next(&walk), -1);
    assert_int_equal(text_prefixes_next(&walk), -1);
    text_prefixes_close(&set);
}

static void finds_the_longest(void **state)
{
    (void)state;
    struct text_prefixes set;
    open_set(&set, true);
    assert_int_equal(set.ids[text_prefixes_longest(&set, view_text("abd"))], 15);
    assert_int_equal(set.ids[text_prefixes_longest(&set, view_text("abx"))], 16); /* the last */
    assert_int_equal(set.ids[text_prefixes_longest(&set, view_text("\xC3\xA9x"))], 17);
    assert_int_equal(text_prefixes_longest(&set, view_text("c")), -1);
    assert_int_equal(text_prefixes_longest(&set, view_text("")), -1);
    assert_int_equal(text_prefixes_longest(&set, view_text("\xC3")), -1);
    text_prefixes_close(&set);
}

static void an_empty_set_finds_nothing(void **state)
{
    (void)state;
    struct text_prefixes set;
    text_prefixes_open(&set, NULL, NULL, 0, false);
    assert_int_equal(text_prefixes_longest(&set, view_text("a")), -1);
    text_prefixes_close(&set);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(walks_from_the_shortest),
        cmocka_unit_test(finds_the_longest),
        cmocka_unit_test(an_empty_set_finds_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
