/* Least squares against the normal equations in long double, and against the conditions of Karush,
 * Kuhn and Tucker. */
#include "test.h"
#include "base/lsq.h"
#include "base/rng.h"
#include <math.h>

#define N_ROWS 100

struct problem {
    int n_rows, n;
    double x[N_ROWS * LSQ_N_COLUMNS_MAX]; /* (n_rows, n) */
    double y[N_ROWS], weight[N_ROWS];
    bool is_nonnegative[LSQ_N_COLUMNS_MAX];
};

static void draw_problem(struct problem *p, struct rng *rng)
{
    p->n = 1 + (int)rng_below(rng, LSQ_N_COLUMNS_MAX);
    p->n_rows = p->n + 2 + (int)rng_below(rng, (uint32_t)(N_ROWS - p->n - 1));
    for (int i = 0; i < p->n_rows; i++) {
        for (int j = 0; j < p->n; j++)
            p->x[i * p->n + j] = j == 0 ? 1 : rng_normal(rng) + 0.5;
        p->y[i] = 3 * rng_normal(rng) - 1;
        p->weight[i] = 0.1 + rng_unit(rng);
    }
    for (int j = 0; j < p->n; j++)
        p->is_nonnegative[j] = rng_below(rng, 2) == 1;
}

/* Returns half the gradient of the weighted squared error by coefficient j. */
static double slope(const struct problem *p, const double *c, int j)
{
    long double sum = 0;
    for (int i = 0; i < p->n_rows; i++) {
        long double residual = -p->y[i];
        for (int k = 0; k < p->n; k++)
            residual += (long double)p->x[i * p->n + k] * c[k];
        sum += p->weight[i] * residual * p->x[i * p->n + j];
    }
    return (double)sum;
}

/* Solves the normal equations by elimination. */
static void solve_directly(const struct problem *p, double *c)
{
    long double a[LSQ_N_COLUMNS_MAX][LSQ_N_COLUMNS_MAX + 1] = { 0 };
    int n = p->n;
    for (int i = 0; i < p->n_rows; i++)
        for (int j = 0; j < n; j++) {
            long double wx = (long double)p->weight[i] * p->x[i * n + j];
            for (int k = 0; k < n; k++)
                a[j][k] += wx * p->x[i * n + k];
            a[j][n] += wx * p->y[i];
        }
    for (int k = 0; k < n; k++) /* positive definite, so no pivots are needed */
        for (int i = k + 1; i < n; i++) {
            long double ratio = a[i][k] / a[k][k];
            for (int j = k; j <= n; j++)
                a[i][j] -= ratio * a[k][j];
        }
    for (int i = n - 1; i >= 0; i--) {
        long double sum = a[i][n];
        for (int j = i + 1; j < n; j++)
            sum -= a[i][j] * c[j];
        c[i] = (double)(sum / a[i][i]);
    }
}

static void test_free_is_the_direct_solution(void **state)
{
    (void)state;
    struct rng rng;
    rng_init(&rng, test_seed(1), 0);
    for (int round = 0; round < 1000; round++) {
        struct problem p;
        double c[LSQ_N_COLUMNS_MAX], wanted[LSQ_N_COLUMNS_MAX];
        draw_problem(&p, &rng);
        solve_directly(&p, wanted);
        assert_true(lsq_solve(p.n_rows, p.n, p.x, p.y, p.weight, NULL, c));
        for (int j = 0; j < p.n; j++)
            assert_true(fabs(c[j] - wanted[j]) < 1e-8 * (1 + fabs(wanted[j])));
    }
}

static void test_nonnegative_is_optimal(void **state)
{
    (void)state;
    struct rng rng;
    int n_held = 0;
    rng_init(&rng, test_seed(2), 0);
    for (int round = 0; round < 1000; round++) {
        struct problem p;
        double c[LSQ_N_COLUMNS_MAX];
        draw_problem(&p, &rng);
        assert_true(lsq_solve(p.n_rows, p.n, p.x, p.y, p.weight, p.is_nonnegative, c));
        for (int j = 0; j < p.n; j++) {
            double gradient = slope(&p, c, j);
            if (!p.is_nonnegative[j] || c[j] > 0) {
                assert_true(fabs(gradient) < 1e-8);
            } else { /* held at zero: going up may only cost */
                assert_true(c[j] == 0 && gradient > -1e-8);
                n_held++;
            }
        }
    }
    assert_true(n_held > 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_free_is_the_direct_solution),
        cmocka_unit_test(test_nonnegative_is_optimal),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
