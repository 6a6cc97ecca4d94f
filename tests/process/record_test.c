/* Tests of the checks of what an engine's process wrote. */
#include "test.h"
#include "process/record.h"
#include "run/unit.h"

static void test_sizes_and_kinds(void **state)
{
    (void)state;
    struct process_record head = { .kind = PROCESS_READY };
    assert_true(process_record_is_valid(&head, sizeof head));
    assert_false(process_record_is_valid(&head, sizeof head - 1));
    assert_false(process_record_is_valid(&head, sizeof head + 8));
    head.kind = PROCESS_LOAD; /* a record of the other direction */
    assert_false(process_record_is_valid(&head, sizeof head));
    head.kind = UINT32_MAX;
    assert_false(process_record_is_valid(&head, sizeof head));
    head = (struct process_record){ PROCESS_READY, LIMIT_MODELS };
    assert_false(process_record_is_valid(&head, sizeof head));
    head.service = -1;
    assert_false(process_record_is_valid(&head, sizeof head));
}

static void test_changes_and_presences(void **state)
{
    (void)state;
    struct process_change change = { .head = { .kind = PROCESS_CHANGE } };
    assert_true(process_record_is_valid(&change, sizeof change));
    change.change.service = LIMIT_MODELS;
    assert_false(process_record_is_valid(&change, sizeof change));
    struct process_presence presence = { .head = { .kind = PROCESS_PRESENCE },
                                         .presence = RUN_UNIT_READY };
    assert_true(process_record_is_valid(&presence, sizeof presence));
    presence.presence = RUN_UNIT_THERE; /* only the parent admits */
    assert_false(process_record_is_valid(&presence, sizeof presence));
    struct process_want want = { .head = { .kind = PROCESS_WANT }, .n_bytes = 1 };
    assert_true(process_record_is_valid(&want, sizeof want));
    want.n_bytes = -1;
    assert_false(process_record_is_valid(&want, sizeof want));
}

static void test_reports(void **state)
{
    (void)state;
    static struct process_report m;
    m = (struct process_report){ .head = { .kind = PROCESS_REPORT }, .report.n_services = 3 };
    size_t n = offsetof(struct process_report, report) + engine_report_bytes(3);
    assert_true(process_record_is_valid(&m, n));
    assert_false(process_record_is_valid(&m, n - 1));
    m.report.n_services = 2;
    assert_false(process_record_is_valid(&m, n));
    m.report.n_services = INT32_MAX;
    assert_false(process_record_is_valid(&m, n));
    m.report.n_services = 3;
    set_add(&m.report.listed, 3); /* a row that is not there */
    assert_false(process_record_is_valid(&m, n));
}

static void test_events(void **state)
{
    (void)state;
    struct {
        struct service_event event;
        int32_t ids[4];
    } m = { .event = { .what = SERVICE_TOKENS, .n_tokens = 2, .n_bytes = 8 } };
    size_t n = sizeof m.event + 8;
    assert_true(process_record_is_event(&m, n));
    assert_false(process_record_is_event(&m, n + 4));
    assert_false(process_record_is_event(&m, 3));
    m.event.n_tokens = 3; /* more than its payload has */
    assert_false(process_record_is_event(&m, n));
    m.event.n_tokens = 2;
    m.event.what = SERVICE_ENDED + 1;
    assert_false(process_record_is_event(&m, n));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sizes_and_kinds),
        cmocka_unit_test(test_changes_and_presences),
        cmocka_unit_test(test_reports),
        cmocka_unit_test(test_events),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
