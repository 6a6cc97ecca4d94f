/* Thresholds by name: every one can be set, and wrong values give a message. */
#include "../test.h"
#include "base/time.h"
#include "route/policy.h"

static enum status set(struct route_config *config, const char *text)
{
    struct fault fault = { 0 };
    enum status status = route_config_set(config, text, &fault);
    assert_int_equal(status == STATUS_OK, fault.text[0] == '\0');
    return status;
}

static void test_all_names(void **state)
{
    (void)state;
    struct route_config config;
    int n;
    const struct settings_row *rows = route_config_rows(&n);
    for (int k = 0; k < n; k++) {
        const char *name = rows[k].name;
        static const char *const values[] = { "1", "0.5", "both", "padded", "code" };
        struct route_config before;
        bool has_changed = false;
        for (size_t i = 0; i < COUNT_OF(values); i++) {
            char text[80];
            route_config_init(&config);
            config.seed = 7; /* unlike 1 */
            config.cost = ROUTE_COST_TEXT;
            config.phase = ROUTE_PHASE_DECODE;
            config.gamma = config.theta = config.zeta = 0.75;
            config.cost_w1 = config.cost_w2 = config.cost_l1 = config.slo_weight = 3;
            config.has_rebalance = false;
            config.late_penalty_s = config.length_weight = 3;
            before = config;
            (void)snprintf(text, sizeof text, "%s=%s", name, values[i]);
            has_changed |=
                set(&config, text) == STATUS_OK && memcmp(&before, &config, sizeof config) != 0;
        }
        if (!has_changed)
            fail_msg("%s can't be set", name);
    }
    assert_true(n > 30);
}

static void test_values(void **state)
{
    (void)state;
    struct route_config config;
    route_config_init(&config);
    assert_int_equal(set(&config, "heartbeat_ns=20"), STATUS_OK);
    assert_int_equal(config.heartbeat_ns, 20 * TIME_NS_PER_MS);
    assert_int_equal(set(&config, "memory=rules"), STATUS_OK);
    assert_int_equal(config.memory, MEMORY_RULES);
    assert_int_equal(set(&config, "static.3=2"), STATUS_OK);
    assert_int_equal(config.engine_of[3], 2);
    static const char *const wrong[] = {
        "n_slice",   "n_slice=", "n_slice=0",   "n_slice=1.5",   "n_slice=9x",  "none=1",
        "gamma=nan", "theta=2",  "memory=heap", "static.1024=1", "static.1=-2", "static.=1",
        "static.1=", ""
    };
    for (size_t i = 0; i < COUNT_OF(wrong); i++)
        assert_int_equal(set(&config, wrong[i]), STATUS_BAD_INPUT);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_all_names),
                                        cmocka_unit_test(test_values) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
