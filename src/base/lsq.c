/* Solves small weighted least squares: folds the rows into a triangle, then tries every set of held
 * columns.
 *
 * Rows are taken in blocks. Householder reflections bring [triangle; block] to triangular form,
 * which leaves R (n, n) and Q'y (n). A constrained solution has some set of its nonnegative columns
 * at zero, and is the free minimum over the others. With at most 8 columns all 256 sets are tried,
 * and the best feasible one wins. */
#include "base/lsq.h"
#include "base/num.h"
#include <string.h>

#define LSQ_WIDTH      (LSQ_N_COLUMNS_MAX + 1) /* the last column is y */
#define LSQ_BLOCK_ROWS 32
#define LSQ_DEGENERATE 1e-11 /* a smaller share outside the others' span is degenerate */

struct lsq_work {
    double a[LSQ_WIDTH + LSQ_BLOCK_ROWS][LSQ_WIDTH]; /* (rows, columns and y) */
    double column_norm2[LSQ_N_COLUMNS_MAX];
};

/* Brings the first n_rows rows of a to upper triangular form. The width counts y. */
static void triangulate(double a[][LSQ_WIDTH], int n_rows, int width)
{
    for (int k = 0; k < width && k < n_rows - 1; k++) {
        double norm2 = 0;
        for (int i = k; i < n_rows; i++)
            norm2 += a[i][k] * a[i][k];
        if (norm2 == 0)
            continue;
        double norm = num_sqrt(norm2), pivot = a[k][k];
        double alpha = pivot > 0 ? -norm : norm;
        double v0 = pivot - alpha, scale = norm2 - alpha * pivot; /* v'v / 2 */
        for (int j = k + 1; j < width; j++) {
            double dot = v0 * a[k][j];
            for (int i = k + 1; i < n_rows; i++)
                dot += a[i][k] * a[i][j];
            dot /= scale;
            a[k][j] -= dot * v0;
            for (int i = k + 1; i < n_rows; i++)
                a[i][j] -= dot * a[i][k];
        }
        a[k][k] = alpha;
        for (int i = k + 1; i < n_rows; i++)
            a[i][k] = 0;
    }
}

/* Solves for the columns in `set` alone (the others are zero). Returns the squared residual beyond
 * the free optimum. */
static double solve_set(double r[][LSQ_WIDTH], int n, uint32_t set, double *c)
{
    double a[LSQ_WIDTH][LSQ_WIDTH] = { 0 };
    int width = 0;
    for (int j = 0; j <= n; j++) {
        if (j < n && !(set >> j & 1))
            continue;
        for (int i = 0; i < n; i++)
            a[i][width] = r[i][j == n ? LSQ_N_COLUMNS_MAX : j];
        width++;
    }
    triangulate(a, n, width);
    int n_free = width - 1;
    double solution[LSQ_N_COLUMNS_MAX] = { 0 };
    for (int i = n_free - 1; i >= 0; i--) {
        double sum = a[i][n_free];
        for (int j = i + 1; j < n_free; j++)
            sum -= a[i][j] * solution[j];
        solution[i] = sum / a[i][i];
    }
    for (int j = 0, k = 0; j < n; j++)
        c[j] = set >> j & 1 ? solution[k++] : 0;
    double residual = 0;
    for (int i = n_free; i < n; i++)
        residual += a[i][n_free] * a[i][n_free];
    return residual;
}

static bool is_feasible(const double *c, int n, const bool *is_nonnegative)
{
    for (int j = 0; j < n; j++)
        if (is_nonnegative != NULL && is_nonnegative[j] && c[j] < 0)
            return false;
    return true;
}

/* Folds all rows into work->a[0..n_columns], with y in column LSQ_N_COLUMNS_MAX. */
static void fold_rows(struct lsq_work *work, int n_rows, int n_columns, const double *x,
                      const double *y, const double *weight)
{
    for (int start = 0; start < n_rows; start += LSQ_BLOCK_ROWS) {
        int n = min_i32(n_rows - start, LSQ_BLOCK_ROWS);
        for (int i = 0; i < n; i++) {
            double *row = work->a[LSQ_WIDTH + i];
            double root = weight == NULL ? 1 : num_sqrt(weight[start + i]);
            memset(row, 0, sizeof(work->a[0]));
            for (int j = 0; j < n_columns; j++) {
                row[j] = root * x[(start + i) * n_columns + j];
                work->column_norm2[j] += row[j] * row[j];
            }
            row[LSQ_N_COLUMNS_MAX] = root * y[start + i];
        }
        triangulate(work->a, LSQ_WIDTH + n, LSQ_WIDTH);
    }
}

bool lsq_solve(int n_rows, int n_columns, const double *x, const double *y, const double *weight,
               const bool *is_nonnegative, double *coefficients)
{
    CHECK(n_columns > 0 && n_columns <= LSQ_N_COLUMNS_MAX);
    struct lsq_work work = { 0 };
    if (n_rows < n_columns)
        return false;
    fold_rows(&work, n_rows, n_columns, x, y, weight);
    for (int j = 0; j < n_columns; j++) {
        double share = work.a[j][j] * work.a[j][j];
        double limit = LSQ_DEGENERATE * LSQ_DEGENERATE * work.column_norm2[j];
        if (!(share > limit) || !(work.column_norm2[j] < 1e300))
            return false;
    }
    bool is_found = false;
    double best = 0;
    for (uint32_t held = 0; held < 1u << n_columns; held++) {
        double c[LSQ_N_COLUMNS_MAX];
        bool may_hold = true;
        for (int j = 0; j < n_columns; j++)
            if (held >> j & 1 && (is_nonnegative == NULL || !is_nonnegative[j]))
                may_hold = false;
        if (!may_hold)
            continue;
        double residual = solve_set(work.a, n_columns, ~held, c);
        if (!is_feasible(c, n_columns, is_nonnegative) || (is_found && residual >= best))
            continue;
        is_found = true;
        best = residual;
        memcpy(coefficients, c, (size_t)n_columns * sizeof(*c));
    }
    return is_found;
}
