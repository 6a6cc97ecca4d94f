/* Aladdin's Equations 5 to 8, worked by hand. */
#include "test.h"

#include "base/num.h"
#include "place/workers.h"

/* Steps of 10 ms + 1 ms a request + 1 us a token of context; twice as fast on two devices. */
static const struct perf one = { .floor_ps = 0,
                                 .c1_ps = 20000000000,
                                 .k1_ps = 100000000,
                                 .c3_ps = { 10000000000, 10000000000 },
                                 .c2_ps = { 1000000000, 1000000000 },
                                 .k2_ps = { 1000000, 1000000 },
                                 .b_switch = 1000,
                                 .prefill_scale = 1,
                                 .decode_scale = 1 };

static struct perf part_of(int64_t k)
{
    struct perf perf = one;
    for (int r = 0; r < 2; r++) {
        perf.c3_ps[r] /= k;
        perf.c2_ps[r] /= k;
        perf.k2_ps[r] /= k;
    }
    return perf;
}

/* 1,000 bytes a device, weights of 600, a byte a token; 100 tokens in, 200 out: mean context 200.
 */
static struct workers_ask ask_of(int64_t tpot_ms)
{
    return (struct workers_ask){ .device_bytes = 1000,
                                 .weights_bytes = 600,
                                 .kv_bytes_per_token = 1,
                                 .n_prompt = 100,
                                 .n_output = 200,
                                 .tpot_ns = tpot_ms * 1000000 };
}

static bool near(double a, double b)
{
    return a - b < 1e-6 * b && b - a < 1e-6 * b;
}

static void test_equation_6(void **state)
{
    (void)state;
    const struct workers_option options[] = { { 1, one }, { 2, part_of(2) } };
    struct workers_answer a[2];
    /* One: 400 bytes hold 2 requests of 200; 2 / 12.4 ms = 161.29 tokens/s.
     * Two: 1,400 bytes hold 7, the step lasts (10 + 7 * 1.2) / 2 = 9.2 ms, and 7 / (2 * 9.2
     * ms) = 380.43. */
    struct workers_ask ask = ask_of(0);
    assert_int_equal(place_workers_configure(&ask, options, 2, a), 1);
    assert_true(near(a[0].n_in_memory, 2) && near(a[1].n_in_memory, 7));
    assert_true(near(a[0].tokens_per_s, 2 / 0.0124));
    assert_true(near(a[1].tokens_per_s, 7 / (2 * 0.0092)));
    assert_int_equal(a[1].bound, WORKERS_BY_MEMORY);
    /* With 8 ms, two devices take B = (8 - 5) / 0.6 = 5 requests, 5 / (2 * 8 ms). One device is too
     * slow for its first. */
    ask = ask_of(8);
    assert_int_equal(place_workers_configure(&ask, options, 2, a), 1);
    assert_int_equal(a[0].bound, WORKERS_TOO_SLOW);
    assert_int_equal(a[1].bound, WORKERS_BY_TARGET);
    assert_true(near(a[1].n_in_target, 5));
    assert_true(near(a[1].tokens_per_s, 5 / (2 * 0.008)));
    /* With 5 ms not even one fits the step; with weights of 2,000 there is no room. */
    ask = ask_of(5);
    assert_int_equal(place_workers_configure(&ask, options, 2, a), -1);
    ask = ask_of(50);
    ask.weights_bytes = 2000;
    assert_int_equal(place_workers_configure(&ask, options, 2, a), -1);
    assert_int_equal(a[0].bound, WORKERS_NO_ROOM);
}

static void test_prompts_and_price(void **state)
{
    (void)state;
    const struct workers_option options[] = { { 1, one } };
    struct workers_answer a;
    struct workers_ask ask = ask_of(0);
    ask.counts_prefill = true; /* 30 ms of prompt over 200 tokens: 0.15 ms a step and request */
    ask.price = 3.6;           /* an hour: 0.001 a second */
    assert_int_equal(place_workers_configure(&ask, options, 1, &a), 0);
    assert_true(near(a.tokens_per_s, 2 / 0.0127));
    assert_true(near(a.price_per_million, 0.001 * 1e6 * 0.0127 / 2));
    ask.is_safe = true; /* 300 bytes a request: 4 / 3 of one */
    assert_int_equal(place_workers_configure(&ask, options, 1, &a), 0);
    assert_true(near(a.n_in_memory, 4.0 / 3));
}

static void test_regimes(void **state)
{
    (void)state;
    /* From 4 requests on the constant is 4 ms less and the slope 2.2 ms: at b = 4 both are 14.8. */
    struct perf perf = one;
    perf.b_switch = 4;
    perf.c3_ps[1] = 6000000000;
    perf.c2_ps[1] = 2000000000;
    const struct workers_option options[] = { { 1, perf } };
    struct workers_answer a;
    struct workers_ask ask = ask_of(17);
    ask.device_bytes = 1 << 20;
    assert_int_equal(place_workers_configure(&ask, options, 1, &a), 0);
    assert_true(near(a.n_in_target, 5)); /* 6 + 5 * 2.2 */
    ask.tpot_ns = 13600000;
    assert_int_equal(place_workers_configure(&ask, options, 1, &a), 0);
    assert_true(near(a.n_in_target, 3)); /* 10 + 3 * 1.2 */
}

static void test_equation_5(void **state)
{
    (void)state;
    static const int32_t n[] = { 1, 2, 4, 8 };
    struct workers_split split;
    int64_t compute[4], reduce[4];
    for (int i = 0; i < 4; i++) {
        compute[i] = 80000000 / n[i] + 5000000;
        reduce[i] = 16000000 * (int64_t)(n[i] - 1) / n[i];
    }
    assert_true(place_workers_fit_split(n, compute, reduce, 4, &split));
    assert_true(near(split.k4_ps, 80e6) && near(split.c4_ps, 5e6) && near(split.ka_ps, 16e6));
    assert_int_equal(place_workers_step_ps(&split, 4), 20000000 + 5000000 + 12000000);
    assert_false(place_workers_fit_split(n, compute, reduce, 1, &split));
    static const int32_t same[] = { 2, 2 };
    assert_false(place_workers_fit_split(same, compute, reduce, 2, &split));
}

static void test_equation_7(void **state)
{
    (void)state;
    static const struct workers_point points[] = {
        { 1, 3 }, { 10, 5 }, { 20, 8 }, { 30, 11 }, { 40, 14 }
    };
    struct workers_line line;
    assert_true(place_workers_fit(points, 5, 10, &line)); /* the first is below R */
    assert_true(near(line.k5, 0.3) && near(line.c5, 2));
    assert_int_equal(place_workers_count(&line, 20), 8); /* exactly: none more */
    assert_int_equal(place_workers_count(&line, 20.1), 9);
    assert_int_equal(place_workers_count(&line, 100), 32);
    assert_int_equal(place_workers_count(&line, 2), 5); /* below R, as many as R needs */
    assert_false(place_workers_fit(points, 5, 35, &line));
    assert_false(place_workers_fit(points, 0, 0, &line));
    /* Deviation as large as the mean, 50 s: 1.96^2 / 0.01 / 50 = 7.68 requests/s. */
    assert_true(near(place_workers_rate_min(300, 300, 50, 0.1), 7.6832));
}

static void test_equation_8(void **state)
{
    (void)state;
    const struct workers_line line = { 0.1, 0.5, 0 };
    /* 1,000/s need 101 workers. A pass keeps up with 300/s, so there are 4 groups of 250/s,
     * ceil(25.5) = 26. */
    struct workers_groups g = place_workers_group(&line, 1000, 300, 0.1);
    assert_int_equal(g.n_groups, 4);
    assert_int_equal(g.n_workers, 104);
    assert_int_equal(g.n_extra, 3);
    assert_false(g.is_slow);
    /* 20 groups would suffice, and 101 workers at 10% allow floor(2 * 0.1 * 101) = 20. They do not
     * allow 40. */
    assert_int_equal(place_workers_group(&line, 1000, 50, 0.1).n_groups, 20);
    g = place_workers_group(&line, 1000, 25, 0.1);
    assert_int_equal(g.n_groups, 20);
    assert_true(g.is_slow);
    g = place_workers_group(&line, 200, 300, 0.1);
    assert_int_equal(g.n_groups, 1);
    assert_int_equal(g.n_extra, 0);
    /* The same for workers that are there: 24 allow floor(2 * 0.1 * 24) = 4. */
    assert_int_equal(place_workers_n_groups(101, 1000, 300, 0.1), 4);
    assert_int_equal(place_workers_n_groups(24, 1000, 300, 0.1), 4);
    assert_int_equal(place_workers_n_groups(24, 1000, 100, 0.1), 4);
    assert_int_equal(place_workers_n_groups(24, 200, 100, 0.1), 2);
    assert_int_equal(place_workers_n_groups(24, 99, 100, 0.1), 1);
    assert_int_equal(place_workers_n_groups(4, 1000, 100, 0.1), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_equation_6), cmocka_unit_test(test_prompts_and_price),
        cmocka_unit_test(test_regimes),    cmocka_unit_test(test_equation_5),
        cmocka_unit_test(test_equation_7), cmocka_unit_test(test_equation_8),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
