/* Small weighted least squares by Householder reflections, with coefficients that can be held at
 * zero or above. */
#pragma once
#include "base/base.h"

#define LSQ_N_COLUMNS_MAX 8

/* Solves min sum_i weight_i (y_i - sum_j x_ij c_j)^2. x is (n_rows, n_columns) row-major; weight
 * may be NULL (all 1). is_nonnegative may be NULL; where true, that coefficient ends >= 0 (active
 * set). False when the system is degenerate. */
bool lsq_solve(int n_rows, int n_columns, const double *x, const double *y, const double *weight,
               const bool *is_nonnegative, double *coefficients) MUST_USE;
