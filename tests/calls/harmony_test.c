/* gpt-oss's messages. */
#include "told.h"
#include "test.h"

static void messages_are_told_by_their_channel(void **state)
{
    (void)state;
    told_assert("harmony",
                "<|channel|>analysis<|message|>I "
                "think.<|end|><|start|>assistant<|channel|>final<|message|>Hello.<|return|>",
                "R(I think.)T(Hello.)");
    told_assert("harmony",
                "<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>commentary "
                "to=functions.f <|constrain|>json<|message|>{\"n\": 1}<|call|>",
                "R(Hm.)C(f {\"n\": 1})");
    told_assert("harmony", " to=functions.f<|channel|>commentary json<|message|>{}", "C(f {})");
    told_assert("harmony", "Hello <|x|>", "T(Hello <|x|>)");
}

static void unknown_recipients_are_text(void **state)
{
    (void)state;
    told_assert("harmony", "<|channel|>commentary to=functions.unknown<|message|>{}",
                "T(<|channel|>commentary to=functions.unknown<|message|>{})");
    told_assert("harmony", "<|channel|>commentary to=browser.search<|message|>{}",
                "T(<|channel|>commentary to=browser.search<|message|>{})");
    told_assert("harmony", "<|channel|>fin", "T(<|channel|>fin)");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(messages_are_told_by_their_channel),
        cmocka_unit_test(unknown_recipients_are_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
