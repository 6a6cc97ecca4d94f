/* Student's t, from its table. */
#include "metrics/interval.h"

#include "base/num.h"

double metrics_interval_t(int32_t degrees)
{
    static const double first[] = { 12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306,
                                    2.262,  2.228, 2.201, 2.179, 2.160, 2.145, 2.131, 2.120,
                                    2.110,  2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064,
                                    2.060,  2.056, 2.052, 2.048, 2.045, 2.042 };
    if (degrees <= (int32_t)COUNT_OF(first))
        return first[degrees > 0 ? degrees - 1 : 0];
    if (degrees < 40)
        return 2.042;
    if (degrees < 60)
        return 2.021;
    return degrees < 120 ? 2.000 : 1.980;
}

struct interval metrics_interval_of(const double *values, int32_t n)
{
    struct interval out = { .n = n };
    double sum = 0;
    if (n == 0)
        return out;
    for (int32_t i = 0; i < n; i++)
        out.mean += values[i] / n;
    for (int32_t i = 0; i < n; i++)
        sum += (values[i] - out.mean) * (values[i] - out.mean);
    double half = n > 1 ? metrics_interval_t(n - 1) * num_sqrt(sum / (n - 1) / n) : 0;
    out.low = out.mean - half;
    out.high = out.mean + half;
    return out;
}
