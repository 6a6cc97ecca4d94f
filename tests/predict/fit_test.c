/* Fits find the model that made the samples: exactly without noise, closely with it. */
#include "test.h"
#include "base/rng.h"
#include "predict/perf.h"

enum { N_LENGTHS = 8, N_BATCHES = 9, N_SAMPLES = N_LENGTHS + N_BATCHES * 3 };

static const struct perf truth = {
    .floor_ps = 13900000000,
    .c1_ps = 3400000000,
    .k1_ps = 73800000,
    .q1_ps = 9000000,
    .c3_ps = { 11440000000, 8580000000 },
    .c2_ps = { 30000000, 75900000 },
    .k2_ps = { 374000, 354000 },
    .b_switch = 64,
    .prefill_scale = 1,
    .decode_scale = 1,
};

static int measure(const struct perf *perf, double noise, uint64_t seed,
                   struct perf_sample samples[N_SAMPLES])
{
    static const int32_t lengths[N_LENGTHS] = { 8, 32, 64, 256, 512, 1024, 2048, 4096 };
    static const int32_t batches[N_BATCHES] = { 1, 2, 4, 8, 32, 64, 96, 128, 256 };
    struct rng rng;
    int n = 0;
    rng_init(&rng, seed, 0);
    for (int i = 0; i < N_LENGTHS; i++)
        samples[n++].load = (struct perf_load){ .n_new = lengths[i],
                                                .n_new_squared = (int64_t)lengths[i] * lengths[i] };
    for (int i = 0; i < N_BATCHES; i++)
        for (int64_t k = 1; k <= 3; k++)
            samples[n++].load = (struct perf_load){ .n_decodes = batches[i],
                                                    .n_decode_context = batches[i] * k * k * 150 };
    for (int i = 0; i < n; i++)
        samples[i].ps = (int64_t)((double)perf_step_ps(perf, &samples[i].load) *
                                  (1 + noise * (2 * rng_unit(&rng) - 1)));
    return n;
}

static void assert_near(int64_t value, int64_t wanted, double tolerance)
{
    double error = (double)value / (double)wanted - 1;
    if (error < -tolerance || error > tolerance)
        fail_msg("%lld is not within %g of %lld", (long long)value, tolerance, (long long)wanted);
}

static void finds_the_coefficients(void **state)
{
    (void)state;
    struct perf_sample samples[N_SAMPLES];
    struct perf fit;
    int n = measure(&truth, 0, 0, samples);
    assert_true(perf_fit(samples, n, &fit));
    assert_near(fit.floor_ps, truth.floor_ps, 1e-6);
    assert_near(fit.c1_ps, truth.c1_ps, 1e-4);
    assert_near(fit.k1_ps, truth.k1_ps, 1e-4);
    assert_near(fit.q1_ps, truth.q1_ps, 1e-4);
    assert_int_equal(fit.b_switch, 64);
    for (int i = 0; i < 2; i++) {
        assert_near(fit.c3_ps[i], truth.c3_ps[i], 1e-4);
        assert_near(fit.c2_ps[i], truth.c2_ps[i], 1e-4);
        assert_near(fit.k2_ps[i], truth.k2_ps[i], 1e-4);
    }
}

static void predicts_within_the_noise(void **state)
{
    (void)state;
    uint64_t seed = test_seed(1);
    for (uint64_t round = 0; round < 50; round++) {
        struct perf_sample samples[N_SAMPLES], clean[N_SAMPLES];
        struct perf fit;
        int n = measure(&truth, 0.03, seed + round, samples);
        (void)measure(&truth, 0, 0, clean);
        assert_true(perf_fit(samples, n, &fit));
        for (int i = 0; i < n; i++)
            assert_near(perf_step_ps(&fit, &clean[i].load), clean[i].ps, 0.06);
    }
}

static void one_regime_and_no_floor_stay_so(void **state)
{
    (void)state;
    struct perf plain = truth;
    plain.floor_ps = 0;
    plain.b_switch = INT32_MAX;
    struct perf_sample samples[N_SAMPLES];
    struct perf fit;
    int n = measure(&plain, 0, 0, samples);
    assert_true(perf_fit(samples, n, &fit));
    assert_int_equal(fit.floor_ps, 0);
    assert_near(fit.c1_ps, truth.c1_ps, 1e-3);
    for (int i = 0; i < n; i++)
        assert_near(perf_step_ps(&fit, &samples[i].load), samples[i].ps, 1e-6);
}

static void does_with_little(void **state)
{
    (void)state;
    struct perf_sample samples[] = {
        { { .n_new = 100, .n_new_squared = 10000 }, 1000000 },
        { { .n_new = 100, .n_new_squared = 10000 }, 1000000 },
        { { .n_decodes = 1, .n_decode_context = 50 }, 300000 },
    };
    struct perf fit;
    assert_true(perf_fit(samples, 3, &fit));
    assert_near(perf_step_ps(&fit, &samples[0].load), 1000000, 1e-6);
    assert_near(perf_step_ps(&fit, &samples[2].load), 300000, 1e-6);
    assert_false(perf_fit(samples, 2, &fit)); /* no decode at all */
    assert_false(perf_fit(samples + 2, 1, &fit));
    assert_false(perf_fit(samples, 0, &fit));
}

/* A model that predicts 100 for prompts measured at 80, 100, 125: errors +25%, 0, -20%. */
static void errors_by_hand(void **state)
{
    (void)state;
    const struct perf flat = {
        .c1_ps = 100, .c3_ps = { 7, 7 }, .b_switch = 9, .prefill_scale = 1, .decode_scale = 1
    };
    const struct perf_sample samples[] = {
        { { .n_new = 5 }, 80 },
        { { .n_new = 5 }, 100 },
        { { .n_new = 5 }, 125 },
        { { .n_decodes = 1 }, 14 },
    };
    struct perf_errors e;
    perf_errors_of(&flat, samples, 4, true, &e);
    assert_int_equal(e.n, 3);
    assert_true(e.rmse_ps > 18.48 && e.rmse_ps < 18.49); /* sqrt((400 + 0 + 625) / 3) */
    assert_true(e.mean_abs > 0.1499 && e.mean_abs < 0.1501);
    assert_true(e.bias > 0.0166 && e.bias < 0.0167 && e.worst == 0.25);
    assert_true(e.low == 0.8 && e.high == 1.25);
    perf_errors_of(&flat, samples, 4, false, &e);
    assert_true(e.n == 1 && e.worst == 0.5 && e.low == 2 && e.high == 2);
    perf_errors_of(&flat, samples, 3, false, &e);
    assert_int_equal(e.n, 0);
}

/* 90% of the samples that the fit has not seen are in the interval, at any noise: over many draws
 * of 40 and 40. */
static void intervals_hold(void **state)
{
    (void)state;
    struct rng rng;
    int n_within = 0, n = 0;
    rng_init(&rng, test_seed(60), 0);
    for (int draw = 0; draw < 200; draw++) {
        struct perf_sample samples[120];
        double noise = 0.02 + 0.2 * rng_unit(&rng);
        for (int i = 0; i < 120; i++) {
            struct perf_load load = { .n_new = 16 + (int32_t)rng_below(&rng, 500) };
            if (i % 2 == 0)
                load = (struct perf_load){ .n_decodes = 1 + (int32_t)rng_below(&rng, 32) };
            double ps = load.n_new > 0 ? 5e7 + 1e6 * load.n_new : 4e7 + 3e6 * load.n_decodes;
            samples[i] =
                (struct perf_sample){ load, (int64_t)(ps * (1 + noise * (rng_unit(&rng) - 0.3))) };
        }
        struct perf perf;
        struct perf_errors e;
        assert_true(perf_fit(samples, 80, &perf));
        perf_errors_of(&perf, samples, 80, false, &e);
        perf_interval_of(samples, 80, false, &e);
        n_within += (int)(perf_within(&perf, samples + 80, 40, false, &e) * 20 + 0.5);
        n += 20;
        assert_true(e.low < 1 && e.high > 1 && e.within >= 0.85);
    }
    double part = (double)n_within / n;
    if (part < 0.87 || part > 0.97)
        fail_msg("%.3f of what was not seen lies in intervals of 90%%", part);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_the_coefficients),
        cmocka_unit_test(predicts_within_the_noise),
        cmocka_unit_test(one_regime_and_no_floor_stay_so),
        cmocka_unit_test(does_with_little),
        cmocka_unit_test(errors_by_hand),
        cmocka_unit_test(intervals_hold),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
