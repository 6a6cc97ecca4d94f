/* Calls in Python's form, and texts that only look like them. */
#include "told.h"
#include "test.h"

static void python_becomes_json(void **state)
{
    (void)state;
    told_assert(
        "llama3_pythonic", "[f(s='it\\'s \"x\"\\n', n=-2.5e3, b=True, z=None), get.it()]",
        "C(f {\"s\": \"it's \\\"x\\\"\\n\", \"n\": -2.5e3, \"b\": true, \"z\": null})C(get.it {})");
    told_assert(
        "llama3_pythonic", "[f(o={'a': (1, [2,]), \"b\": {}}, s=\"\\u00e9\\x41\\U0001F600\\q\")]",
        "C(f {\"o\": {\"a\": [1, [2]], \"b\": {}}, \"s\": \"\\u00e9\\u0041\\ud83d\\ude00\\\\q\"})");
    told_assert("lfm2", "So. <|tool_call_start|>[f(n=1)]<|tool_call_end|> Done.",
                "T(So.)C(f {\"n\": 1})T( Done.)");
}

static void other_brackets_are_text(void **state)
{
    (void)state;
    told_assert("llama3_pythonic", "[1] is the first", "T([1] is the first)");
    told_assert("llama3_pythonic", "[unknown(a=1)]", "T([unknown(a=1)])");
    told_assert("llama3_pythonic", "[f(1)]", "C(f { ?)T([f(1)])");
    told_assert("llama3_pythonic", "[f(n=1, o={1 2})]",
                "C(f {\"n\": 1, \"o\": { ?)T([f(n=1, o={1 2})])");
    told_assert("llama3_pythonic", "[f(s='ab", "C(f {\"s\": \"ab ?)");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(python_becomes_json),
        cmocka_unit_test(other_brackets_are_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
