/* Tests of least squares: exact fits, weights, coefficients held at zero, degenerate systems. */
#include "test.h"
#include "base/lsq.h"
#include <math.h>

static void test_exact_line(void **state)
{
    (void)state;
    double x[100][2], y[100], c[2];
    for (int i = 0; i < 100; i++) {
        x[i][0] = 1;
        x[i][1] = i;
        y[i] = 3 - 0.5 * i;
    }
    assert_true(lsq_solve(100, 2, &x[0][0], y, NULL, NULL, c));
    assert_true(fabs(c[0] - 3) < 1e-12 && fabs(c[1] + 0.5) < 1e-13);
}

static void test_weights(void **state)
{
    (void)state;
    double x[3] = { 1, 1, 1 }, y[3] = { 0, 0, 30 }, weight[3] = { 1, 1, 4 }, c;
    assert_true(lsq_solve(3, 1, x, y, NULL, NULL, &c));
    assert_true(fabs(c - 10) < 1e-13);
    assert_true(lsq_solve(3, 1, x, y, weight, NULL, &c));
    assert_true(fabs(c - 20) < 1e-13);
}

static void test_held_at_zero(void **state)
{
    (void)state;
    double x[4][2] = { { 1, 0 }, { 1, 1 }, { 1, 2 }, { 1, 3 } }, y[4] = { 3, 2, 1, 0 }, c[2];
    const bool second[2] = { false, true }, both[2] = { true, true };
    assert_true(lsq_solve(4, 2, &x[0][0], y, NULL, second, c));
    assert_true(c[1] == 0 && fabs(c[0] - 1.5) < 1e-13);
    double below[4] = { -1, -2, -1, -2 };
    assert_true(lsq_solve(4, 2, &x[0][0], below, NULL, both, c));
    assert_true(c[0] == 0 && c[1] == 0);
}

static void test_degenerate_is_refused(void **state)
{
    (void)state;
    double x[4][2] = { { 1, 2 }, { 2, 4 }, { 3, 6 }, { 4, 8 } }, y[4] = { 1, 2, 3, 4 }, c[2];
    assert_false(lsq_solve(4, 2, &x[0][0], y, NULL, NULL, c));
    assert_false(lsq_solve(1, 2, &x[0][0], y, NULL, NULL, c));
    double zeros[4] = { 0 };
    assert_false(lsq_solve(4, 1, zeros, y, NULL, NULL, c));
    double bad[2] = { 1, NAN };
    assert_false(lsq_solve(2, 1, bad, y, NULL, NULL, c));
}

static void test_scales_far_apart(void **state)
{
    (void)state;
    double x[50][3], y[50], c[3];
    for (int i = 0; i < 50; i++) {
        x[i][0] = 1;
        x[i][1] = i * 1e9;
        x[i][2] = (i % 7) * 1e-6;
        y[i] = 5e4 + 2e-3 * x[i][1] + 7e9 * x[i][2];
    }
    assert_true(lsq_solve(50, 3, &x[0][0], y, NULL, NULL, c));
    assert_true(fabs(c[0] / 5e4 - 1) < 1e-7 && fabs(c[1] / 2e-3 - 1) < 1e-9 &&
                fabs(c[2] / 7e9 - 1) < 1e-7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_exact_line),       cmocka_unit_test(test_weights),
        cmocka_unit_test(test_held_at_zero),     cmocka_unit_test(test_degenerate_is_refused),
        cmocka_unit_test(test_scales_far_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
