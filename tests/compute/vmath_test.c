/* The accuracy of the functions of activations, against the C library in double. */
#include "test.h"

#include "compute/vmath.h"
#include <math.h>

static double ulps(float got, double want)
{
    double unit = (double)(nextafterf((float)fabs(want), INFINITY) - (float)fabs(want));
    return fabs((double)got - want) / unit;
}

static void exp_is_within_2_ulp(void **state)
{
    (void)state;
    double worst = 0;
    for (double x = -87.3; x <= 88.0; x += 0.00013)
        worst = fmax(worst, ulps(vmath_exp((float)x), exp((double)(float)x)));
    printf("exp: %.2f ulp\n", worst);
    assert_true(worst < 2.0);
    assert_true(vmath_exp(0.0f) == 1.0f);
    assert_true(vmath_exp(-88.0f) == 0.0f && vmath_exp(-INFINITY) == 0.0f);
    assert_true(isinf(vmath_exp(89.0f)) && isinf(vmath_exp(INFINITY)));
    assert_true(isnan(vmath_exp(NAN)));
    assert_true(vmath_exp(-3e38f) == 0.0f && isinf(vmath_exp(3e38f)));
}

static void activations_are_close(void **state)
{
    (void)state;
    double silu = 0, gelu_tanh = 0, gelu_erf = 0;
    for (double at = -30; at <= 30; at += 0.00007) {
        float x = (float)at;
        double d = (double)x, u = 0.7978845608028654 * (d + 0.044715 * d * d * d);
        silu = fmax(silu, fabs((double)vmath_silu(x) - d / (1 + exp(-d))) / fmax(fabs(d), 1));
        gelu_tanh = fmax(gelu_tanh, fabs((double)vmath_gelu_tanh(x) - d / (1 + exp(-2 * u))) /
                                        fmax(fabs(d), 1));
        gelu_erf = fmax(gelu_erf, fabs((double)vmath_gelu_erf(x) -
                                       0.5 * d * (1 + erf(d * 0.7071067811865476))) /
                                      fmax(fabs(d), 1));
    }
    printf("relative to max(|x|, 1): silu %.2g, gelu_tanh %.2g, gelu_erf %.2g\n", silu, gelu_tanh,
           gelu_erf);
    assert_true(silu < 2e-7 && gelu_tanh < 2e-7 && gelu_erf < 4e-7);
    assert_true(vmath_silu(0.0f) == 0.0f && vmath_relu(-1.0f) == 0.0f && vmath_relu(2.0f) == 2.0f);
    assert_true(isnan(vmath_silu(NAN)) && isnan(vmath_gelu_tanh(NAN)) && isnan(vmath_relu(NAN)));
    assert_true(vmath_silu(-200.0f) == 0.0f && vmath_silu(200.0f) == 200.0f);
}

static void caps_and_clamped_gates_are_close(void **state)
{
    (void)state;
    double tanh_ulps = 0, cap = 0, gate = 0;
    for (double at = -12; at <= 12; at += 0.00003) {
        float x = (float)at, y = (float)(at * 0.7 - 1);
        double d = fmin((double)x, 7), u = fmax(fmin((double)y, 7), -7);
        tanh_ulps =
            fmax(tanh_ulps, at == 0 ? 0 : ulps(fabsf(vmath_tanh(x)), tanh(fabs((double)x))));
        cap = fmax(cap, fabs((double)vmath_cap(x * 9, 50) - 50 * tanh((double)x * 9 / 50)));
        gate = fmax(gate, fabs((double)vmath_swiglu_clamped(x, y, 7) -
                               d / (1 + exp(-1.702 * d)) * (u + 1)) /
                              fmax(fabs(d * u), 1));
    }
    printf("tanh: %.2f ulp; cap %.2g, clamped gate %.2g\n", tanh_ulps, cap, gate);
    assert_true(tanh_ulps < 4 && cap < 2e-5 && gate < 1e-6);
    assert_true(vmath_tanh(-3e38f) == -1.0f && vmath_tanh(INFINITY) == 1.0f);
    assert_true(vmath_tanh(0.0f) == 0.0f && isnan(vmath_tanh(NAN)));
    assert_true(isnan(vmath_swiglu_clamped(NAN, 0, 7)) && isnan(vmath_swiglu_clamped(1, NAN, 7)));
    assert_true(vmath_swiglu_clamped(-200.0f, 9, 7) == 0.0f);
}

static void sine_and_cosine_are_rounded_right(void **state)
{
    (void)state;
    double worst = 0;
    for (double at = 0; at <= 1048576.0; at = at * 1.00003 + 0.0007) {
        float sine, cosine, sine2, cosine2;
        vmath_sincos(at, &sine, &cosine);
        vmath_sincos(-at, &sine2, &cosine2);
        assert_true(sine2 == -sine && cosine2 == cosine);
        worst = fmax(worst, fabs((double)sine - sin(at)));
        worst = fmax(worst, fabs((double)cosine - cos(at)));
    }
    printf("sin, cos: %.3g\n", worst);
    assert_true(worst <= 3.1e-8); /* half a unit at 1 */
    float sine, cosine;
    vmath_sincos(2e6, &sine, &cosine);
    assert_true(isnan(sine) && isnan(cosine));
    vmath_sincos((double)NAN, &sine, &cosine);
    assert_true(isnan(sine) && isnan(cosine));
}

static void sixteen_partial_sums_fold_by_halves(void **state)
{
    (void)state;
    float x[16];
    for (int i = 0; i < 16; i++)
        x[i] = (float)i;
    assert_true(vmath_fold16(x) == 120.0f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exp_is_within_2_ulp),
        cmocka_unit_test(activations_are_close),
        cmocka_unit_test(caps_and_clamped_gates_are_close),
        cmocka_unit_test(sine_and_cosine_are_rounded_right),
        cmocka_unit_test(sixteen_partial_sums_fold_by_halves),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
