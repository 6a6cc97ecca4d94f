/* Operations, bytes and limits of passes that were counted by hand. */
#include "../test.h"
#include "roofline/work.h"

static const struct compute_op ops[] = {
    { .kind = COMPUTE_MATMUL, .weight = 0, .bias = -1, .weight2 = -1 },
    { .kind = COMPUTE_ATTEND, .weight = -1, .bias = -1, .weight2 = -1 },
    { .kind = COMPUTE_NORM, .weight = -1, .bias = -1, .weight2 = -1 },
    { .kind = COMPUTE_LOGITS, .src = 1, .weight = 1, .bias = -1, .weight2 = -1 },
};
static const bool is_logit_rows[] = { false, true };

/* A matrix 64 x 32 of Q8_0 (34 bytes a row), one of 10 x 32 of F32, 4 heads of 8 over 2 of KV. */
static struct compute_program make_program(void)
{
    return (struct compute_program){ .n_ops = 4,
                                     .ops = ops,
                                     .is_logit_rows = is_logit_rows,
                                     .n_heads = 4,
                                     .n_kv_heads = 2,
                                     .head_dim = 8 };
}

static const struct tensor q8 = { .dtype = DTYPE_Q8_0, .n_rows = 64, .n_columns = 32 };
static const struct tensor f32 = { .dtype = DTYPE_F32, .n_rows = 10, .n_columns = 32 };
static const struct tensor *const tensors[] = { &q8, &f32 };

static void a_decode_is_counted(void **state)
{
    (void)state;
    struct compute_program program = make_program();
    const struct roofline_point point = { ROOFLINE_DECODE, 3, 1, 9 };
    const struct roofline_speeds speeds = { 1e3, { 1e3, 5e3, 2e3, 4e3 } };
    struct roofline_limit limit;
    roofline_work_limit_of(&program, tensors, &point, 2, &speeds, &limit);
    double matrix = 2.0 * 64 * 32 * 3, logits = 2.0 * 10 * 32 * 3, attention = 4.0 * 4 * 8 * 10 * 3;
    assert_true(limit.ops == matrix + logits + attention);
    double bytes[] = { 64 * 34, 10 * 32 * 4, 2.0 * 2 * 8 * 2 * 10 * 3 };
    assert_true(limit.bytes == bytes[0] + bytes[1] + bytes[2]);
    double s = matrix / 2e3 + logits / 1e3 + attention / 1e3;
    assert_true(limit.arithmetic_s > s - 1e-9 && limit.arithmetic_s < s + 1e-9);
    /* each by itself: the matrix by arithmetic (6.1 s of 2.2), the logits by arithmetic (1.9 of
     * 1.3), attention by arithmetic (3.8 of 1.9) */
    assert_true(limit.composite_s == limit.arithmetic_s);
    assert_true(limit.larger_s == limit.arithmetic_s);
    assert_true(roofline_work_fraction(&point, &limit, 2 * limit.larger_s) == 0.5);
    assert_int_equal(roofline_work_tokens(&point), 3);
}

static void bytes_bind_where_memory_is_slow(void **state)
{
    (void)state;
    struct compute_program program = make_program();
    const struct roofline_point point = { ROOFLINE_DECODE, 1, 1, 9 };
    const struct roofline_speeds speeds = { 1e2, { 1e6, 1e6, 1e6, 1e6 } };
    struct roofline_limit limit;
    roofline_work_limit_of(&program, tensors, &point, 2, &speeds, &limit);
    assert_true(limit.larger_s == limit.bytes / 1e2);
    assert_true(limit.composite_s >= limit.larger_s * (1 - 1e-12));
}

static void a_prompt_sees_what_lies_before_it(void **state)
{
    (void)state;
    struct compute_program program = make_program();
    struct roofline_point point = { ROOFLINE_PREFILL, 1, 4, 2 };
    const struct roofline_speeds speeds = { 1e3, { 1e3, 1e3, 1e3, 1e3 } };
    struct roofline_limit limit;
    roofline_work_limit_of(&program, tensors, &point, 2, &speeds, &limit);
    double pairs = 3 + 4 + 5 + 6;
    double matrix = 2.0 * 64 * 32 * 4, logits = 2.0 * 10 * 32; /* logits of the last row alone */
    assert_true(limit.ops == matrix + logits + 4.0 * 4 * 8 * pairs);
    assert_int_equal(roofline_work_tokens(&point), 4);
    struct compute_op windowed[COUNT_OF(ops)];
    memcpy(windowed, ops, sizeof(ops));
    program.ops = windowed;
    windowed[1].n = 4; /* rows see 3, 4, 4, 4; keys from position -1 + ... : all 6 at most 7 */
    roofline_work_limit_of(&program, tensors, &point, 2, &speeds, &limit);
    assert_true(limit.ops == matrix + logits + 4.0 * 4 * 8 * 15);
    assert_true(roofline_work_fraction(&point, &limit, 0) == 0);
    double bytes = limit.bytes;
    windowed[1].n = INT32_MAX; /* as good as none, as long as nothing overflows */
    roofline_work_limit_of(&program, tensors, &point, 2, &speeds, &limit);
    assert_true(limit.ops == matrix + logits + 4.0 * 4 * 8 * pairs && limit.bytes == bytes);
}

static void types_have_their_peaks(void **state)
{
    (void)state;
    assert_int_equal(roofline_work_peak_of(DTYPE_F32), CPU_LIMIT_FLOAT);
    assert_int_equal(roofline_work_peak_of(DTYPE_BF16), CPU_LIMIT_HALF);
    assert_int_equal(roofline_work_peak_of(DTYPE_F8_E4M3), CPU_LIMIT_FLOAT);
    assert_int_equal(roofline_work_peak_of(DTYPE_Q8_0), CPU_LIMIT_INT8);
    assert_int_equal(roofline_work_peak_of(DTYPE_Q6_K), CPU_LIMIT_INT8);
    assert_int_equal(roofline_work_peak_of(DTYPE_Q4_0), CPU_LIMIT_INT8_SHORT);
    assert_int_equal(roofline_work_peak_of(DTYPE_Q4_K), CPU_LIMIT_INT8_SHORT);
}

static void medians_leave_values_alone(void **state)
{
    (void)state;
    const double values[] = { 5, 1, 4, 2 };
    assert_true(roofline_work_median(values, 4) == 3);
    assert_true(roofline_work_median(values, 3) == 4);
    assert_true(roofline_work_median(values, 0) == 0);
    assert_true(values[0] == 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_decode_is_counted),
        cmocka_unit_test(bytes_bind_where_memory_is_slow),
        cmocka_unit_test(a_prompt_sees_what_lies_before_it),
        cmocka_unit_test(types_have_their_peaks),
        cmocka_unit_test(medians_leave_values_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
