/* The table finds every policy by its name, and the defaults are those that the header names. */
#include "test.h"
#include "base/time.h"
#include "schedule/policy.h"

static void every_row_is_found_by_name(void **state)
{
    (void)state;
    static const char *const names[] = {
        "fcfs",        "temporal",    "rr",   "db-literal", "db-turn",  "db-share",
        "db-exact",    "mlfq",        "adbs", "mux-rr",     "mux-fcfs", "scls-cb",
        "ils-reserve", "ils-fastgen", "sls",  "cohort",     "value",
    };
    int n;
    const struct schedule_policy *const *all = schedule_all(&n);
    assert_int_equal(n, COUNT_OF(names));
    for (int i = 0; i < n; i++) {
        assert_string_equal(all[i]->name, names[i]);
        assert_ptr_equal(schedule_find(names[i]), all[i]);
        assert_true(strlen(all[i]->summary) > 10);
    }
    assert_null(schedule_find("db"));
    assert_null(schedule_find(""));
}

static void defaults_are_as_told(void **state)
{
    (void)state;
    struct schedule_config config;
    schedule_config_init(&config);
    assert_int_equal(config.n_seqs_max, 256);
    assert_int_equal(config.n_batch_tokens_max, 2048);
    assert_int_equal(config.starve_ns_min, 3 * TIME_NS_PER_S);
    assert_int_equal(config.share_ns_period, 8 * TIME_NS_PER_S);
    assert_int_equal(config.share_ns_depth, 300 * TIME_NS_PER_MS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_row_is_found_by_name),
        cmocka_unit_test(defaults_are_as_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
