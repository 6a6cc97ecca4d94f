/* Classes: members, refusals and their sentences. */
#include "test.h"
#include "base/mem.h"
#include "text/regex_class.h"

static enum status read_class(const char *pattern, bool ignores_case, struct letters *set,
                              struct fault *fault)
{
    struct regex_reader r = {
        .fault = fault, .pattern = view_text(pattern), .at = 1, .ignores_case = ignores_case
    };
    memset(set, 0, sizeof(*set));
    enum status status = regex_class_read(&r, set, 0);
    if (status == STATUS_OK)
        assert_int_equal(r.at, strlen(pattern));
    return status;
}

static void members(void **state)
{
    (void)state;
    static const struct {
        const char *pattern, *in, *out;
        bool ignores_case;
    } cases[] = {
        { "[abc]", "abc", "dA", false },
        { "[^abc]", "d\n", "abc", false },
        { "[]a]", "]a", "b", false },
        { "[^]a]", "b", "]a", false },
        { "[a-c-]", "abc-", "d", false },
        { "[-a]", "-a", "b", false },
        { "[a\\-z]", "a-z", "b", false },
        { "[\\]\\[\\\\]", "[]\\", "a", false },
        { "[\\d\\s]", "5 \t", "a", false },
        { "[^\\W\\d]", "a_", "5 ", false },
        { "[a-z&&[^b-y]]", "az", "bq", false },
        { "[^a-c&&b]", "ac", "b", false },
        { "[a[bc]d]", "abcd", "e", false },
        { "[[:digit:]x]", "7x", "a", false },
        { "[[:^digit:]]", "ax", "7", false },
        { "[\\x41-\\x{43}\\u0044]", "ABCD", "E", false },
        { "[\\p{Lu}\\P{L}]", "A1", "a", false },
        { "[(\\s|.,]", "( |.,", "a", false },
        { "[a-c]", "abcABC", "dD", true },
        { "[^a-c]", "dD", "aA", true },
    };
    struct letters *set = mem_take(sizeof(*set));
    struct fault fault;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        assert_int_equal(read_class(cases[i].pattern, cases[i].ignores_case, set, &fault),
                         STATUS_OK);
        for (const char *c = cases[i].in; *c != '\0'; c++)
            assert_true(letters_has(set, (uint32_t)*c));
        for (const char *c = cases[i].out; *c != '\0'; c++)
            assert_false(letters_has(set, (uint32_t)*c));
    }
    assert_int_equal(read_class("[k-s]", true, set, &fault), STATUS_OK);
    assert_true(letters_has(set, 0x212A) && letters_has(set, 0x17F)); /* Kelvin, long s */
    mem_give(set);
}

static void others_are_refused_by_name(void **state)
{
    (void)state;
    static const struct {
        const char *pattern, *said;
        bool ignores_case;
    } cases[] = {
        { "[", "without an end", false },
        { "[a", "without an end", false },
        { "[a\\", "backslash", false },
        { "[b-a]", "empty", false },
        { "[a-c-e]", "'-'", false },
        { "[\\d-a]", "begins with a set", false },
        { "[[a]-z]", "begins with a set", false },
        { "[a-\\d]", "ends in a set", false },
        { "[a&&]", "empty class", false },
        { "[&&a]", "one of its sides", false },
        { "[[:alpha:]]", "[: :]", false },
        { "[\\p{Emoji}]", "\\p{Emoji}", false },
        { "[\\b]", "\\b", false },
        { "[\\q]", "\\q", false },
        { "[\\x80]", "byte", false },
        { "[\\x]", "\\x", false },
        { "[\\u12]", "\\u", false },
        { "[[[[[[[[[[[a]]]]]]]]]]]", "deep", false },
        { "[\\p{L}]", "(?i)", true },
        { "[\xC3\xA9]", "(?i)", true },
    };
    struct letters *set = mem_take(sizeof(*set));
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct fault fault = { "" };
        assert_int_equal(read_class(cases[i].pattern, cases[i].ignores_case, set, &fault),
                         STATUS_UNSUPPORTED);
        if (strstr(fault.text, cases[i].said) == NULL)
            print_message("%s: %s\n", cases[i].pattern, fault.text);
        assert_non_null(strstr(fault.text, cases[i].said));
    }
    mem_give(set);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(members),
        cmocka_unit_test(others_are_refused_by_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
