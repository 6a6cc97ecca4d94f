/* Tests of the histogram: exact small values, bounded error. */
#include "test.h"
#include "base/hist.h"

static void test_empty(void **state)
{
    (void)state;
    struct hist hist;
    hist_init(&hist);
    assert_int_equal(hist_quantile(&hist, 0.5), 0);
    assert_true(hist_mean(&hist) == 0);
}

static void test_small_values_are_exact(void **state)
{
    (void)state;
    struct hist hist;
    hist_init(&hist);
    for (int i = 1; i <= 100; i++)
        hist_add(&hist, i);
    assert_int_equal(hist.n, 100);
    assert_int_equal(hist.max, 100);
    assert_int_equal(hist_quantile(&hist, 0.5), 50);
    assert_int_equal(hist_quantile(&hist, 0.99), 99);
    assert_int_equal(hist_quantile(&hist, 1), 100);
    assert_int_equal(hist_quantile(&hist, 0), 1);
    assert_true(hist_mean(&hist) == 50.5);
}

static void test_error_is_bounded_everywhere(void **state)
{
    (void)state;
    for (int64_t value = 1; value > 0 && value < INT64_MAX / 3; value += value / 3 + 1) {
        struct hist hist;
        hist_init(&hist);
        hist_add(&hist, value);
        hist_add(&hist, INT64_MAX);
        int64_t edge = hist_quantile(&hist, 0.5);
        assert_true(edge >= value && edge - value <= value / 64);
        assert_int_equal(hist_quantile(&hist, 1), INT64_MAX);
        assert_int_equal(hist.buckets[HIST_N_BUCKETS - 1], 1);
    }
}

static void test_negative_counts_as_zero(void **state)
{
    (void)state;
    struct hist hist;
    hist_init(&hist);
    hist_add(&hist, -5);
    assert_int_equal(hist.max, 0);
    assert_int_equal(hist_quantile(&hist, 0.5), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_empty),
        cmocka_unit_test(test_small_values_are_exact),
        cmocka_unit_test(test_error_is_bounded_everywhere),
        cmocka_unit_test(test_negative_counts_as_zero),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
