/* Wire messages: good ones pass, every broken field is refused. */
#include "test.h"

#include "base/rng.h"

#include "base/time.h"
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
    s.m.request.arrived_ns = INT64_MAX;
    assert_false(is_valid(&s, sizeof s));
    s = good_submit();
    s.m.request.arrived_ns = INT64_MIN;
    assert_false(is_valid(&s, sizeof s));
    s = good_submit();
    s.m.request.first_ns = INT64_MAX;
    assert_false(is_valid(&s, sizeof s));
    s = good_submit();
    s.m.request.deadline_ns = -1; /* it has just passed */
    assert_true(is_valid(&s, sizeof s));
    s = good_submit();
    s.m.request.deadline_ns = TIME_NEVER - 1;
    assert_false(is_valid(&s, sizeof s));
    s = good_submit();
    s.m.request.deadline_ns = TIME_NEVER;
    assert_true(is_valid(&s, sizeof s));
    s = good_submit();
    s.tokens[2] = -7;
    assert_false(is_valid(&s, sizeof s));
}

/* Two machines with clocks of their own: what lies between two times is the same on both. */
static void test_times_travel_as_spans(void **state)
{
    (void)state;
    const int64_t here_ns = 1000, there_ns = INT64_C(77000000);
    for (int i = 0; i < 4; i++) {
        struct request r = { .arrived_ns = here_ns - 100,
                             .served_ns = here_ns - 40,
                             .first_ns = i % 2 ? here_ns - 30 : 0,
                             .deadline_ns = i / 2 ? here_ns + 500 : TIME_NEVER };
        cluster_message_request_to_spans(&r, here_ns);
        cluster_message_request_of_spans(&r, there_ns);
        assert_int_equal(r.arrived_ns, there_ns - 100);
        assert_int_equal(r.served_ns, there_ns - 40);
        assert_int_equal(r.first_ns, i % 2 ? there_ns - 30 : 0);
        assert_int_equal(r.deadline_ns, i / 2 ? there_ns + 500 : TIME_NEVER);
    }
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

static void test_event_with_logprobs(void **state)
{
    (void)state;
    struct {
        struct message_event m;
        int32_t ids[2];
        struct token_logprobs logprobs[2];
    } e = { .logprobs = { { .n_top = LIMIT_TOP_LOGPROBS }, { .n_top = 0 } } };
    e.m.head = cluster_message_head(MESSAGE_EVENT, 1, sizeof e);
    e.m.event = (struct service_event){ .what = SERVICE_TOKENS,
                                        .n_tokens = 2,
                                        .n_bytes = sizeof e.ids + sizeof e.logprobs };
    assert_true(is_valid(&e, sizeof e));
    e.logprobs[1].n_top = LIMIT_TOP_LOGPROBS + 1;
    assert_false(is_valid(&e, sizeof e));
    e.logprobs[1].n_top = -1;
    assert_false(is_valid(&e, sizeof e));
}

static void test_ask(void **state)
{
    (void)state;
    struct message_ask ask = { .kind = CONTROL_UNLOAD };
    ask.head = cluster_message_head(MESSAGE_ASK, 1, sizeof ask);
    assert_true(is_valid(&ask, sizeof ask));
    ask.kind = CONTROL_HEALTH; /* the gateway's own business */
    assert_false(is_valid(&ask, sizeof ask));
    ask.kind = 77;
    assert_false(is_valid(&ask, sizeof ask));
}

static void test_fixed_sizes_and_texts(void **state)
{
    (void)state;
    const struct service_change broken = { .engine = 1, .service = 2, .status = SERVICE_BROKEN };
    struct message_change change = cluster_message_change(0, &broken);
    assert_true(is_valid(&change, sizeof change));
    memset(change.change.fault.text, 'x', sizeof change.change.fault.text); /* no zero byte */
    assert_false(is_valid(&change, sizeof change));
    change.change.fault.text[0] = '\0';
    change.change.weights_bytes = INT64_MAX / 2;
    assert_false(is_valid(&change, sizeof change));
    change.change.weights_bytes = 1;
    change.change.activation_bytes = -1;
    assert_false(is_valid(&change, sizeof change));
    change.change.activation_bytes = 1;
    change.change.status = SERVICE_BROKEN + 1;
    assert_false(is_valid(&change, sizeof change));
    change.change.status = SERVICE_BROKEN;
    change.change.cause = UINT8_MAX;
    assert_false(is_valid(&change, sizeof change));
    change.change.cause = STATUS_IO;
    assert_true(is_valid(&change, sizeof change));
    change.change.service = 1; /* the head says another one */
    assert_false(is_valid(&change, sizeof change));
    change.change.service = 2;
    change.change.engine = 0;
    assert_false(is_valid(&change, sizeof change));
}

static void test_report_sizes(void **state)
{
    static struct message_report report;
    (void)state;
    report.report.n_services = 3;
    for (int n = 0; n <= 3; n++) { /* as long as it lists services */
        size_t n_bytes = cluster_message_report_bytes(n);
        report.head = cluster_message_head(MESSAGE_REPORT, 0, n_bytes);
        report.report.listed = set_of_first(n);
        assert_true(is_valid(&report, n_bytes));
        if (n < 3) { /* one more than there is room for */
            set_add(&report.report.listed, 2);
            assert_false(is_valid(&report, n_bytes));
        }
        report.report.listed = (struct set){ { n > 0 ? 0 : 1 } };
        assert_false(is_valid(&report, n_bytes));
    }
    size_t n_bytes = cluster_message_report_bytes(1);
    report.head = cluster_message_head(MESSAGE_REPORT, 0, n_bytes);
    static const int none[] = { 3, 63, 64, SET_MAX - 1 }; /* of three services */
    for (size_t i = 0; i < COUNT_OF(none); i++) {
        report.report.listed = (struct set){ { 0 } };
        set_add(&report.report.listed, none[i]);
        assert_false(is_valid(&report, n_bytes));
    }
    report.report.listed = set_of_first(1);
    assert_true(is_valid(&report, n_bytes));
    static const int32_t counts[] = { -1, 0, 4, INT32_MIN, INT32_MAX };
    for (size_t i = 0; i < COUNT_OF(counts); i++) { /* fewer than listed, more than there are */
        report.report.n_services = counts[i];
        assert_false(is_valid(&report, n_bytes));
    }
    report.report.n_services = 3;
    report.head = cluster_message_head(MESSAGE_REPORT, 0, sizeof report);
    report.report.listed = set_of_first(3);
    assert_false(is_valid(&report, sizeof report));
}

/* What no machine has, or no sum over services can hold: the report is refused, whichever it is. */
static void test_report_bounds(void **state)
{
    static struct message_report report;
    struct engine_report *r = &report.report;
    struct service_report *row = &r->services[1];
    int64_t *const wide[] = { &r->now_ns,
                              &r->n_steps,
                              &r->step_ns,
                              &r->host_ns,
                              &r->memory_bytes,
                              &r->kv_pool_bytes,
                              &r->kv_free_bytes,
                              &r->kv_table_bytes,
                              &row->weights_bytes,
                              &row->activation_bytes,
                              &row->kv_used_bytes,
                              &row->kv_cached_bytes,
                              &row->kv_bytes_per_token,
                              &row->kv_held_bytes,
                              &row->kv_quota_bytes,
                              &row->n_prefix_queries,
                              &row->n_prefix_hits,
                              &row->n_preempted,
                              &row->n_swapped,
                              &row->n_pad_tokens,
                              &row->n_invalid_tokens,
                              &row->n_static_batches,
                              &row->n_static_seats,
                              &row->n_batches,
                              &row->n_batch_rows,
                              &row->n_static_early,
                              &row->n_exceeded,
                              &row->n_forced,
                              &row->n_arrived,
                              &row->solo_ns,
                              &row->remaining_ns,
                              &row->perf.k2_ps[0] };
    int32_t *const narrow[] = { &r->n_requests, &r->n_requests_max, &row->n_waiting,
                                &row->n_running };
    double *const parts[] = { &row->kv_share, &row->kv_r };
    uint8_t *const bytes[] = { &row->status, &row->progress_percent };
    size_t n_bytes = cluster_message_report_bytes(2);
    (void)state;
    report.head = cluster_message_head(MESSAGE_REPORT, 0, n_bytes);
    r->n_services = 3;
    r->listed = set_of_first(2);
#define REFUSES(field, wrong)                                                                      \
    do {                                                                                           \
        *(field) = (wrong);                                                                        \
        assert_false(is_valid(&report, n_bytes));                                                  \
        *(field) = 1;                                                                              \
        assert_true(is_valid(&report, n_bytes));                                                   \
    } while (0)
    for (size_t i = 0; i < COUNT_OF(wide); i++) {
        REFUSES(wide[i], -1);
        REFUSES(wide[i], INT64_MAX);
    }
    for (size_t i = 0; i < COUNT_OF(narrow); i++) {
        REFUSES(narrow[i], -1);
        REFUSES(narrow[i], INT32_MAX / LIMIT_SERVICES + 2); /* as many in each are too many */
    }
    for (size_t i = 0; i < COUNT_OF(parts); i++) {
        REFUSES(parts[i], -1);
        REFUSES(parts[i], __builtin_nan(""));
    }
    for (size_t i = 0; i < COUNT_OF(bytes); i++)
        REFUSES(bytes[i], 101);
#undef REFUSES
}

/* What is read is what was written: what is not listed any more is gone. */
static void test_reports_travel(void **state)
{
    static struct engine_report said, heard;
    static struct message_report message;
    struct rng rng;
    (void)state;
    rng_init(&rng, test_seed(1), 1);
    said.n_services = 200;
    for (int round = 0; round < 200; round++) {
        said.now_ns = round;
        for (int s = 0; s < said.n_services; s++) {
            said.services[s] = (struct service_report){ 0 };
            set_remove(&said.listed, s);
            if (rng_below(&rng, 50) > (uint32_t)(round % 20))
                continue;
            said.services[s].n_arrived = 1 + (int64_t)rng_below(&rng, 1000);
            set_add(&said.listed, s);
        }
        message.head = cluster_message_head(MESSAGE_REPORT, 0, 0);
        size_t n_bytes = cluster_message_write_report(&said, &message, said.now_ns + 7);
        assert_true(cluster_message_is_valid(&message, n_bytes, 1, said.n_services));
        assert_false(cluster_message_is_valid(&message, n_bytes, 1, said.n_services - 1));
        cluster_message_read_report(&message, &heard, INT64_C(5000000) + round);
        assert_int_equal(heard.now_ns, INT64_C(5000000) + round - 7); /* by the receiver's clock */
        heard.now_ns = said.now_ns;
        assert_memory_equal(&said, &heard, engine_report_bytes(said.n_services));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_submit),        cmocka_unit_test(test_times_travel_as_spans),
        cmocka_unit_test(test_event),         cmocka_unit_test(test_event_with_logprobs),
        cmocka_unit_test(test_ask),           cmocka_unit_test(test_fixed_sizes_and_texts),
        cmocka_unit_test(test_report_sizes),  cmocka_unit_test(test_report_bounds),
        cmocka_unit_test(test_reports_travel)
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
