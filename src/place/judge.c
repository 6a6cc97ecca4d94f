/* The order of scores. */
#include "place/judge.h"

#include "base/num.h"
#include <stdio.h>

static int64_t steps(double x, double n_per_one)
{
    double scaled = x * n_per_one + 0.5;
    return scaled < 9e15 ? (int64_t)num_floor(scaled) : INT64_MAX;
}

static int order(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

int place_judge_compare(const struct place_score *a, const struct place_score *b)
{
    int o = order(a->n_placed, b->n_placed);
    if (o == 0)
        o = order(a->n_met, b->n_met);
    if (o == 0)
        o = order(steps(a->attainment, 1000), steps(b->attainment, 1000));
    if (o == 0)
        o = order(steps(b->normalized, 100), steps(a->normalized, 100));
    return o != 0 ? o : order(b->n_devices, a->n_devices);
}

void place_judge_difference(const struct place_score *better, const struct place_score *worse,
                            char *text, size_t n_bytes)
{
    if (better->n_placed != worse->n_placed)
        snprintf(text, n_bytes, "%d services placed against %d", better->n_placed, worse->n_placed);
    else if (better->n_met != worse->n_met)
        snprintf(text, n_bytes, "%d services in time against %d", better->n_met, worse->n_met);
    else if (steps(better->attainment, 1000) != steps(worse->attainment, 1000))
        snprintf(text, n_bytes, "attainment %.1f%% against %.1f%%", 100 * better->attainment,
                 100 * worse->attainment);
    else if (steps(better->normalized, 100) != steps(worse->normalized, 100))
        snprintf(text, n_bytes, "normalized latency %.2f against %.2f", better->normalized,
                 worse->normalized);
    else if (better->n_devices != worse->n_devices)
        snprintf(text, n_bytes, "%d devices against %d", better->n_devices, worse->n_devices);
    else
        snprintf(text, n_bytes, "nothing: they are equal");
}
