/* Calls in tags: types come from the schema, white space is kept, and broken ones are text. */
#include "told.h"
#include "test.h"

static void types_come_from_the_schema(void **state)
{
    (void)state;
    told_assert("qwen3_coder",
                "<tool_call>\n<function=f>\n<parameter=s>\n007\n</parameter>\n<parameter=n>\n7\n</"
                "parameter>\n<parameter=b>\nTrue\n</parameter>\n<parameter=z>\nNone\n</"
                "parameter>\n</function>\n</tool_call>",
                "C(f {\"s\": \"007\", \"n\": 7, \"b\": true, \"z\": null})");
    told_assert(
        "qwen3_coder",
        "<tool_call>\n<function=f>\n<parameter=z>\nnull and "
        "void\n</parameter>\n<parameter=o>\n{\"a\": [1]}\n</parameter>\n</function>\n</tool_call>",
        "C(f {\"z\": \"null and void\", \"o\": {\"a\": [1]}})");
    told_assert("qwen3_coder",
                "<tool_call>\n<function=f>\n<parameter=n>\nmany\n</"
                "parameter>\n<parameter=other>\n\"x\"\n</parameter>\n</function>\n</tool_call>",
                "C(f {\"n\": \"many\", \"other\": \"x\"})");
    told_assert("glm",
                "<tool_call>f\n<arg_key>s</arg_key>\n<arg_value> "
                "a\n</arg_value>\n<arg_key>n</arg_key>\n<arg_value>-2</arg_value>\n</tool_call>",
                "C(f {\"s\": \" a\\n\", \"n\": -2})");
    told_assert("glm", "<tool_call>get.it</tool_call>", "C(get.it {})");
    told_assert(
        "deepseek_v3.2",
        "<｜DSML｜function_calls>\n<｜DSML｜invoke name=\"f\">\n<｜DSML｜parameter name=\"x\" "
        "string=\"true\">1</｜DSML｜parameter>\n<｜DSML｜parameter name=\"y\" "
        "string=\"false\">1</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜function_calls>",
        "C(f {\"x\": \"1\", \"y\": 1})");
}

static void texts_keep_their_line_ends(void **state)
{
    (void)state;
    told_assert("qwen3_coder",
                "<tool_call>\n<function=f>\n<parameter=s>\n\n a "
                "\"b\"\n</b>\n\n</parameter>\n</function>\n</tool_call>",
                "C(f {\"s\": \"\\n a \\\"b\\\"\\n</b>\\n\"})");
    told_assert(
        "qwen3_coder",
        "<tool_call>\n<function=f>\n<parameter=s>\n\n</parameter>\n</function>\n</tool_call>",
        "C(f {\"s\": \"\"})");
}

static void broken_tags_are_text(void **state)
{
    (void)state;
    told_assert("qwen3_coder", "<tool_call>\n<function=unknown>\n</function>\n</tool_call>",
                "T(<tool_call>\n<function=unknown>\n</function>\n</tool_call>)");
    told_assert("qwen3_coder", "<tool_call>\n<function=f>\nno\n</function>",
                "C(f { ?)T(<tool_call>\n<function=f>\nno\n</function>)");
    told_assert("qwen3_coder", "<tool_call>\n<function=f>\n<parameter=s>\nabc",
                "C(f {\"s\": \"abc ?)");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(types_come_from_the_schema),
        cmocka_unit_test(texts_keep_their_line_ends),
        cmocka_unit_test(broken_tags_are_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
