/* Text and reasoning: marks, what is held back, and white space beside marks. */
#include "told.h"
#include "test.h"

static void reasoning_is_split_at_the_start_alone(void **state)
{
    (void)state;
    told_assert("hermes", "<think>\nHm. \n</think>\n\nYes.\n", "R(Hm.)T(Yes.\n)");
    told_assert("hermes", "\n<think></think>\nYes", "T(Yes)");
    told_assert("hermes", "</think>Yes", "T(Yes)");
    told_assert("hermes", "Yes <think>no</think>", "T(Yes <think>no</think>)");
    told_assert("hermes", "<think>a</thin", "R(a</thin)");
}

static void text_stays_as_it_is(void **state)
{
    (void)state;
    told_assert("hermes", "  a <tool_ca", "T(  a <tool_ca)");
    told_assert("hermes", "a \n\n b <tool_x> \n", "T(a \n\n b <tool_x> \n)");
    told_assert("hermes", "", "");
    told_assert("hermes", " \n", "T( \n)");
    told_assert("command_r7b", "<|START_RESPONSE|>Hi.<|END_RESPONSE|>", "T(Hi.)");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reasoning_is_split_at_the_start_alone),
        cmocka_unit_test(text_stays_as_it_is),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
