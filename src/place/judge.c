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

double place_judge_reached(const struct place_service_score *services, int32_t n, double attainment)
{
    double by_services = 0, by_requests = 0;
    int64_t n_requests = 0;
    bool do_all = true;
    for (int32_t s = 0; s < n; s++) {
        double asked = attainment * (double)services[s].n, met = (double)services[s].n_met;
        double part = met >= asked ? 1 : met / asked;
        do_all = do_all && met >= asked;
        by_services += part / n;
        by_requests += part * (double)services[s].n;
        n_requests += services[s].n;
    }
    if (do_all)
        return 1;
    double reached = 0.5 * by_services + 0.5 * by_requests / (double)n_requests;
    return reached < 0.9999 ? reached : 0.9999;
}

/* Returns whole hundredths; the rounding error of a sum does not lose one. */
static int64_t hundredths(double reached)
{
    return (int64_t)num_floor(100 * reached + 1e-6);
}

int place_judge_compare(const struct place_score *a, const struct place_score *b)
{
    int o = order(a->n_placed, b->n_placed);
    if (o == 0)
        o = order(hundredths(a->reached), hundredths(b->reached));
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
    else if (hundredths(better->reached) != hundredths(worse->reached))
        snprintf(text, n_bytes,
                 "services %.0f%% of the way to the attainment asked for against %.0f%%",
                 num_floor(100 * better->reached + 1e-6), num_floor(100 * worse->reached + 1e-6));
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
