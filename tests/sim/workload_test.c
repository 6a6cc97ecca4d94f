/* The stream is what it claims: rates, lengths, fractions; and one seed is one stream. */
#include "../test.h"
#include "base/num.h"
#include "base/time.h"
#include "sim/workload.h"

enum { N = 100000 };

static bool in_range(int64_t n, double low, double high)
{
    return (double)n > N * low && (double)n < N * high;
}

static void has_the_figures_asked_for(void **state)
{
    struct sim_workload w = { .seed = test_seed(4),
                              .n_requests = N,
                              .n_services = 2,
                              .cancelled = 0.25,
                              .cancel_ns_mean = 1000000,
                              .with_deadline = 0.1,
                              .deadline_ns = 77,
                              .prediction_noise = 0 };
    struct sim_stream stream;
    struct sim_ask ask;
    int64_t n_first = 0, n_cancelled = 0, n_deadline = 0, last_ns = 0, cancel_ns = 0, n_short = 0;
    (void)state;
    w.services[0] = sim_workload_conversations(30);
    w.services[1] = sim_workload_conversations(10);
    sim_workload_begin(&stream, &w);
    for (uint64_t k = 0; sim_workload_next(&stream, &ask); k++) {
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
    sim_workload_end(&stream);
    assert_true(last_ns > 2450 * TIME_NS_PER_S && last_ns < 2550 * TIME_NS_PER_S); /* N / 40 */
    assert_true(in_range(n_first, 0.74, 0.76));
    assert_true(in_range(n_short, 0.49, 0.51)); /* the median */
    assert_true(in_range(n_cancelled, 0.24, 0.26));
    assert_true(cancel_ns / n_cancelled > 970000 && cancel_ns / n_cancelled < 1030000);
    assert_true(in_range(n_deadline, 0.095, 0.105));
}

static void one_seed_is_one_stream(void **state)
{
    struct sim_workload w = {
        .seed = 3, .n_requests = 1000, .n_services = 1, .prediction_noise = 0.5
    };
    struct sim_stream a, b;
    struct sim_ask x, y;
    int n_other = 0;
    (void)state;
    w.services[0] = sim_workload_conversations(5);
    struct sim_workload other = w;
    other.seed = 4;
    sim_workload_begin(&a, &w);
    sim_workload_begin(&b, &w);
    while (sim_workload_next(&a, &x)) {
        assert_true(sim_workload_next(&b, &y));
        assert_memory_equal(&x, &y, sizeof(x));
    }
    sim_workload_end(&a);
    sim_workload_end(&b);
    sim_workload_begin(&a, &w);
    sim_workload_begin(&b, &other);
    while (sim_workload_next(&a, &x) && sim_workload_next(&b, &y))
        n_other += x.n_prompt != y.n_prompt;
    sim_workload_end(&a);
    sim_workload_end(&b);
    assert_true(n_other > 900);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(has_the_figures_asked_for),
        cmocka_unit_test(one_seed_is_one_stream),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
