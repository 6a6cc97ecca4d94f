/* Half precision and bfloat16: all 65536 values, and random floats against the nearest by
 * search. */
#include "test.h"
#include "base/half.h"
#include "base/rng.h"
#include <math.h>

static float of_bits(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof(value));
    return value;
}

/* The value by the definition of the format, in double. */
static double define(uint32_t half)
{
    int exponent = half >> 10 & 0x1F, fraction = half & 0x3FF;
    double magnitude = exponent == 0 ? ldexp(fraction, -24) : ldexp(fraction + 1024, exponent - 25);
    return half & 0x8000 ? -magnitude : magnitude;
}

static void test_all_halves(void **state)
{
    (void)state;
    for (uint32_t half = 0; half <= 0xFFFF; half++) {
        float value = half_to_float((uint16_t)half);
        bool is_special = (half & 0x7C00) == 0x7C00;
        if (is_special && (half & 0x3FF) != 0) {
            assert_true(value != value);
            assert_int_equal(half_from_float(value), half | 0x200);
            continue;
        }
        if (is_special)
            assert_true(isinf(value) && (value < 0) == (half >= 0x8000));
        else
            assert_true(value == define(half));
        assert_int_equal(half_from_float(value), half);
    }
}

/* Returns the nearest half of a nonnegative float by search, ties to even, as the standard
 * demands. */
static uint16_t search(double value)
{
    uint32_t low = 0, high = 0x7C00; /* infinity stands for 65536 */
    while (high - low > 1) {
        uint32_t middle = (low + high) / 2;
        if (define(middle) <= value)
            low = middle;
        else
            high = middle;
    }
    double below = value - define(low), above = (high == 0x7C00 ? 65536 : define(high)) - value;
    if (below == above)
        return (uint16_t)(low % 2 == 0 ? low : high);
    return (uint16_t)(below < above ? low : high);
}

static void test_from_float_is_the_nearest(void **state)
{
    (void)state;
    struct rng rng;
    rng_init(&rng, test_seed(1), 0);
    for (int i = 0; i < 200000; i++) {
        uint32_t bits = (uint32_t)rng_u64(&rng);
        if (i % 2 == 0) /* in the range of halves, often on a tie */
            bits = ((bits & 0x1FFFFFFFu) % (34u << 23) + (100u << 23)) &
                   (i % 4 == 0 ? 0xFFFFF000u : ~0u);
        bits &= 0x7FFFFFFFu;
        float value = of_bits(bits);
        if (value != value)
            continue;
        assert_int_equal(half_from_float(value), search(value < 1e6f ? value : 1e6f));
        assert_int_equal(half_from_float(-value), half_from_float(value) | 0x8000);
    }
}

static void test_bf16_is_the_nearest(void **state)
{
    (void)state;
    struct rng rng;
    rng_init(&rng, test_seed(2), 0);
    for (uint32_t b = 0; b <= 0xFFFF; b++) {
        float value = bf16_to_float((uint16_t)b);
        if (value == value)
            assert_int_equal(bf16_from_float(value), b);
    }
    for (int i = 0; i < 200000; i++) {
        uint32_t bits = (uint32_t)rng_u64(&rng) & (i % 2 == 0 ? 0x7FFF8000u : 0x7FFFFFFFu);
        double value = of_bits(bits);
        uint16_t low = (uint16_t)(bits >> 16), high = (uint16_t)(low + 1);
        if (low >= 0x7F7F) /* up to infinity and beyond */
            continue;
        double below = value - bf16_to_float(low), above = bf16_to_float(high) - value;
        uint16_t wanted = below < above || (below == above && low % 2 == 0) ? low : high;
        assert_int_equal(bf16_from_float((float)value), wanted);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_halves),
        cmocka_unit_test(test_from_float_is_the_nearest),
        cmocka_unit_test(test_bf16_is_the_nearest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
