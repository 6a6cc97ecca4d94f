/* Rules of what counts as in time: their names, their scales, and rules that no target fits. */
#include "metrics/rule.h"
#include "test.h"

static void test_a_rule_has_a_name_and_a_scale(void **state)
{
    (void)state;
    struct score_rule rule;
    struct fault fault;
    assert_int_equal(metrics_rule_parse("seallm-mean", &rule, &fault), STATUS_OK);
    assert_int_equal(rule.kind, SCORE_SEALLM_MEAN);
    assert_true(rule.scale == 5);
    assert_int_equal(metrics_rule_parse("muxserve:8", &rule, &fault), STATUS_OK);
    assert_int_equal(rule.kind, SCORE_MUXSERVE);
    assert_true(rule.scale == 8);
}

static void test_a_wrong_rule_is_refused(void **state)
{
    (void)state;
    static const char *const wrong[] = {
        "", "seallm", "seallm-solo:", "seallm-solo:0", "seallm-solo:-1", "muxserve:eight", ":5"
    };
    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        struct score_rule rule;
        struct fault fault = { "" };
        assert_int_equal(metrics_rule_parse(wrong[i], &rule, &fault), STATUS_BAD_INPUT);
        assert_non_null(strstr(fault.text, "--slo is "));
    }
}

static void test_a_rule_without_its_targets_is_refused(void **state)
{
    (void)state;
    const struct service_slo none = { 0 }, ttft = { .ttft_ns = 1 };
    struct score_rule rule;
    struct fault fault = { "" };
    assert_int_equal(metrics_rule_read("aladdin", &none, &rule, &fault), STATUS_BAD_INPUT);
    assert_non_null(strstr(fault.text, "no service has such a target"));
    assert_int_equal(metrics_rule_read("service", &ttft, &rule, &fault), STATUS_OK);
    assert_int_equal(metrics_rule_read("seallm-solo:2", &none, &rule, &fault), STATUS_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_rule_has_a_name_and_a_scale),
        cmocka_unit_test(test_a_wrong_rule_is_refused),
        cmocka_unit_test(test_a_rule_without_its_targets_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
