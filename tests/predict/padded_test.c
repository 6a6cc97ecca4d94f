/* The padded view equals the paged one where the inputs sum to N L; its closed form is the sum of
 * its steps; its fit finds what made the samples. */
#include "test.h"
#include "base/rng.h"
#include "predict/padded.h"

static struct padded draw(struct rng *rng, bool is_plain)
{
    struct padded p = { rng_below(rng, 90000000),
                        0,
                        0,
                        rng_below(rng, 1000000000),
                        rng_below(rng, 900000),
                        rng_below(rng, 90000000),
                        0,
                        1 + rng_below(rng, 1000000000) };
    if (!is_plain) {
        p.p2_ps = rng_below(rng, 90000000);
        p.p3_ps = rng_below(rng, 9000000);
        p.d3_ps = rng_below(rng, 900000);
    }
    return p;
}

static void equals_the_paged_view(void **state)
{
    (void)state;
    struct rng rng;
    rng_init(&rng, test_seed(1), 0);
    for (int round = 0; round < 2000; round++) {
        struct padded padded = draw(&rng, true), back;
        struct perf perf;
        assert_true(padded_to_perf(&padded, &perf));
        assert_true(padded_of_perf(&perf, 8, &back));
        assert_memory_equal(&padded, &back, sizeof(padded));
        int32_t n = 1 + (int32_t)rng_below(&rng, 64), l = 1 + (int32_t)rng_below(&rng, 2000);
        int32_t s = 1 + (int32_t)rng_below(&rng, 300);
        const struct perf_load prefill = { .n_new = n * l, .n_new_squared = (int64_t)n * l * l };
        assert_int_equal(padded_prefill_ps(&padded, n, l), perf_step_ps(&perf, &prefill));
        assert_int_equal(padded_serve_ps(&padded, n, l, s),
                         perf_step_ps(&perf, &prefill) +
                             perf_decode_span_ps(&perf, n, (int64_t)n * (l + 1), s - 1));
    }
}

static void the_closed_form_is_the_sum(void **state)
{
    (void)state;
    struct rng rng;
    rng_init(&rng, test_seed(2), 0);
    for (int round = 0; round < 2000; round++) {
        struct padded p = draw(&rng, false);
        int32_t n = 1 + (int32_t)rng_below(&rng, 64), l = (int32_t)rng_below(&rng, 2000);
        int32_t s = (int32_t)rng_below(&rng, 300);
        int64_t sum = padded_prefill_ps(&p, n, l);
        for (int32_t i = 1; i < s; i++)
            sum += padded_decode_ps(&p, n, l + i);
        assert_int_equal(padded_serve_ps(&p, n, l, s), sum);
    }
}

static void says_when_it_is_not_exact(void **state)
{
    (void)state;
    struct perf perf = { .c1_ps = 10,
                         .k1_ps = 2,
                         .c3_ps = { 7, 5 },
                         .c2_ps = { 1, 3 },
                         .b_switch = 10,
                         .prefill_scale = 1,
                         .decode_scale = 2 };
    struct padded p;
    assert_true(padded_of_perf(&perf, 9, &p));
    assert_true(p.d4_ps == 14 && p.d2_ps == 2 && p.p4_ps == 10);
    assert_true(padded_of_perf(&perf, 10, &p));
    assert_true(p.d4_ps == 10 && p.d2_ps == 6);
    perf.q1_ps = 1;
    assert_false(padded_of_perf(&perf, 9, &p));
    perf.q1_ps = 0;
    perf.floor_ps = 11;
    assert_false(padded_of_perf(&perf, 9, &p));
    p.d3_ps = 1;
    assert_false(padded_to_perf(&p, &perf));
}

static void fits_both_planes(void **state)
{
    (void)state;
    struct rng rng;
    rng_init(&rng, test_seed(3), 0);
    for (int round = 0; round < 50; round++) {
        struct padded truth = draw(&rng, false), fit;
        struct padded_sample samples[2 * 8 * 6];
        int n = 0;
        for (int32_t b = 1; b <= 32; b *= 2)
            for (int32_t l = 16; l <= 2048; l *= 2)
                for (int k = 0; k < 2; k++) {
                    samples[n] = (struct padded_sample){ b, l, k == 0, 0 };
                    samples[n].ps =
                        k == 0 ? padded_prefill_ps(&truth, b, l) : padded_decode_ps(&truth, b, l);
                    n++;
                }
        assert_true(padded_fit(samples, n, &fit));
        for (int i = 0; i < n; i++) {
            int64_t ps = samples[i].is_prefill
                             ? padded_prefill_ps(&fit, samples[i].n, samples[i].n_length)
                             : padded_decode_ps(&fit, samples[i].n, samples[i].n_length);
            double error = (double)ps / (double)samples[i].ps - 1;
            assert_true(error > -1e-4 && error < 1e-4);
        }
        assert_false(padded_fit(samples, 6, &fit));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equals_the_paged_view),
        cmocka_unit_test(the_closed_form_is_the_sum),
        cmocka_unit_test(says_when_it_is_not_exact),
        cmocka_unit_test(fits_both_planes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
