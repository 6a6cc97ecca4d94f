/* The room's table: every router is found by its name, and has all that a router must. */
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
        assert_true(p->summary[0] != 0);
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

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_table) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
