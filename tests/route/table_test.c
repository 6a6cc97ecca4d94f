/* The room's table: every router is found by its name, and has every callback that a router must
 * have. */
#include "../test.h"
#include "route/policy.h"

static void test_table(void **state)
{
    (void)state;
    int n;
    const struct route_policy *const *all = route_all(&n);
    assert_true(n >= 8);
    for (int i = 0; i < n; i++) {
        const struct route_policy *p = all[i];
        assert_ptr_equal(route_find(p->name), p);
        assert_true(p->summary[0] != 0 && p->does[0] != 0 && p->source[0] != 0 && p->when[0] != 0);
        assert_true(p->state_bytes && p->open && p->plan && p->saw && p->fits);
        struct engine_report report = { .n_requests = 4, .n_requests_max = 4 };
        const struct request request = { 0 };
        assert_false(p->fits(&report, &request));
        report.n_requests = 3;
        assert_true(p->fits(&report, &request));
        report.is_draining = true;
        assert_false(p->fits(&report, &request));
    }
    assert_null(route_find("best"));
}

/* Does the router say that it reads this threshold? */
static bool reads(const struct route_policy *p, const char *name)
{
    size_t n = strlen(name);
    for (const char *at = p->thresholds; *at != '\0'; at += strcspn(at, " ")) {
        at += strspn(at, " ");
        if (strcspn(at, " ") == n && strncmp(at, name, n) == 0)
            return true;
    }
    return false;
}

static void test_thresholds_have_readers(void **state)
{
    (void)state;
    int n, n_rows;
    const struct route_policy *const *all = route_all(&n);
    const struct settings_row *rows = route_config_rows(&n_rows);
    for (int k = 0; k < n_rows; k++) {
        int n_readers = 0;
        for (int i = 0; i < n; i++)
            n_readers += reads(all[i], rows[k].name);
        if (n_readers == 0)
            fail_msg("no router says that it reads %s", rows[k].name);
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

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_table),
                                        cmocka_unit_test(test_thresholds_have_readers) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
