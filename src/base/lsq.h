/* Solves small weighted least squares by Householder reflections. Coefficients can be held at zero
 * or above. */
#pragma once
#include "base/base.h"

#define LSQ_N_COLUMNS_MAX 8

/* Minimises sum_i weight_i (y_i - sum_j x_ij c_j)^2. The matrix x is (n_rows, n_columns) row-major;
 * weight may be NULL (all 1). The array is_nonnegative may be NULL; where it is true, that
 * coefficient ends >= 0 (active set). Returns false when the system is degenerate. */
bool lsq_solve(int n_rows, int n_columns, const double *x, const double *y, const double *weight,
               const bool *is_nonnegative, double *coefficients) MUST_USE;
