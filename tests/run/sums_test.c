/* Sums over ranks as a profile measures them. No times are compared. */
#include "test.h"

#include "base/time.h"
#include "run/sums.h"

static void every_size_is_measured(void **state)
{
    static const struct device_spec spec = { .kind = DEVICE_CPU,
                                             .n_cores = 3,
                                             .cores = { 0, 1, 0 } };
    struct predict_group group = { .n_layers = 6, .width = 288, .n_sums = 2 };
    struct fault fault;
    (void)state;
    assert_int_equal(run_sums(&spec, TIME_NS_PER_MS, &group, &fault), STATUS_OK);
    assert_int_equal(group.n_sums, 1); /* two ranks; four have too few cores */
    assert_int_equal(group.n_layers, 6);
    const struct predict_group_sums *sums = predict_group_find(&group, 2);
    assert_non_null(sums);
    assert_true(sums->n_points >= 8);
    assert_int_equal(sums->bytes[0], 64);
    assert_true(sums->bytes[sums->n_points - 1] >= 4 << 20);
    for (int32_t i = 0; i < sums->n_points; i++) {
        assert_true(sums->ps[i] > 0);
        assert_true(i == 0 || sums->bytes[i] > sums->bytes[i - 1]);
    }
}

static void one_core_has_no_ranks(void **state)
{
    static const struct device_spec spec = { .kind = DEVICE_CPU, .n_cores = 1, .cores = { 0 } };
    struct predict_group group = { .n_layers = 6, .width = 288, .n_sums = 2 };
    struct fault fault;
    (void)state;
    assert_int_equal(run_sums(&spec, TIME_NS_PER_MS, &group, &fault), STATUS_OK);
    assert_int_equal(group.n_sums, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_size_is_measured),
        cmocka_unit_test(one_core_has_no_ranks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
