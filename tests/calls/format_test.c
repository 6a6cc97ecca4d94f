/* Templates show their format and their marks of reasoning. */
#include "calls/format.h"
#include "test.h"

static void templates_show_their_format(void **state)
{
    (void)state;
    static const char *const rows[][3] = {
        { "hermes", "{{ '<tool_call>' }} </think>", "<think>" },
        { "qwen3_coder", "<tool_call> <function= <parameter=", NULL },
        { "glm", "<tool_call> <arg_key> <arg_value> </think>", "<think>" },
        { "mistral", "[TOOL_CALLS]", NULL },
        { "mistral_args", "[TOOL_CALLS] [ARGS] [/THINK]", "[THINK]" },
        { "mistral_call_id", "[TOOL_CALLS] [CALL_ID] [ARGS]", NULL },
        { "llama3_json", "\"parameters\": <|eot_id|>", NULL },
        { "harmony", "<|channel|> <|message|>", NULL },
        { "functionary_v3.1", "<function= </function>", NULL },
        { "generic", "{{ messages }}", NULL },
        { "generic", NULL, NULL },
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct calls_style style = calls_format_style(rows[i][1]);
        assert_string_equal(style.format->name, rows[i][0]);
        assert_int_equal(style.think_open != NULL, rows[i][2] != NULL);
        if (rows[i][2] != NULL)
            assert_string_equal(style.think_open, rows[i][2]);
    }
}

static void each_row_has_what_its_kind_needs(void **state)
{
    (void)state;
    const struct calls_format *format;
    for (size_t i = 0; (format = calls_format_at(i)) != NULL; i++) {
        assert_ptr_equal(calls_format_find(format->name), format);
        if (format->kind == CALLS_TAGS)
            assert_true(format->param_open != NULL && format->param_end != NULL &&
                        format->value_close != NULL && format->call_close != NULL);
        if (format->kind != CALLS_HARMONY)
            assert_true(format->open != NULL);
    }
    assert_null(calls_format_find("none"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(templates_show_their_format),
        cmocka_unit_test(each_row_has_what_its_kind_needs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
