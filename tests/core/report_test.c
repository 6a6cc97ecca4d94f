/* Tests of the checks of reports and changes that came from outside. */
#include "test.h"
#include "core/report.h"

static struct engine_report *good_report(void)
{
    static struct engine_report report;
    report = (struct engine_report){ .is_healthy = true, .memory_bytes = 1 << 30, .n_services = 2 };
    report.services[1].status = SERVICE_LOADED;
    report.services[1].progress_percent = 100;
    return &report;
}

static void test_a_report_is_checked(void **state)
{
    (void)state;
    struct engine_report *r = good_report();
    unsigned char two = 2;
    assert_true(report_is_valid(r, 2));
    assert_false(report_is_valid(r, 1));
    r->n_services = -1;
    assert_false(report_is_valid(r, 2));
    r = good_report();
    r->memory_bytes = -1;
    assert_false(report_is_valid(r, 2));
    r = good_report();
    r->n_steps = INT64_MAX;
    assert_false(report_is_valid(r, 2));
    r = good_report();
    r->n_restarts = -1;
    assert_false(report_is_valid(r, 2));
    r = good_report();
    memcpy(&r->is_down, &two, 1);
    assert_false(report_is_valid(r, 2));
}

static void test_a_row_is_checked(void **state)
{
    (void)state;
    struct engine_report *r = good_report();
    r->services[1].status = SERVICE_BROKEN + 1;
    assert_false(report_is_valid(r, 2));
    r = good_report();
    r->services[1].kv_share = __builtin_nan("");
    assert_false(report_is_valid(r, 2));
    r = good_report();
    r->services[0].n_waiting = -1;
    assert_false(report_is_valid(r, 2));
    r = good_report();
    r->services[0].perf.c3_ps[0] = INT64_MAX;
    assert_false(report_is_valid(r, 2));
}

static void test_a_change_is_checked(void **state)
{
    (void)state;
    struct service_change change = { .status = SERVICE_BROKEN, .cause = STATUS_IO };
    assert_true(report_change_is_valid(&change));
    change.cause = STATUS_IO + 1;
    assert_false(report_change_is_valid(&change));
    change = (struct service_change){ .weights_bytes = -1 };
    assert_false(report_change_is_valid(&change));
    change = (struct service_change){ .status = SERVICE_LOADED };
    memset(change.fault.text, 'x', sizeof change.fault.text);
    assert_false(report_change_is_valid(&change));
    assert_true(report_bytes_are_valid(0) && !report_bytes_are_valid(INT64_MAX));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_report_is_checked),
        cmocka_unit_test(test_a_row_is_checked),
        cmocka_unit_test(test_a_change_is_checked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
