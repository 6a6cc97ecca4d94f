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
    return cluster_message_is_valid(message, n, 2);
}

static void test_submit(void **state)
{
    (void)state;
    struct submit_bytes s = good_submit();
    assert_int_equal(sizeof s.m % 8, 0);
    assert_true(is_valid(&s, sizeof s));
    assert_false(is_valid(&s, sizeof s - 4));
    assert_false(is_valid(&s, sizeof s.m.head - 1));
    s.m.head.version++;
    assert_false(is_valid(&s, sizeof s));
    s = good_submit();
    s.m.head.engine = 2;
    assert_false(is_valid(&s, sizeof s));
    s = good_submit();
    s.m.request.service = 3; /* a number of the sender's own */
    assert_false(is_valid(&s, sizeof s));
    s = good_submit();
    s.m.request.variant = 1;
    assert_false(is_valid(&s, sizeof s));
    s = good_submit();
    s.m.head.zero = 1;
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
    struct message_change change = cluster_message_change(0, 77, &broken);
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
    assert_true(change.head.engine == 1 && change.head.service == 77);
    change.change.service = 1; /* numbers of the sender's own */
    assert_false(is_valid(&change, sizeof change));
    change.change.service = 0;
    change.change.life = 1;
    assert_false(is_valid(&change, sizeof change));
}

static void test_report_sizes(void **state)
{
    static struct message_report report;
    (void)state;
    for (int n = 0; n <= 3; n++) { /* as long as its rows and their names */
        size_t n_bytes = cluster_message_report_bytes(n);
        report.head = cluster_message_head(MESSAGE_REPORT, 0, n_bytes);
        report.report.n_services = n;
        assert_true(is_valid(&report, n_bytes));
        report.head.n_bytes -= 8;
        assert_false(is_valid(&report, n_bytes - 8));
        report.head.n_bytes = (uint32_t)n_bytes;
        report.report.listed = set_of_first(1); /* numbers mean nothing to another actor */
        assert_false(is_valid(&report, n_bytes));
        report.report.listed = (struct set){ { 0 } };
    }
    size_t n_bytes = cluster_message_report_bytes(1);
    report.head = cluster_message_head(MESSAGE_REPORT, 0, n_bytes);
    static const int32_t counts[] = { -1, 0, 2, LIMIT_SERVICES + 1, INT32_MIN, INT32_MAX };
    for (size_t i = 0; i < COUNT_OF(counts); i++) {
        report.report.n_services = counts[i];
        assert_false(is_valid(&report, n_bytes));
    }
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
    r->n_services = 2;
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

static struct service_spec spec_of(int i)
{
    struct service_spec spec = { .identity = (uint64_t)i };
    (void)snprintf(spec.name, sizeof spec.name, "model-%d", i);
    return spec;
}

/* What is read is what was written, though sender and receiver have the services in another order,
 * and each has some that the other does not. What is not listed any more is gone. */
static void test_reports_travel(void **state)
{
    enum { N = 200, MISSING = 20 };
    static struct engine_report said, heard;
    static struct message_report message;
    static struct cluster_roster here, there;
    struct rng rng;
    (void)state;
    rng_init(&rng, test_seed(1), 1);
    cluster_roster_init(&here);
    cluster_roster_init(&there);
    for (int i = 0; i < N; i++) {
        const struct service_spec own = spec_of(i), other = spec_of(N - 1 - i + MISSING);
        cluster_roster_add(&here, i, &own);
        cluster_roster_add(&there, i, &other);
    }
    said.n_services = heard.n_services = N;
    said.engine = 3;
    heard.engine = 5;
    for (int round = 0; round < 200; round++) {
        said.now_ns = round;
        for (int s = 0; s < N; s++) {
            said.services[s] = (struct service_report){ 0 };
            set_remove(&said.listed, s);
            if (rng_below(&rng, 50) > (uint32_t)(round % 20))
                continue;
            said.services[s].n_arrived = 1 + (int64_t)rng_below(&rng, 1000);
            set_add(&said.listed, s);
        }
        message.head = cluster_message_head(MESSAGE_REPORT, 0, 0);
        size_t n_bytes = cluster_message_write_report(&said, &here, &message, said.now_ns + 7);
        assert_true(cluster_message_is_valid(&message, n_bytes, 1));
        cluster_message_read_report(&message, &there, &heard, INT64_C(5000000) + round);
        assert_int_equal(heard.now_ns, INT64_C(5000000) + round - 7); /* by the receiver's clock */
        assert_true(heard.engine == 5 && heard.n_services == N);
        for (int s = 0; s < N; s++) {
            int at = N - 1 - s + MISSING; /* of the same service there */
            if (at >= N)
                continue;
            assert_int_equal(set_has(&said.listed, s), set_has(&heard.listed, at));
            assert_memory_equal(&said.services[s], &heard.services[at], sizeof said.services[s]);
        }
        for (int at = 0; at < MISSING; at++) /* services that only the receiver has */
            assert_false(set_has(&heard.listed, at));
    }
    cluster_roster_free(&here);
    cluster_roster_free(&there);
}

/* A row of an earlier life is of no service that is there. */
static void test_rows_of_an_earlier_life_stay_behind(void **state)
{
    static struct engine_report said;
    static struct message_report message;
    static struct cluster_roster roster;
    struct service_spec spec = spec_of(1);
    (void)state;
    spec.life = 4;
    cluster_roster_init(&roster);
    cluster_roster_add(&roster, 0, &spec);
    said.n_services = 2;
    said.listed = set_of_first(2); /* 1 has left the node, and its engine still lists it */
    for (uint16_t life = 3; life <= 4; life++) {
        said.services[0].life = life;
        message.head = cluster_message_head(MESSAGE_REPORT, 0, 0);
        (void)cluster_message_write_report(&said, &roster, &message, 0);
        assert_int_equal(message.report.n_services, life == 4);
    }
    cluster_roster_free(&roster);
}

/* File, settings, name and life: each of them makes another service. */
static void test_names_tell_services_apart(void **state)
{
    struct service_spec specs[5];
    (void)state;
    for (int i = 0; i < 5; i++)
        specs[i] = spec_of(1);
    specs[4] = (struct service_spec){ .priority = 0 };
    specs[1].identity = 2;
    specs[2].life = 1;
    specs[3].name[0] = 'M';
    for (int i = 0; i < 5; i++)
        for (int k = 0; k < i; k++)
            assert_true(cluster_roster_name(&specs[i]) != cluster_roster_name(&specs[k]));
    specs[1] = specs[0];
    specs[1].priority = 7;    /* each actor may have settings of its own that change no token */
    specs[1].name[100] = 'x'; /* what stands behind the text is not part of it */
    assert_true(cluster_roster_name(&specs[1]) == cluster_roster_name(&specs[0]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_submit),
        cmocka_unit_test(test_times_travel_as_spans),
        cmocka_unit_test(test_event),
        cmocka_unit_test(test_event_with_logprobs),
        cmocka_unit_test(test_ask),
        cmocka_unit_test(test_fixed_sizes_and_texts),
        cmocka_unit_test(test_report_sizes),
        cmocka_unit_test(test_report_bounds),
        cmocka_unit_test(test_reports_travel),
        cmocka_unit_test(test_rows_of_an_earlier_life_stay_behind),
        cmocka_unit_test(test_names_tell_services_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
