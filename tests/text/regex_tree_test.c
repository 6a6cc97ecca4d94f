/* Reading patterns: shapes of trees, widths, and refusals by name. */
#include "test.h"
#include "base/mem.h"
#include "text/regex_tree.h"

static enum status parse(struct regex_tree *tree, const char *pattern, struct fault *fault)
{
    return regex_tree_parse(tree, view_text(pattern), fault);
}

static void widths(void **state)
{
    (void)state;
    static const struct {
        const char *pattern;
        int64_t width;
    } cases[] = { { "", 0 },      { "abc", 3 },       { "a|b", 1 },       { "a|bc", -1 },
                  { "a{3}b", 4 }, { "a{1,2}", -1 },   { "(?:ab){2}", 4 }, { "(?=abc)d", 1 },
                  { "a*", -1 },   { "[a-z]\\d.", 3 }, { "\\bfoo$", 3 },   { "{a{", 3 } };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct regex_tree tree;
        struct fault fault;
        assert_int_equal(parse(&tree, cases[i].pattern, &fault), STATUS_OK);
        assert_true(regex_tree_width(&tree, tree.root) == cases[i].width);
        regex_tree_free(&tree);
    }
}

static void others_are_refused_by_name(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        { "(", "without a ')'" },
        { "a)", "without a '('" },
        { "*a", "a repeat of nothing" },
        { "a|{2}", "a repeat of nothing" },
        { "a**", "a repeat of a repeat" },
        { "a{2}{3}", "a repeat of a repeat" },
        { "a{3,2}", "wrong way round" },
        { "a{100001}", "100000" },
        { "(?:a*)*", "may be empty" },
        { "(?:a?){0,1}+", "may be empty" },
        { "^*", "a repeat of an assertion" },
        { "(?=a)+", "a repeat of an assertion" },
        { "(?<=a+)b", "look-behind" },
        { "(a)\\1", "a backreference" },
        { "\\k<n>", "\\k" },
        { "\\X", "\\X" },
        { "\\R", "\\R" },
        { "\\G", "\\G" },
        { "\\K", "\\K" },
        { "\\pL", "{Name}" },
        { "(?~a)", "an absent operator" },
        { "(?<n>a)", "a named group" },
        { "(?#c)a", "comment" },
        { "(?x:a)", "option" },
        { "(?W:a)", "option" },
        { "(*FAIL)", "callout" },
        { "(?i)\xC3\xA9", "beyond ASCII" },
        { "(?i)\\w", "(?i)" },
        { "(?i:stra)", "fold to one letter" },
        { "(?i:s(?:s))", "fold to one letter" },
        { "(?i:[f]l)", "fold to one letter" },
        { "\\", "backslash" },
        { "a\xFF", "broken UTF-8" },
        { "\\x{110000}", "beyond U+10FFFF" },
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct regex_tree tree;
        struct fault fault = { "" };
        assert_int_equal(parse(&tree, cases[i][0], &fault), STATUS_UNSUPPORTED);
        if (strstr(fault.text, cases[i][1]) == NULL)
            print_message("%s: %s\n", cases[i][0], fault.text);
        assert_non_null(strstr(fault.text, cases[i][1]));
        regex_tree_free(&tree);
    }
}

static void sizes_are_bounded(void **state)
{
    (void)state;
    struct regex_tree tree;
    struct fault fault;
    char deep[401], many[2001];
    memset(deep, '(', 200);
    memset(deep + 200, ')', 200);
    deep[400] = '\0';
    assert_int_equal(parse(&tree, deep, &fault), STATUS_UNSUPPORTED);
    regex_tree_free(&tree);
    for (size_t i = 0; i < 400; i++)
        memcpy(many + 5 * i, "[a-b]", 5);
    many[2000] = '\0';
    assert_int_equal(parse(&tree, many, &fault), STATUS_UNSUPPORTED);
    regex_tree_free(&tree);
    char *long_one = mem_take(1 << 16);
    memset(long_one, 'a', (1 << 16) - 1);
    assert_int_equal(parse(&tree, long_one, &fault), STATUS_TOO_LARGE);
    regex_tree_free(&tree);
    mem_give(long_one);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(widths),
        cmocka_unit_test(others_are_refused_by_name),
        cmocka_unit_test(sizes_are_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
