/* Marks that are whole, cut or absent. */
#include "calls/step.h"
#include "test.h"

static void marks_are_matched(void **state)
{
    (void)state;
    const struct calls_input in = { view_text("ab <to"), false, NULL };
    size_t end = 0;
    assert_int_equal(calls_step_match(&in, 0, "ab"), CALLS_YES);
    assert_int_equal(calls_step_match(&in, 3, "<tool>"), CALLS_MAYBE);
    assert_int_equal(calls_step_match(&in, 6, "<tool>"), CALLS_MAYBE);
    assert_int_equal(calls_step_match(&in, 7, "<tool>"), CALLS_NO);
    assert_int_equal(calls_step_match(&in, 1, "<tool>"), CALLS_NO);
    assert_int_equal(calls_step_match(&in, 0, NULL), CALLS_NO);
    assert_int_equal(calls_step_find(&in, 0, "<tool>", &end), CALLS_MAYBE);
    assert_int_equal(end, 3);
    assert_int_equal(calls_step_find(&in, 0, "x", &end), CALLS_NO);
    assert_int_equal(end, 6);
    assert_int_equal(calls_step_blank(&in, 2), 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(marks_are_matched),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
