/* Calls with the name before the arguments. */
#include "told.h"
#include "test.h"

static void names_come_before_arguments(void **state)
{
    (void)state;
    told_assert("mistral_args", "So:[TOOL_CALLS]f[ARGS]{\"n\": 1}[TOOL_CALLS]get.it[ARGS]{}",
                "T(So:)C(f {\"n\": 1})C(get.it {})");
    told_assert("mistral_call_id", "[TOOL_CALLS]f[CALL_ID]abc123456[ARGS]{\"n\": 1}",
                "C(f {\"n\": 1})");
    told_assert("functionary_v3.1",
                "<function=f>{\"n\": 1}</function><function=get.it>{}</function>",
                "C(f {\"n\": 1})C(get.it {})");
    told_assert("functionary_v3.2", "all\nHello.>>>f\n{\"n\": 1}>>>get.it\n{}",
                "T(Hello.)C(f {\"n\": 1})C(get.it {})");
    told_assert("functionary_v3.2", "f\n{\"n\": 1}", "C(f {\"n\": 1})");
    told_assert("kimi_k2",
                "<|tool_calls_section_begin|><|tool_call_begin|>functions.f:0<|tool_call_argument_"
                "begin|>{}<|tool_call_end|><|tool_calls_section_end|>",
                "C(f {})");
    told_assert("deepseek_v3",
                "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>f\n```json\n{"
                "\"n\": 1}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
                "C(f {\"n\": 1})");
    told_assert("deepseek_v3.1",
                "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>f<｜tool▁sep｜>{\"n\": "
                "1}<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
                "C(f {\"n\": 1})");
}

static void broken_heads_are_text(void **state)
{
    (void)state;
    told_assert("mistral_args", "[TOOL_CALLS]unknown[ARGS]{}", "T([TOOL_CALLS]unknown[ARGS]{})");
    told_assert("mistral_args", "[TOOL_CALLS]f[ARGS]no", "T([TOOL_CALLS]f[ARGS]no)");
    told_assert("functionary_v3.1", "<function=", "T(<function=)");
    told_assert("deepseek_v3.1", "<｜tool▁calls▁begin｜>nothing",
                "T(<｜tool▁calls▁begin｜>nothing)");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_come_before_arguments),
        cmocka_unit_test(broken_heads_are_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
