/* The stream is what it claims: rates, lengths, fractions; and one seed is one stream. */
#include "../test.h"
#include "base/num.h"
#include "base/time.h"
#include "workload/trace.h"
#include "workload/workload.h"

enum { N = 100000 };

static bool in_range(int64_t n, double low, double high)
{
    return (double)n > N * low && (double)n < N * high;
}

static void has_the_figures_asked_for(void **state)
{
    struct workload w = { .seed = test_seed(4),
                          .n_requests = N,
                          .n_services = 2,
                          .cancelled = 0.25,
                          .cancel_ns_mean = 1000000,
                          .with_deadline = 0.1,
                          .deadline_ns = 77,
                          .prediction_noise = 0 };
    struct workload_stream stream;
    struct workload_ask ask;
    int64_t n_first = 0, n_cancelled = 0, n_deadline = 0, last_ns = 0, cancel_ns = 0, n_short = 0;
    (void)state;
    w.services[0] = workload_conversations(30);
    w.services[1] = workload_conversations(10);
    workload_begin(&stream, &w);
    for (uint64_t k = 0; workload_next(&stream, &ask); k++) {
        assert_true(ask.number == k && ask.arrived_ns >= last_ns);
        assert_true(ask.n_prompt >= 1 && ask.n_prompt <= 8000 && ask.n_output >= 2 &&
                    ask.n_output <= 1500 && ask.n_predicted == ask.n_output);
        last_ns = ask.arrived_ns;
        n_first += ask.service == 0;
        n_short += ask.n_prompt < 1020;
        n_cancelled += ask.cancel_ns != TIME_NEVER;
        cancel_ns += ask.cancel_ns != TIME_NEVER ? ask.cancel_ns - ask.arrived_ns : 0;
        n_deadline += ask.deadline_ns == ask.arrived_ns + 77;
    }
    workload_end(&stream);
    assert_true(last_ns > 2450 * TIME_NS_PER_S && last_ns < 2550 * TIME_NS_PER_S); /* N / 40 */
    assert_true(in_range(n_first, 0.74, 0.76));
    assert_true(in_range(n_short, 0.49, 0.51)); /* the median */
    assert_true(in_range(n_cancelled, 0.24, 0.26));
    assert_true(cancel_ns / n_cancelled > 970000 && cancel_ns / n_cancelled < 1030000);
    assert_true(in_range(n_deadline, 0.095, 0.105));
}

static void one_seed_is_one_stream(void **state)
{
    struct workload w = { .seed = 3, .n_requests = 1000, .n_services = 1, .prediction_noise = 0.5 };
    struct workload_stream a, b;
    struct workload_ask x, y;
    int n_other = 0;
    (void)state;
    w.services[0] = workload_conversations(5);
    struct workload other = w;
    other.seed = 4;
    workload_begin(&a, &w);
    workload_begin(&b, &w);
    while (workload_next(&a, &x)) {
        assert_true(workload_next(&b, &y));
        assert_memory_equal(&x, &y, sizeof(x));
    }
    workload_end(&a);
    workload_end(&b);
    workload_begin(&a, &w);
    workload_begin(&b, &other);
    while (workload_next(&a, &x) && workload_next(&b, &y))
        n_other += x.n_prompt != y.n_prompt;
    workload_end(&a);
    workload_end(&b);
    assert_true(n_other > 900);
}

/* ---- Sources. ---- */

/* Makes three services and a further source, with every kind of gap. */
static void make_four(struct workload *w, struct workload_traffic *more)
{
    *w = (struct workload){ .seed = 5, .n_requests = 6000, .n_services = 3, .n_more = 1 };
    for (int i = 0; i < 3; i++)
        w->services[i] = (struct workload_traffic){ .rate_per_s = 3 + i,
                                                    .prompt = { 5, 1, 1, 4000 },
                                                    .output = { 4, 1, 1, 4000 } };
    w->services[1].arrivals = WORKLOAD_GAMMA;
    w->services[1].cv = 3;
    w->services[2].on_s = w->services[2].off_s = 4;
    *more = w->services[0];
    more->service = 1;
    w->more = more;
}

/* Lists the requests of one service. */
static uint32_t asks_of(const struct workload *w, uint16_t service, struct workload_ask *asks,
                        uint32_t n_max)
{
    struct workload_stream stream;
    struct workload_ask ask;
    uint32_t n = 0;
    workload_begin(&stream, w);
    while (n < n_max && workload_next(&stream, &ask))
        if (ask.service == service)
            asks[n++] = ask;
    workload_end(&stream);
    return n;
}

/* Another rate, other lengths, or no traffic elsewhere: a service's requests stay the same. */
static void services_do_not_touch_each_other(void **state)
{
    static struct workload_ask before[1000], after[1000];
    static struct workload w;
    struct workload_traffic more;
    (void)state;
    for (int change = 0; change < 4; change++) {
        make_four(&w, &more);
        w.prediction_noise = 0.4;
        w.cancelled = 0.3;
        w.cancel_ns_mean = 1000000;
        w.output_noise = 0.5;
        assert_int_equal(asks_of(&w, 0, before, 1000), 1000);
        w.services[1].rate_per_s = change == 0 ? 50 : w.services[1].rate_per_s;
        w.services[2].prompt.mean_log = change == 1 ? 7 : w.services[2].prompt.mean_log;
        w.services[2].rate_per_s = change == 2 ? 0 : w.services[2].rate_per_s;
        w.n_more = change == 3 ? 0 : 1;
        w.n_requests = UINT64_MAX;
        assert_int_equal(asks_of(&w, 0, after, 1000), 1000);
        for (int i = 0; i < 1000; i++) {
            after[i].number = before[i].number; /* its place among all */
            assert_memory_equal(&before[i], &after[i], sizeof(before[i]));
        }
    }
}

static void the_merge_is_in_order_and_complete(void **state)
{
    static struct workload w;
    struct workload_traffic more;
    struct workload_stream stream;
    struct workload_ask ask;
    int64_t last_ns = 0;
    int64_t counts[3] = { 0 };
    (void)state;
    make_four(&w, &more);
    w.until_ns = 2000 * TIME_NS_PER_S;
    w.n_requests = UINT64_MAX;
    workload_begin(&stream, &w);
    for (uint64_t k = 0; workload_next(&stream, &ask); k++) {
        assert_true(ask.number == k && ask.arrived_ns >= last_ns && ask.arrived_ns < w.until_ns);
        last_ns = ask.arrived_ns;
        counts[ask.service]++;
    }
    workload_end(&stream);
    assert_true(counts[0] > 5700 && counts[0] < 6300);
    assert_true(counts[1] > 13000 && counts[1] < 15000); /* 4 and the further 3 */
    assert_true(counts[2] > 9000 && counts[2] < 11000);
}

/* At one instant the lower source is first, whatever the heap looks like. */
static void ties_go_by_source(void **state)
{
    static struct workload w;
    struct workload_stream stream;
    struct workload_ask ask;
    (void)state;
    w = (struct workload){ .n_requests = UINT64_MAX, .n_services = 20 };
    for (int i = 0; i < 20; i++)
        w.services[i] =
            (struct workload_traffic){ .rate_per_s = 1,
                                       .arrivals = i == 7 ? WORKLOAD_ONCE : WORKLOAD_CONSTANT,
                                       .n_requests = 5,
                                       .prompt = { 1, 0, 1, 9 },
                                       .output = { 1, 0, 1, 9 } };
    workload_begin(&stream, &w);
    for (int k = 0; k < 5; k++) {
        assert_true(workload_next(&stream, &ask));
        assert_true(ask.service == 7 && ask.arrived_ns == 0);
    }
    for (int round = 1; round <= 5; round++)
        for (int i = 0; i < 20; i++) {
            if (i == 7)
                continue;
            assert_true(workload_next(&stream, &ask));
            assert_true(ask.service == i && ask.arrived_ns == round * TIME_NS_PER_S);
        }
    assert_false(workload_next(&stream, &ask));
    workload_end(&stream);
}

static void runs_are_of_one_service(void **state)
{
    static struct workload w;
    struct workload_stream stream;
    struct workload_ask ask;
    static const uint32_t lengths[] = { 1, 4, 16 };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(lengths); i++) {
        int64_t counts[2] = { 0 }, last_ns = 0;
        uint16_t service = 0;
        w = (struct workload){
            .seed = 1, .n_requests = 64000, .n_services = 2, .run_length = lengths[i]
        };
        w.services[0] = workload_conversations(30);
        w.services[1] = workload_conversations(10);
        workload_begin(&stream, &w);
        for (uint64_t k = 0; workload_next(&stream, &ask); k++) {
            if (k % lengths[i] != 0)
                assert_int_equal(ask.service, service);
            service = ask.service;
            counts[service]++;
            assert_true(ask.arrived_ns >= last_ns);
            last_ns = ask.arrived_ns;
        }
        workload_end(&stream);
        assert_true(counts[0] > 46000 && counts[0] < 50000);
        assert_true(last_ns > 1560 * TIME_NS_PER_S && last_ns < 1640 * TIME_NS_PER_S);
    }
}

/* The output is o + normal(0, k o), drawn again below 1. For k = 0.2 nearly all of it stays. For
 * k = 16 the mean of the positive half is 16 sqrt(2 / pi) times as long. Predictions stay at the
 * length without noise. */
static void output_noise_is_as_asked_for(void **state)
{
    static const double ks[] = { 0.2, 16 }, factors[] = { 1, 12.8 };
    static struct workload w;
    struct workload_stream stream;
    struct workload_ask ask;
    (void)state;
    for (int i = 0; i < 2; i++) {
        double sum = 0;
        w = (struct workload){ .seed = 1, .n_requests = N, .n_services = 1, .output_noise = ks[i] };
        w.services[0] = (struct workload_traffic){ .rate_per_s = 1,
                                                   .prompt = { 3, 0, 1, 100 },
                                                   .output = { 6.907755, 0, 1, 10000 } };
        workload_begin(&stream, &w);
        while (workload_next(&stream, &ask)) {
            assert_true(ask.n_output >= 1 && ask.n_predicted == 1000);
            sum += ask.n_output;
        }
        workload_end(&stream);
        assert_true(sum / N > 1000 * factors[i] * 0.97 && sum / N < 1000 * factors[i] * 1.05);
    }
}

static void add_to_trace(struct workload_trace *trace, const struct workload_ask *ask)
{
    struct workload_trace_row row = {
        .arrived_ns = ask->arrived_ns,
        .deadline_ns =
            ask->deadline_ns == TIME_NEVER ? TIME_NEVER : ask->deadline_ns - ask->arrived_ns,
        .cancel_ns = ask->cancel_ns == TIME_NEVER ? TIME_NEVER : ask->cancel_ns - ask->arrived_ns,
        .prefix_at = trace->n_blocks,
        .n_prefix = ask->n_prefix,
        .n_prompt = ask->n_prompt,
        .n_output = ask->n_output,
        .n_predicted = ask->n_predicted,
        .model = ask->service,
        .tenant = ask->tenant,
        .priority = ask->priority,
    };
    for (uint32_t i = 0; i < ask->n_prefix; i++)
        workload_trace_add_block(trace, ask->prefix[i]);
    if (ask->n_prefix > 0)
        trace->prefix_tokens = ask->prefix_tokens;
    workload_trace_add(trace, &row);
}

/* A trace of a stream's requests is the same traffic, to the nanosecond. */
static void a_trace_is_replayed_exactly(void **state)
{
    static struct workload w, again;
    static struct workload_trace trace;
    struct workload_traffic more;
    struct workload_stream a, b;
    struct workload_ask x, y;
    (void)state;
    make_four(&w, &more);
    w.prediction_noise = 0.4;
    w.cancelled = 0.3;
    w.cancel_ns_mean = 1000000;
    w.with_deadline = 0.5;
    w.deadline_ns = 12345;
    w.services[1].priority = -4;
    w.services[2].tenant = 9;
    workload_trace_init(&trace);
    trace.has_times = true;
    workload_begin(&a, &w);
    while (workload_next(&a, &x))
        add_to_trace(&trace, &x);
    workload_end(&a);
    again =
        (struct workload){ .seed = 99, .n_requests = UINT64_MAX, .n_services = 3, .n_replays = 1 };
    again.replays[0] = (struct workload_replay){ .trace = &trace, .service_of = { 0, 1, 2 } };
    workload_begin(&a, &w);
    workload_begin(&b, &again);
    while (workload_next(&a, &x)) {
        assert_true(workload_next(&b, &y));
        assert_memory_equal(&x, &y, sizeof(x));
    }
    assert_false(workload_next(&b, &y));
    workload_end(&a);
    workload_end(&b);
    workload_trace_free(&trace);
}

static void scaling_brings_the_same_requests_sooner(void **state)
{
    static struct workload w;
    static struct workload_ask before[500], after[500];
    (void)state;
    w = (struct workload){ .seed = 5, .n_requests = 500, .n_services = 1 };
    w.services[0] = workload_conversations(2);
    asks_of(&w, 0, before, 500);
    workload_scale(&w, 4);
    asks_of(&w, 0, after, 500);
    for (int i = 0; i < 500; i++) {
        assert_true(before[i].n_prompt == after[i].n_prompt &&
                    before[i].n_output == after[i].n_output);
        int64_t off = before[i].arrived_ns - 4 * after[i].arrived_ns;
        assert_true(off > -8 && off < 8);
    }
}

/* Equal names of blocks are equal tokens; all else differs, except by chance. */
static void prompts_begin_as_their_names_say(void **state)
{
    static const uint64_t names[2][3] = { { 7, 8, 9 }, { 7, 8, 10 } };
    struct workload w = { .seed = 1 };
    struct workload_ask asks[2];
    int32_t tokens[2][40], part[5];
    int n_equal = 0;
    (void)state;
    for (uint64_t i = 0; i < 2; i++) {
        asks[i] = (struct workload_ask){
            .number = i, .n_prompt = 40, .prefix = names[i], .n_prefix = 3, .prefix_tokens = 10
        };
        workload_tokens(&w, &asks[i], 0, 40, tokens[i]);
    }
    for (int i = 0; i < 40; i++) {
        assert_true(tokens[0][i] >= 0 && tokens[0][i] < 32768);
        assert_true(i >= 20 || tokens[0][i] == tokens[1][i]);
        n_equal += i >= 20 && tokens[0][i] == tokens[1][i];
    }
    assert_true(n_equal <= 1);
    workload_tokens(&w, &asks[0], 17, 5, part);
    assert_memory_equal(part, &tokens[0][17], sizeof(part));
    asks[0].n_prefix = 0;
    asks[0].prefix_tokens = 0;
    workload_tokens(&w, &asks[0], 0, 40, tokens[1]);
    assert_memory_not_equal(tokens[0], tokens[1], sizeof(tokens[0]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(has_the_figures_asked_for),
        cmocka_unit_test(one_seed_is_one_stream),
        cmocka_unit_test(services_do_not_touch_each_other),
        cmocka_unit_test(the_merge_is_in_order_and_complete),
        cmocka_unit_test(ties_go_by_source),
        cmocka_unit_test(runs_are_of_one_service),
        cmocka_unit_test(output_noise_is_as_asked_for),
        cmocka_unit_test(a_trace_is_replayed_exactly),
        cmocka_unit_test(scaling_brings_the_same_requests_sooner),
        cmocka_unit_test(prompts_begin_as_their_names_say),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
