/* Times of groups against the formula by hand, and sums between and beyond the measured sizes. */
#include "test.h"

#include "predict/group.h"
#include "predict/perf.h"

static const struct predict_group group = {
    .n_layers = 10,
    .width = 256, /* a row has 1,024 bytes */
    .n_sums = 2,
    .sums = { { 2, 3, { 64, 1024, 1 << 20 }, { 1000, 2000, 1025000 } },
              { 4, 2, { 1024, 1 << 20 }, { 3000, 1026000 } } },
};

static void sums_lie_on_lines(void **state)
{
    const struct predict_group_sums *sums = predict_group_find(&group, 2);
    (void)state;
    assert_null(predict_group_find(&group, 3));
    assert_int_equal(predict_group_find(&group, 4)->ps[0], 3000);
    assert_int_equal(predict_group_sum_ps(sums, 64), 1000);
    assert_int_equal(predict_group_sum_ps(sums, 544), 1500);
    assert_int_equal(predict_group_sum_ps(sums, 1024), 2000);
    assert_int_equal(predict_group_sum_ps(sums, 1 << 20), 1025000);
    assert_int_equal(predict_group_sum_ps(sums, 2 << 20), 2049000); /* 1,000 ps for each KiB */
    assert_int_equal(predict_group_sum_ps(sums, 0), 933);
    const struct predict_group_sums steep = { 2, 2, { 1000, 2000 }, { 10, 5000 } };
    assert_int_equal(predict_group_sum_ps(&steep, 0), 0); /* never less */
}

static void a_rank_has_its_part_and_two_sums_a_layer(void **state)
{
    /* On the lines a sum of n rows takes 1,000 + 1,000 n, and a step has 20 sums. */
    const struct perf rank = { 4000,        6000,       700, 80, { 90000, 10000 },
                               { 110, 12 }, { 13, 14 }, 64,  1,  1 };
    const double beside[2] = { 1.5, 1 };
    struct perf out;
    (void)state;
    assert_true(predict_group_perf(&group, &rank, beside, 2, &out));
    assert_int_equal(out.c1_ps, 6000 * 3 / 4 + 20000);
    assert_int_equal(out.floor_ps, 4000 * 3 / 4 + 20000);
    assert_int_equal(out.k1_ps, 700 * 3 / 4 + 20000);
    assert_int_equal(out.q1_ps, 60);
    assert_int_equal(out.c3_ps[0], 45000 + 20000);
    assert_int_equal(out.c3_ps[1], 5000 + 20000);
    assert_int_equal(out.c2_ps[0], 55 + 20000);
    assert_int_equal(out.k2_ps[1], 7);
    assert_int_equal(out.b_switch, 64);
    const struct perf_load load = { .n_decodes = 1 };
    assert_int_equal(perf_step_ps(&out, &load), 45000 + 55 + 2 * 20000);
    assert_true(predict_group_perf(&group, &rank, beside, 4, &out));
    assert_int_equal(out.c3_ps[0], 22500 + 20 * 2000);
    assert_false(predict_group_perf(&group, &rank, beside, 8, &out));
    struct perf huge = rank;
    huge.c1_ps = INT64_C(1) << 60;
    assert_false(predict_group_perf(&group, &huge, beside, 2, &out));
    /* Sums beyond all integers, on the line of the longest times that a profile may have. */
    const struct predict_group endless = {
        512, 1 << 16, 1, { { 2, 2, { 0, 1 }, { 0, INT64_C(1) << 50 } } }
    };
    assert_true(predict_group_sum_ps(&endless.sums[0], 1 << 27) > INT64_C(1) << 60);
    assert_false(predict_group_perf(&endless, &rank, beside, 2, &out));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_lie_on_lines),
        cmocka_unit_test(a_rank_has_its_part_and_two_sums_a_layer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
