/* How sure a mean is: Student's interval over independent or paired runs. */
#pragma once
#include "base/base.h"

struct interval {
    double mean, low, high; /* of 95%; low = high = mean when n is 1 */
    int32_t n;
};
/* mean -/+ t(n - 1, 97.5%) s / sqrt(n), s with n - 1. For pairs: give it the differences. */
struct interval metrics_interval_of(const double *values, int32_t n);
/* The two-sided 95% quantile of Student's t; between the table's rows the larger one holds. */
double metrics_interval_t(int32_t degrees);
