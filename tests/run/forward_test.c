/* The rotation's frequencies, against the formulas in double. */
#include "test.h"

#include "run/forward.h"
#include <math.h>

static void test_plain_and_linear(void **state)
{
    (void)state;
    struct model_spec spec = { .n_rope_dims = 16, .rope_base = 10000.0F };
    const struct tensor none = { 0 };
    float plain[8], linear[8];
    run_forward_frequencies(&spec, &none, 0, plain);
    spec.rope_scaling = (struct rope_scaling){ .kind = ROPE_SCALING_LINEAR, .factor = 4.0F };
    run_forward_frequencies(&spec, &none, 0, linear);
    for (int i = 0; i < 8; i++) {
        double expected = pow(10000.0, -2.0 * i / 16.0);
        assert_true(fabs((double)plain[i] / expected - 1.0) < 1e-6);
        assert_true(fabs((double)linear[i] * 4.0 / expected - 1.0) < 1e-6);
    }
}

/* Llama-3.1's numbers: short wavelengths stay, long ones are divided by 8, and those between are
 * blended. */
static void test_llama3(void **state)
{
    (void)state;
    struct model_spec spec = { .n_rope_dims = 128,
                               .rope_base = 500000.0F,
                               .rope_scaling = { ROPE_SCALING_LLAMA3, 8.0F, 1.0F, 4.0F, 8192 } };
    const struct tensor none = { 0 };
    float scaled[64];
    int n_kept = 0, n_divided = 0, n_blended = 0;
    run_forward_frequencies(&spec, &none, 0, scaled);
    for (int i = 0; i < 64; i++) {
        double plain = pow(500000.0, -2.0 * i / 128.0), ratio = (double)scaled[i] / plain,
               wavelength = 2.0 * M_PI / plain;
        n_kept += fabs(ratio - 1.0) < 1e-6;
        n_divided += fabs(ratio - 0.125) < 1e-6;
        n_blended += ratio > 0.1251 && ratio < 0.9999;
        if (wavelength < 8192.0 / 4.0)
            assert_true(fabs(ratio - 1.0) < 1e-6);
        if (wavelength > 8192.0)
            assert_true(fabs(ratio - 0.125) < 1e-6);
    }
    assert_int_equal(n_kept + n_divided + n_blended, 64);
    assert_true(n_blended > 3);
}

/* The limits of 8 frequencies of base 10000 in a context of 1024: 2 of them turn more than 32
 * times, and from the fifth on they turn less than once. */
static void test_yarn(void **state)
{
    (void)state;
    struct model_spec spec = { .n_rope_dims = 16,
                               .rope_base = 10000.0F,
                               .rope_scaling = { .kind = ROPE_SCALING_YARN,
                                                 .factor = 4.0F,
                                                 .n_positions_original = 1024,
                                                 .attention_factor = 1.25F,
                                                 .beta_fast = 32.0F,
                                                 .beta_slow = 1.0F } };
    const struct tensor none = { 0 };
    float whole[8], exact[8];
    assert_true(run_forward_frequencies(&spec, &none, 0, whole) == 1.25F);
    spec.rope_scaling.is_untruncated = true;
    run_forward_frequencies(&spec, &none, 0, exact);
    double low = 16.0 * log(1024.0 / (32.0 * 2.0 * M_PI)) / (2.0 * log(10000.0));
    double high = 16.0 * log(1024.0 / (2.0 * M_PI)) / (2.0 * log(10000.0));
    for (int i = 0; i < 8; i++) {
        double plain = pow(10000.0, -2.0 * i / 16.0);
        double ramp = fmin(fmax((i - floor(low)) / (ceil(high) - floor(low)), 0.0), 1.0);
        double ramp_exact = fmin(fmax((i - low) / (high - low), 0.0), 1.0);
        assert_true(fabs((double)whole[i] / (plain * (1.0 - 0.75 * ramp)) - 1.0) < 1e-6);
        assert_true(fabs((double)exact[i] / (plain * (1.0 - 0.75 * ramp_exact)) - 1.0) < 1e-6);
    }
    assert_true(whole[0] == 1.0F && fabs((double)whole[7] * 4.0 / pow(10, -3.5) - 1.0) < 1e-6);
}

static void test_factors_of_the_file_divide(void **state)
{
    (void)state;
    struct model_spec spec = { .n_rope_dims = 4, .rope_base = 100.0F };
    const float factors[2] = { 2.0F, 5.0F };
    const struct tensor tensor = { factors, DTYPE_F32, 1, 2, 8, false };
    float out[2];
    run_forward_frequencies(&spec, &tensor, 0, out);
    assert_true(fabs((double)out[0] - 0.5) < 1e-7);
    assert_true(fabs((double)out[1] - 0.1 / 5.0) < 1e-7);
}

/* Layers with full attention have the second rope. */
static void test_two_ropes(void **state)
{
    (void)state;
    struct model_spec spec = { .n_rope_dims = 4,
                               .rope_base = 100.0F,
                               .rope_base_full = 10000.0F,
                               .rope_scaling = { .kind = ROPE_SCALING_LONG,
                                                 .attention_factor = 1.25F },
                               .rope_scaling_full = { .kind = ROPE_SCALING_LINEAR, .factor = 8 } };
    const struct tensor none = { 0 };
    float out[2];
    assert_int_equal(run_forward_ropes(&spec), 1);
    spec.n_full_layers = 1;
    assert_int_equal(run_forward_ropes(&spec), 2);
    assert_true(run_forward_frequencies(&spec, &none, 0, out) == 1.25F);
    assert_true(out[0] == 1.0F && fabs((double)out[1] - 0.1) < 1e-7);
    assert_true(run_forward_frequencies(&spec, &none, 1, out) == 1.0F);
    assert_true(out[0] == 0.125F && fabs((double)out[1] - 0.00125) < 1e-9);
    spec.position = POSITION_LEARNED;
    assert_int_equal(run_forward_ropes(&spec), 0);
}

/* As many factors as the widest head has. */
static void test_factors_of_the_widest_head(void **state)
{
    (void)state;
    enum { N = LIMIT_HEAD_DIM / 2 };
    struct model_spec spec = { .n_rope_dims = LIMIT_HEAD_DIM, .rope_base = 100.0F };
    static float factors[N], out[N], plain[N];
    const struct tensor tensor = { factors, DTYPE_F32, 1, N, sizeof(factors), false };
    const struct tensor none = { 0 };
    for (int i = 0; i < N; i++)
        factors[i] = 2.0F;
    run_forward_frequencies(&spec, &tensor, 0, out);
    run_forward_frequencies(&spec, &none, 0, plain);
    for (int i = 0; i < N; i++)
        assert_true(out[i] == plain[i] / 2.0F);
}

static void test_widths(void **state)
{
    (void)state;
    const struct model_spec spec = { .width = 64,
                                     .n_heads = 4,
                                     .n_kv_heads = 2,
                                     .head_dim = 32,
                                     .ffn_width = 200,
                                     .is_gated = true };
    struct forward_registers r;
    assert_int_equal(run_forward_registers(&spec, &r), FORWARD_PLAIN);
    assert_int_equal(r.widths[FORWARD_X], 64);
    assert_int_equal(r.widths[FORWARD_Q], 128);
    assert_int_equal(r.widths[FORWARD_V], 64);
    assert_int_equal(r.widths[FORWARD_U], 200);
    assert_true(r.is_logit_rows[FORWARD_LAST_N] && !r.is_logit_rows[FORWARD_X]);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_plain_and_linear),
                                        cmocka_unit_test(test_llama3),
                                        cmocka_unit_test(test_yarn),
                                        cmocka_unit_test(test_factors_of_the_file_divide),
                                        cmocka_unit_test(test_two_ropes),
                                        cmocka_unit_test(test_factors_of_the_widest_head),
                                        cmocka_unit_test(test_widths) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
