/* Tests of half precision and bfloat16 at the edges. (tests/props walks through all 65536.) */
#include "test.h"
#include "base/half.h"

static float of_bits(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof(value));
    return value;
}

static void test_half_known_values(void **state)
{
    (void)state;
    static const struct {
        float value;
        uint16_t half;
    } rows[] = {
        { 0, 0 },
        { -0.0f, 0x8000 },
        { 1, 0x3C00 },
        { -2, 0xC000 },
        { 65504, 0x7BFF },
        { 65519.996f, 0x7BFF },
        { 65520, 0x7C00 },
        { 1e30f, 0x7C00 },
        { 0x1p-14f, 0x0400 },
        { 0x1p-24f, 0x0001 },
        { 0x1p-25f, 0x0000 }, /* a tie: to even */
        { 0x1.000002p-25f, 0x0001 },
        { 0x1.8p-24f, 0x0002 }, /* a tie: to even */
        { 0x1.ff8p-15f, 0x03FF },
        { 0x1.ffcp-15f, 0x0400 }, /* from subnormal up into normal */
        { 0x1.002p0f, 0x3C00 },   /* ties of normals */
        { 0x1.006p0f, 0x3C02 },
        { 1e-40f, 0 },
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        assert_int_equal(half_from_float(rows[i].value), rows[i].half);
    assert_int_equal(half_from_float(of_bits(0x7F800000)), 0x7C00);
    assert_int_equal(half_from_float(of_bits(0xFF800000)), 0xFC00);
    assert_true(half_to_float(0x7C00) == of_bits(0x7F800000));
    assert_true(half_to_float(0x0001) == 0x1p-24f);
    assert_true(half_to_float(0x7BFF) == 65504);
}

static void test_half_nan_stays_nan(void **state)
{
    (void)state;
    static const uint32_t nans[] = { 0x7F800001, 0x7FC00000, 0x7FFFFFFF, 0xFF800001, 0xFFC01234 };
    for (size_t i = 0; i < COUNT_OF(nans); i++) {
        uint16_t half = half_from_float(of_bits(nans[i]));
        assert_int_equal(half & 0x7C00, 0x7C00);
        assert_int_not_equal(half & 0x3FF, 0);
        float back = half_to_float(half);
        assert_true(back != back);
        uint16_t bf16 = bf16_from_float(of_bits(nans[i]));
        back = bf16_to_float(bf16);
        assert_true(back != back);
    }
}

static void test_bf16_rounds_to_even(void **state)
{
    (void)state;
    assert_int_equal(bf16_from_float(1), 0x3F80);
    assert_int_equal(bf16_from_float(of_bits(0x3F808000)), 0x3F80);
    assert_int_equal(bf16_from_float(of_bits(0x3F808001)), 0x3F81);
    assert_int_equal(bf16_from_float(of_bits(0x3F818000)), 0x3F82);
    assert_int_equal(bf16_from_float(of_bits(0x7F7FFFFF)), 0x7F80); /* to infinity */
    assert_int_equal(bf16_from_float(of_bits(0x80000001)), 0x8000);
    assert_true(bf16_to_float(0x3F80) == 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_half_known_values),
        cmocka_unit_test(test_half_nan_stays_nan),
        cmocka_unit_test(test_bf16_rounds_to_even),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
