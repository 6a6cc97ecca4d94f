/* Values that are no performance model. */
#include "test.h"
#include "core/coefficients.h"

static void test_each_is_checked(void **state)
{
    static const struct perf none;
    const struct perf good = { .floor_ps = INT64_C(9000000000),
                               .c1_ps = INT64_C(3400000000),
                               .k1_ps = 73800000,
                               .q1_ps = 4000000,
                               .c3_ps = { INT64_C(11440000000), INT64_C(13000000000) },
                               .c2_ps = { 30000000, 90000000 },
                               .k2_ps = { 374000, 374000 },
                               .b_switch = INT32_MAX,
                               .prefill_scale = 1,
                               .decode_scale = 0.02F };
    (void)state;
    assert_true(coefficients_are_sane(&none) && coefficients_are_sane(&good));
    for (int i = 0; i < 10; i++) {
        struct perf perf = good;
        int64_t *const fields[] = { &perf.floor_ps, &perf.c1_ps,    &perf.k1_ps,    &perf.q1_ps,
                                    &perf.c3_ps[0], &perf.c3_ps[1], &perf.c2_ps[0], &perf.c2_ps[1],
                                    &perf.k2_ps[0], &perf.k2_ps[1] };
        *fields[i] = -1;
        assert_false(coefficients_are_sane(&perf));
        *fields[i] = INT64_C(1) << 51;
        assert_false(coefficients_are_sane(&perf));
    }
    static const float scales[] = { -1, 1e-4F, 1e4F, __builtin_nanf(""), __builtin_inff() };
    for (size_t i = 0; i < COUNT_OF(scales); i++) {
        struct perf prefill = good, decode = good;
        prefill.prefill_scale = decode.decode_scale = scales[i];
        assert_false(coefficients_are_sane(&prefill) || coefficients_are_sane(&decode));
    }
    struct perf perf = good;
    perf.b_switch = -1;
    assert_false(coefficients_are_sane(&perf));
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_each_is_checked) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
