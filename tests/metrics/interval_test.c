/* Student's interval against values from a table and by hand. */
#include "../test.h"
#include "metrics/interval.h"

static void by_hand(void **state)
{
    const double values[] = { 1, 2, 3, 4, 5 };
    (void)state;
    struct interval i = metrics_interval_of(values, 5);
    /* s = sqrt(2.5), s / sqrt(5) = 0.70711, t(4) = 2.776 */
    assert_true(i.mean > 2.9999 && i.mean < 3.0001 && i.n == 5);
    assert_true(i.high > 4.9629 && i.high < 4.9630 && i.low > 1.0370 && i.low < 1.0371);
    i = metrics_interval_of(values, 1);
    assert_true(i.mean == 1 && i.low == 1 && i.high == 1);
    i = metrics_interval_of(values, 0);
    assert_true(i.mean == 0 && i.n == 0);
}

static void t_falls(void **state)
{
    (void)state;
    assert_true(metrics_interval_t(1) == 12.706 && metrics_interval_t(9) == 2.262);
    assert_true(metrics_interval_t(30) == 2.042 && metrics_interval_t(1000) == 1.980);
    for (int32_t d = 1; d < 300; d++)
        assert_true(metrics_interval_t(d + 1) <= metrics_interval_t(d));
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(by_hand), cmocka_unit_test(t_falls) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
