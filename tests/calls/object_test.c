/* Calls as JSON objects: their keys in any order, several, broken ones, and ones that are no calls.
 */
#include "told.h"
#include "test.h"

static void objects_in_tags_are_calls(void **state)
{
    (void)state;
    told_assert("hermes",
                "<tool_call>\n{\"name\": \"f\", \"arguments\": {\"s\": "
                "\"a\\\"}</tool_call>\"}}\n</tool_call>",
                "C(f {\"s\": \"a\\\"}</tool_call>\"})");
    told_assert("hermes",
                "Yes. \n<tool_call>\n{\"name\": \"f\", \"arguments\": "
                "{}}\n</tool_call>\n<tool_call>{\"name\":\"get.it\",\"arguments\":{\"a\":[1]}}</"
                "tool_call>\n",
                "T(Yes.)C(f {})C(get.it {\"a\":[1]})");
    told_assert(
        "hermes",
        "<tool_call>{\"arguments\": {\"n\": 1}, \"id\": \"x{\", \"name\": \"f\"}</tool_call>",
        "C(f {\"n\": 1})");
    told_assert("hermes", "<tool_call>{\"name\": \"f\"}</tool_call> and so on",
                "C(f {})T(and so on)");
    told_assert("hermes",
                "<tool_call>{\"type\": \"function\", \"function\": {\"name\": \"f\", "
                "\"arguments\": {}}}</tool_call>",
                "C(f {})");
}

static void arrays_and_rows_of_objects_are_calls(void **state)
{
    (void)state;
    told_assert("mistral",
                "[TOOL_CALLS] [{\"name\": \"f\", \"arguments\": {\"n\": 1}}, {\"name\": "
                "\"get.it\", \"arguments\": {}}]",
                "C(f {\"n\": 1})C(get.it {})");
    told_assert("llama3_json",
                "{\"name\": \"f\", \"parameters\": {\"n\": 1}}; {\"name\": \"f\", \"parameters\": "
                "{\"n\": 2}}",
                "C(f {\"n\": 1})C(f {\"n\": 2})");
    told_assert("generic", "[{\"name\": \"f\", \"arguments\": {}}]", "C(f {})");
    told_assert("generic", "I look.\n```json\n{\"name\": \"f\", \"arguments\": {}}\n```\n",
                "T(I look.)C(f {})");
    told_assert("apertus",
                "<|tools_prefix|>[{\"f\": {\"n\": 1}}, {\"get.it\": {}}]<|tools_suffix|>",
                "C(f {\"n\": 1})C(get.it {})");
}

static void broken_objects_are_text(void **state)
{
    (void)state;
    told_assert("hermes", "a <tool_call>{\"name\": \"unknown\", \"arguments\": {}}</tool_call>",
                "T(a <tool_call>{\"name\": \"unknown\", \"arguments\": {}}</tool_call>)");
    told_assert("hermes", "<tool_call>{\"name\": \"f\", \"arguments\": \"text\"}</tool_call>",
                "T(<tool_call>{\"name\": \"f\", \"arguments\": \"text\"}</tool_call>)");
    told_assert("hermes", "<tool_call>{\"name\": \"f\", \"arg",
                "T(<tool_call>{\"name\": \"f\", \"arg)");
    told_assert("hermes", "<tool_call>so it is called", "T(<tool_call>so it is called)");
    told_assert(
        "hermes", "<tool_call>{\"name\": \"f\", \"arguments\": {\"n\": oh}}</tool_call>.",
        "C(f {\"n\":  ?)T(<tool_call>{\"name\": \"f\", \"arguments\": {\"n\": oh}}</tool_call>.)");
    told_assert("hermes", "<tool_call>{\"name\": \"f\", \"arguments\": {\"n\": 1",
                "C(f {\"n\": 1 ?)");
    told_assert("llama3_json", "{\"a\": 1}", "T({\"a\": 1})");
    told_assert("llama3_json", "{\"name\": \"Jane\"}", "T({\"name\": \"Jane\"})");
    told_assert("llama3_json", "Hi {\"name\": \"f\", \"parameters\": {}}",
                "T(Hi {\"name\": \"f\", \"parameters\": {}})");
    told_assert("generic", "[1] see", "T([1] see)");
}

static void line_ends_inside_of_strings_are_escaped(void **state)
{
    (void)state;
    told_assert("hermes",
                "<tool_call>{\"name\": \"f\", \"arguments\": {\"s\": \"a\nb\001\",\n \"n\": "
                "1}}</tool_call>",
                "C(f {\"s\": \"a\\nb\\u0001\",\n \"n\": 1})");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(objects_in_tags_are_calls),
        cmocka_unit_test(arrays_and_rows_of_objects_are_calls),
        cmocka_unit_test(broken_objects_are_text),
        cmocka_unit_test(line_ends_inside_of_strings_are_escaped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
