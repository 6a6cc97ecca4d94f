/* Parts of a device: appendix A's slowdowns, between its columns, and jobs side by side by hand. */
#include "test.h"
#include "predict/perf.h"

static const struct perf perf = { .floor_ps = 13900000,
                                  .c1_ps = 3400000,
                                  .k1_ps = 73800,
                                  .q1_ps = 1000,
                                  .c3_ps = { 11440000, 8580000 },
                                  .c2_ps = { 30000, 75900 },
                                  .k2_ps = { 374, 354 },
                                  .b_switch = 64,
                                  .prefill_scale = 1,
                                  .decode_scale = 1 };

static double slowdown(double share, int what)
{
    const struct perf_share *table = perf_share_of(INT64_C(13476000000), 1);
    const struct perf_load loads[] = { { .n_new = 2048 },
                                       { .n_decodes = 32, .n_decode_context = 16384 },
                                       { .n_decodes = 128, .n_decode_context = 65536 } };
    struct perf part;
    perf_at_share(&perf, table, share, &part);
    return (double)perf_step_ps(&part, &loads[what]) / (double)perf_step_ps(&perf, &loads[what]);
}

static void assert_near(double value, double wanted)
{
    if (value < wanted - 0.002 || value > wanted + 0.002)
        fail_msg("%g is not %g", value, wanted);
}

static void at_the_columns_and_between(void **state)
{
    (void)state;
    assert_near(slowdown(0.3, 0), 2.66);
    assert_near(slowdown(0.3, 1), 1.42);
    assert_near(slowdown(0.3, 2), 1.81);
    assert_near(slowdown(0.5, 0), 1.64);
    assert_near(slowdown(0.8, 2), 1.06);
    assert_near(slowdown(1, 0), 1);
    assert_near(slowdown(1, 1), 1);
    assert_near(slowdown(0.45, 0), (2.01 + 1.64) / 2);
    assert_near(slowdown(0.95, 2), 1.015);
    assert_near(slowdown(0.15, 0), 5.32);
}

/* Llama-7B's TP4 row hides its shares; a 13B on one device has its own row. */
static void the_nearest_row_is_taken(void **state)
{
    (void)state;
    assert_near(perf_share_of(INT64_C(26000000000), 1)->prefill[0], 2.64);
    assert_near(perf_share_of(INT64_C(13000000000), 1)->prefill[0], 2.66);
    assert_near(perf_share_of(INT64_C(140000000000), 8)->prefill[0], 2.16);
    assert_near(perf_share_of(INT64_C(13476000000), 4)->prefill[0], 2.25);
    assert_near(perf_share_of(0, 0)->prefill[0], 2.25);
}

static void cores_are_inverse(void **state)
{
    (void)state;
    struct perf half;
    perf_at_share(&perf, &perf_share_cores, 0.5, &half);
    assert_int_equal(half.k1_ps, 2 * perf.k1_ps);
    assert_int_equal(half.c3_ps[0], 2 * perf.c3_ps[0]);
    perf_at_share(&perf, &perf_share_cores, 0.25, &half);
    assert_int_equal(half.k1_ps, 4 * perf.k1_ps);
}

/* A decode reads 13.5 GB in 10 ms: 1,350 GB/s of 2,000; a prefill beside it 13.5 GB in 50 ms: 270.
 * Together 0.81, so none waits. Two decodes: 1.35. */
static void side_by_side(void **state)
{
    (void)state;
    const struct perf_job decode = { 10000000000, INT64_C(13500000000), 0.4, false };
    const struct perf_job prefill = { 50000000000, INT64_C(13500000000), 0.6, true };
    struct perf_job jobs[2] = { decode, prefill };
    double factors[2];
    perf_contention(jobs, 2, 2e12, factors);
    assert_near(factors[0], 1);
    assert_near(factors[1], 1);
    jobs[1] = decode;
    perf_contention(jobs, 2, 2e12, factors);
    assert_near(factors[0], 1.35);
    assert_near(factors[1], 1.35);
    jobs[1] = prefill;
    jobs[1].share = 0.8; /* 1.2 of a device: the prefill is slower */
    perf_contention(jobs, 2, 2e12, factors);
    assert_near(factors[0], 1);
    assert_near(factors[1], 1.2);
    perf_contention(jobs, 1, 1e12, factors); /* alone: its own time */
    assert_near(factors[0], 1);
}

/* Measurements take precedence over bytes and shares, and the factors of several neighbours
 * multiply. */
static void side_by_side_as_measured(void **state)
{
    (void)state;
    struct perf_job jobs[3] = {
        { .ps = 1000000, .bytes = 100, .share = 0.5, .is_prefill = true, .beside = { 1.5, 1.25 } },
        { .ps = 1000000, .bytes = 100, .share = 0.5, .beside = { 2, 1.5 } },
        { .ps = 1000000, .bytes = 100, .share = 0.5 },
    };
    double factors[3];
    perf_contention(jobs, 2, 1e9, factors);
    assert_near(factors[0], 1.25);
    assert_near(factors[1], 2);
    perf_contention(jobs, 3, 1e9, factors);
    assert_near(factors[0], 1.25 * 1.25);
    assert_near(factors[1], 2 * 1.5);
    assert_near(factors[2], 1);
    perf_contention(jobs, 1, 1e9, factors);
    assert_near(factors[0], 1);
}

static void bytes_of_a_step(void **state)
{
    (void)state;
    const struct perf_load load = { .n_decodes = 2, .n_decode_context = 300, .n_new = 7 };
    assert_int_equal(perf_step_bytes(&load, 1000, 10), 4000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(at_the_columns_and_between), cmocka_unit_test(the_nearest_row_is_taken),
        cmocka_unit_test(cores_are_inverse),          cmocka_unit_test(side_by_side),
        cmocka_unit_test(side_by_side_as_measured),   cmocka_unit_test(bytes_of_a_step),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
