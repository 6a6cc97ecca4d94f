/* The uncertainty of a mean: Student's interval over independent or paired runs. */
#pragma once
#include "base/base.h"

struct interval {
    double mean, low, high; /* of 95%; low = high = mean when n is 1 */
    int32_t n;
};
/* Returns mean -/+ t(n - 1, 97.5%) s / sqrt(n), s with n - 1. For pairs, pass their differences. */
struct interval metrics_interval_of(const double *values, int32_t n);
/* Returns the two-sided 95% quantile of Student's t. Between the table's rows the larger one
 * holds. */
double metrics_interval_t(int32_t degrees);
