/* Wire messages: good ones pass, every broken field is refused. */
#include "test.h"

#include "cluster/message.h"

struct submit_bytes {
    struct message_submit m;
    struct request_body body;
    int32_t tokens[4];
};

static struct submit_bytes good_submit(void)
{
    struct submit_bytes s = { 0 };
    s.m.head = cluster_message_head(MESSAGE_SUBMIT, 1, sizeof s);
    s.m.request = (struct request){ .id = 1, .n_prompt = 4, .n_tokens = 4, .n_tokens_max = 8 };
    s.body = (struct request_body){ .n_bytes = sizeof s.body + 16,
                                    .n_tokens = 4,
                                    .sampling = { .repetition_penalty = 1.0F } };
    return s;
}

static bool is_valid(const void *message, size_t n)
{
    return cluster_message_is_valid(message, n, 2, 3);
}

static void test_submit(void **state)
{
    (void)state;
    struct submit_bytes s = good_submit();
    assert_int_equal(sizeof s.m % 8, 0);
    assert_true(is_valid(&s, sizeof s));
    assert_false(is_valid(&s, sizeof s - 4));
    assert_false(is_valid(&s, sizeof s.m.head - 1));
    s.m.head.version = 9;
    assert_false(is_valid(&s, sizeof s));
    s = good_submit();
    s.m.head.engine = 2;
    assert_false(is_valid(&s, sizeof s));
    s = good_submit();
    s.m.request.service = 3;
    assert_false(is_valid(&s, sizeof s));
    s = good_submit();
    s.m.request.n_tokens = 5;
    assert_false(is_valid(&s, sizeof s));
    s = good_submit();
    s.m.request.n_tokens_max = 4;
    assert_false(is_valid(&s, sizeof s));
    s = good_submit();
    s.body.n_stop_ids = 1000000;
    assert_false(is_valid(&s, sizeof s));
    s = good_submit();
    s.tokens[2] = -7;
    assert_false(is_valid(&s, sizeof s));
}

static void test_event(void **state)
{
    (void)state;
    struct {
        struct message_event m;
        int32_t ids[2];
    } e = { 0 };
    e.m.head = cluster_message_head(MESSAGE_EVENT, 1, sizeof e);
    e.m.event = (struct service_event){ .what = SERVICE_TOKENS, .n_tokens = 2, .n_bytes = 8 };
    assert_true(is_valid(&e, sizeof e));
    e.m.event.n_tokens = 3;
    assert_false(is_valid(&e, sizeof e));
    e.m.event.n_tokens = -1;
    assert_false(is_valid(&e, sizeof e));
    e.m.event.n_tokens = 2;
    e.m.event.n_bytes = 4;
    assert_false(is_valid(&e, sizeof e));
    e.m.event.n_bytes = 8;
    e.m.event.why = SERVICE_WHY_N;
    assert_false(is_valid(&e, sizeof e));
    e.m.event.why = 0;
    e.m.head.kind = MESSAGE_N;
    assert_false(is_valid(&e, sizeof e));
}

static void test_fixed_sizes_and_texts(void **state)
{
    (void)state;
    struct message_change change = { .status = SERVICE_BROKEN };
    change.head = cluster_message_head(MESSAGE_CHANGE, 0, sizeof change);
    assert_true(is_valid(&change, sizeof change));
    memset(change.fault.text, 'x', sizeof change.fault.text); /* no zero byte */
    assert_false(is_valid(&change, sizeof change));
    struct message_report report = { .report = { .n_services = 3 } };
    for (int n = 0; n <= 3; n++) { /* as long as it has services */
        size_t n_bytes = cluster_message_report_bytes(n);
        report.head = cluster_message_head(MESSAGE_REPORT, 0, n_bytes);
        report.report.n_services = n;
        assert_true(is_valid(&report, n_bytes));
        report.report.n_services = n + 1;
        assert_false(is_valid(&report, n_bytes));
        report.report.n_services = n - 1;
        assert_false(is_valid(&report, n_bytes));
    }
    report.report.n_services = 4; /* more than there are */
    report.head = cluster_message_head(MESSAGE_REPORT, 0, cluster_message_report_bytes(4));
    assert_false(is_valid(&report, cluster_message_report_bytes(4)));
    report.head = cluster_message_head(MESSAGE_REPORT, 0, sizeof report);
    report.report.n_services = 3;
    assert_false(is_valid(&report, sizeof report));
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_submit), cmocka_unit_test(test_event),
                                        cmocka_unit_test(test_fixed_sizes_and_texts) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
