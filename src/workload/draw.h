/* Draws one source: lengths by (seed, source, number), and the gaps between its arrivals, one after
 * the other. */
#pragma once
#include "workload/workload.h"

/* The purposes of random numbers; each has its own stream. */
enum {
    WORKLOAD_DICE_GAPS = 1,
    WORKLOAD_DICE_LENGTHS,
    WORKLOAD_DICE_CANCEL,
    WORKLOAD_DICE_DEADLINE,
    WORKLOAD_DICE_OUTPUT,
    WORKLOAD_DICE_PREDICTION,
    WORKLOAD_DICE_BURSTS,
    WORKLOAD_DICE_RUNS,
    WORKLOAD_DICE_TOKENS,
    WORKLOAD_DICE_NAMED_TOKENS,
};
static inline uint64_t workload_dice(uint32_t source, uint32_t purpose)
{
    return (uint64_t)source << 8 | purpose;
}

/* Returns the inverse of the normal distribution's function, with relative error < 2e-9, for
 * 0 < p < 1. */
double workload_draw_normal(double p);
/* The lengths of request `number` of a source. */
struct workload_pair workload_draw_lengths(const struct workload_traffic *traffic, uint64_t seed,
                                           uint32_t source, uint64_t number);
/* Cuts lengths to what the filter lets through. */
struct workload_pair workload_draw_cut(const struct workload_filter *filter,
                                       struct workload_pair pair);

/* The clock of one drawn source. */
struct workload_draw_clock {
    const struct workload_traffic *traffic;
    struct rng gaps, bursts;
    double at_s;
    double left_s, factor; /* of the present burst, pause or step of the profile */
    double gap_scale;      /* makes the drawn gaps' mean 1 */
    double period_s;       /* of the profile, at the mean rate */
    uint64_t step;
    bool is_on;
};
void workload_draw_begin(struct workload_draw_clock *clock, const struct workload_traffic *traffic,
                         uint64_t seed, uint32_t source);
/* The next arrival, in seconds. */
double workload_draw_arrival(struct workload_draw_clock *clock);
