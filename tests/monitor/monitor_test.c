/* The sliding window per service, against sums over a list. */
#include "test.h"

#include "base/num.h"
#include "base/rng.h"
#include "monitor/monitor.h"

#define S INT64_C(1000000000)

static bool near(double a, double b)
{
    double away = a < b ? b - a : a - b;
    return away <= 1e-9 * (b < 0 ? -b : b) + 1e-12;
}

static void test_by_hand(void **state)
{
    (void)state;
    struct monitor_service services[2];
    struct monitor monitor;
    struct monitor_reading r;
    monitor_init(&monitor, services, 2, 10 * S, 100 * S);
    monitor_arrived(&monitor, 0, 101 * S, 100);
    monitor_arrived(&monitor, 0, 115 * S, 300);
    monitor_arrived(&monitor, 1, 115 * S, 7);
    monitor_ended(&monitor, 0,
                  &(struct monitor_end){ 118 * S, 4 * S, 1 * S, 2 * S, 50, true, true });
    monitor_ended(&monitor, 0,
                  &(struct monitor_end){ 119 * S, 6 * S, 2 * S, 2 * S, 70, true, false });
    monitor_ended(&monitor, 0, &(struct monitor_end){ 119 * S, 9 * S, 0, 2 * S, 3, false, true });
    monitor_read(&monitor, 0, 120 * S, &r);
    assert_true(near(r.window_s, 20) && near(r.rate, 0.1));
    assert_true(near(r.prompt.mean, 200) && near(r.prompt.deviation, 100));
    assert_true(near(r.output.mean, 60) && near(r.output.deviation, 10));
    assert_true(near(r.latency_s.mean, 5) && near(r.latency_s_max, 6) && near(r.ttft_s.mean, 1.5));
    assert_true(near(r.normalized.mean, 2.5) && near(r.solo_s.mean, 2));
    assert_int_equal(r.n_failed, 1);
    assert_true(near(r.attainment, 1.0 / 3)); /* the failed one is a miss */
    monitor_read(&monitor, 1, 120 * S, &r);
    assert_true(near(r.rate, 0.05) && near(r.attainment, 1));
    assert_int_equal(r.n_done, 0);
    monitor_read(&monitor, 0, 1000 * S, &r); /* everything is forgotten */
    assert_true(r.rate == 0 && r.prompt.n == 0 && r.output.mean == 0);
    assert_true(near(r.window_s, 310)); /* 31 bins are over; the last has just begun */
}

static void test_profiles(void **state)
{
    (void)state;
    struct monitor_service service;
    struct monitor monitor;
    struct monitor_reading r;
    monitor_init(&monitor, &service, 1, S, 0);
    monitor_read(&monitor, 0, 0, &r);
    assert_int_equal(r.perf.c1_ps, 0);
    assert_true(r.rate == 0); /* no time has passed */
    monitor_profile(&monitor, 0, &(struct perf){ .c1_ps = 5, .prefill_scale = 1.25F });
    monitor_read(&monitor, 0, S, &r);
    assert_int_equal(r.perf.c1_ps, 5);
    assert_true(r.perf.prefill_scale == 1.25F);
}

static void test_equals_a_list(void **state)
{
    (void)state;
    enum { N = 4000 };
    static int64_t at[N];
    static int32_t lengths[N];
    struct monitor_service service;
    struct monitor monitor;
    struct rng rng;
    int64_t now = 0;
    rng_init(&rng, test_seed(4), 0);
    monitor_init(&monitor, &service, 1, S, 0);
    for (int i = 0; i < N; i++) {
        now += rng_below(&rng, i % 500 == 0 ? 100 * 1000000000U : 200000000);
        at[i] = now;
        lengths[i] = 1 + (int32_t)rng_below(&rng, 1000);
        monitor_arrived(&monitor, 0, now, lengths[i]);
        if (i % 7 != 0)
            continue;
        struct monitor_reading r;
        int64_t since = max_i64(0, now / S - MONITOR_BINS + 1) * S;
        double n = 0, sum = 0;
        for (int k = 0; k <= i; k++) {
            n += at[k] >= since;
            sum += at[k] >= since ? lengths[k] : 0;
        }
        monitor_read(&monitor, 0, now, &r);
        assert_int_equal(r.prompt.n, (int64_t)n);
        assert_true(near(r.prompt.mean, sum / n));
        assert_true(near(r.rate, now > since ? n / ((double)(now - since) * 1e-9) : 0));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_by_hand),
        cmocka_unit_test(test_profiles),
        cmocka_unit_test(test_equals_a_list),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
