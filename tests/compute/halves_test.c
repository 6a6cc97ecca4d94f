/* Sums of products of bfloat16: exact when 16 bits of an activation are enough, small values cut
 * off, otherwise near the exact sum, and with independent blocks. */
#include "../test.h"

#include "base/half.h"
#include "base/rng.h"
#include "compute/halves.h"

static void products_of_16_bits_are_exact(void **state)
{
    (void)state;
    const float x[3] = { 1 + 0x1p-15f, -3, 0.5f }, w[3] = { 2, 1.25f, -4 };
    assert_true(halves_add(0, w, false, x, 3) == 2 + 0x1p-14f - 3.75f - 2);
    assert_true(halves_add(100, w, true, x, 3) == 100 + 2 + 0x1p-14f - 3.75f - 2);
    const float third = half_to_float(0x3555); /* 11 bits */
    assert_true(halves_add(0, &third, true, &x[1], 1) == -3 * third);
    assert_true(halves_add(0, &third, false, &x[1], 1) != -3 * third);
    const float least = half_to_float(1); /* subnormal as F16, but normal as bfloat16 */
    assert_true(halves_add(0, &least, true, &x[1], 1) == -3 * 0x1p-24f);
}

static void what_is_tiny_is_nothing(void **state)
{
    (void)state;
    const float x[2] = { 0x1p-127f, 0x1p-100f }, w[2] = { 1, 0x1p-30f };
    assert_true(halves_add(0, w, false, x, 2) == 0);
    assert_true(halves_add(0x1p-127f, w, false, x, 2) == 0);
    assert_true(halves_add(1, w, false, x, 2) == 1);
}

static void sums_are_near_the_exact_ones(void **state)
{
    (void)state;
    enum { N = 1000 };
    static float x[N], w[N];
    struct rng rng;
    rng_init(&rng, test_seed(4), 1);
    for (int round = 0; round < 20; round++) {
        double sum = 0, sizes = 0;
        for (int i = 0; i < N; i++) {
            x[i] = (float)rng_normal(&rng);
            w[i] = half_to_float(half_from_float((float)(rng_normal(&rng) * 0.02)));
            sum += (double)x[i] * (double)w[i];
            sizes += __builtin_fabs((double)x[i] * (double)w[i]);
        }
        double error = (double)halves_add(0, w, true, x, N) - sum;
        assert_true(__builtin_fabs(error) < 4e-6 * sizes);
        int cut = 32 * (1 + (int)rng_below(&rng, N / 32));
        float first = halves_add(0, w, true, x, cut);
        assert_true(halves_add(first, w + cut, true, x + cut, N - cut) ==
                    halves_add(0, w, true, x, N));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_of_16_bits_are_exact),
        cmocka_unit_test(what_is_tiny_is_nothing),
        cmocka_unit_test(sums_are_near_the_exact_ones),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
