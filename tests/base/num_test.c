/* Tests of own exp and log against libm in long double, and of their edges. */
#include "test.h"
#include "base/num.h"
#include "base/rng.h"
#include <math.h>

static double error_of(double got, long double want)
{
    return want == 0 ? fabs(got) : (double)fabsl((got - want) / want);
}

static void test_exp_is_close(void **state)
{
    (void)state;
    struct rng rng;
    rng_init(&rng, test_seed(1), 0);
    double worst = 0;
    for (int i = 0; i < 100000; i++) {
        double x = (rng_unit(&rng) * 2 - 1) * (i % 3 == 0 ? 700 : i % 3 == 1 ? 1 : 1e-9);
        worst = fmax(worst, error_of(num_exp(x), expl(x)));
    }
    printf("worst relative error of num_exp: %.3g\n", worst);
    assert_true(worst < 2e-15);
}

static void test_log_is_close(void **state)
{
    (void)state;
    struct rng rng;
    rng_init(&rng, test_seed(1), 1);
    double worst = 0;
    for (int i = 0; i < 100000; i++) {
        double x = i % 2 == 0 ? exp((rng_unit(&rng) * 2 - 1) * 700)
                              : 1 + (rng_unit(&rng) * 2 - 1) * (i % 4 == 1 ? 0.3 : 1e-8);
        worst = fmax(worst, error_of(num_log(x), logl(x)));
    }
    printf("worst relative error of num_log: %.3g\n", worst);
    assert_true(worst < 2e-15);
}

static void test_edges(void **state)
{
    (void)state;
    assert_true(num_exp(0) == 1);
    assert_true(num_exp(-1000) == 0 && num_exp(-INFINITY) == 0);
    assert_true(isinf(num_exp(709.79)) && isinf(num_exp(INFINITY)));
    assert_true(num_exp(709.78) > 1.79e308 && isfinite(num_exp(709.78)));
    assert_true(isnan(num_exp(NAN)));
    assert_true(num_exp(-744) > 0 && num_exp(-740) == exp(-740));
    assert_true(num_log(1) == 0);
    assert_true(isinf(num_log(0)) && num_log(0) < 0);
    assert_true(isnan(num_log(-1)) && isnan(num_log(NAN)));
    assert_true(num_log(INFINITY) == INFINITY);
    assert_true(fabs(num_log(4.94065645841246544e-324) + 744.4400719213812) < 1e-12);
    assert_true(fabs(num_pow(2, 10) / 1024 - 1) < 2e-14);
    assert_true(num_sqrt(2) == sqrt(2) && num_sqrt(0) == 0);
}

static void test_floor(void **state)
{
    (void)state;
    static const double values[] = { 0,    -0.5, 0.5, 1,     -1,     2.999999999,  -2.000000001,
                                     1e15, 1e17, 0,   -1e17, 0x1p52, 0x1p51 + 0.5, -0x1p51 - 0.5 };
    for (size_t i = 0; i < COUNT_OF(values); i++)
        assert_true(num_floor(values[i]) == floor(values[i]));
    assert_true(isnan(num_floor(NAN)));
    assert_true(isinf(num_floor(-INFINITY)));
}

static void test_bits_are_fixed(void **state)
{
    (void)state;
    /* The same on every machine and compiler: these hashes may never change. */
    uint64_t sum = 0;
    for (int i = -2000; i < 2000; i++) {
        double value = num_exp(i * 0.173) + num_log(i * 0.37 + 1000) * 1e-3;
        uint64_t bits;
        memcpy(&bits, &value, sizeof(bits));
        sum = (sum ^ bits) * 0x9E3779B97F4A7C15u;
    }
    printf("sum of bits: %016llx\n", (unsigned long long)sum);
    assert_true(sum == 0x27f31b32b43065e9u);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_exp_is_close),   cmocka_unit_test(test_log_is_close),
        cmocka_unit_test(test_edges),          cmocka_unit_test(test_floor),
        cmocka_unit_test(test_bits_are_fixed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
