/* The table finds every policy by its name, and the defaults are those that the header names. */
#include "test.h"
#include "base/time.h"
#include "schedule/policy.h"

static void every_row_is_found_by_name(void **state)
{
    (void)state;
    int n;
    const struct schedule_policy *const *all = schedule_all(&n);
    for (int i = 0; i < n; i++) {
        assert_ptr_equal(schedule_find(all[i]->name), all[i]); /* so each name is there once */
        assert_true(strlen(all[i]->summary) > 10);
    }
    assert_true(n >= 17);
    assert_null(schedule_find("db"));
    assert_null(schedule_find(""));
}

static void every_row_describes_itself(void **state)
{
    (void)state;
    int n;
    const struct schedule_policy *const *all = schedule_all(&n);
    for (int i = 0; i < n; i++) {
        assert_true(strlen(all[i]->chooses) > 5 && strlen(all[i]->batches) > 5);
        assert_true(strlen(all[i]->memory) > 5 && strlen(all[i]->starvation) > 5);
    }
}

/* Does the policy say that it reads this threshold? */
static bool reads(const struct schedule_policy *policy, const char *name)
{
    size_t n = strlen(name);
    for (const char *at = policy->thresholds; *at != '\0'; at += strcspn(at, " ")) {
        at += strspn(at, " ");
        if (strcspn(at, " ") == n && strncmp(at, name, n) == 0)
            return true;
    }
    return false;
}

static void every_threshold_is_read_and_every_name_is_one(void **state)
{
    (void)state;
    int n, n_rows;
    const struct schedule_policy *const *all = schedule_all(&n);
    const struct settings_row *rows = schedule_config_rows(&n_rows);
    for (int k = 0; k < n_rows; k++) {
        int n_readers = 0;
        for (int i = 0; i < n; i++)
            n_readers += reads(all[i], rows[k].name);
        if (n_readers == 0)
            fail_msg("no policy says that it reads %s", rows[k].name);
        assert_true(strlen(rows[k].help) > 5);
    }
    for (int i = 0; i < n; i++) {
        size_t n_names = 0, n_found = 0;
        for (const char *at = all[i]->thresholds; *at != '\0'; at += strcspn(at, " ")) {
            at += strspn(at, " ");
            n_names++;
        }
        for (int k = 0; k < n_rows; k++)
            n_found += reads(all[i], rows[k].name);
        if (n_names != n_found)
            fail_msg("%s reads %zu thresholds, of which %zu have rows", all[i]->name, n_names,
                     n_found);
    }
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
        cmocka_unit_test(every_row_describes_itself),
        cmocka_unit_test(every_threshold_is_read_and_every_name_is_one),
        cmocka_unit_test(defaults_are_as_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
