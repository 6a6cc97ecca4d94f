/* Draws one source: lengths by (seed, source, number), and the gaps between its arrivals, one after
 * the other. */
#pragma once
#include "sim/workload.h"

/* The purposes of random numbers; each has its own stream. */
enum {
    SIM_DICE_GAPS = 1,
    SIM_DICE_LENGTHS,
    SIM_DICE_CANCEL,
    SIM_DICE_DEADLINE,
    SIM_DICE_OUTPUT,
    SIM_DICE_PREDICTION,
    SIM_DICE_BURSTS,
    SIM_DICE_RUNS,
    SIM_DICE_TOKENS,
    SIM_DICE_NAMED_TOKENS,
};
static inline uint64_t sim_workload_dice(uint32_t source, uint32_t purpose)
{
    return (uint64_t)source << 8 | purpose;
}

/* Returns the inverse of the normal distribution's function, with relative error < 2e-9, for
 * 0 < p < 1. */
double sim_workload_draw_normal(double p);
/* The lengths of request `number` of a source. */
struct sim_pair sim_workload_draw_lengths(const struct sim_traffic *traffic, uint64_t seed,
                                          uint32_t source, uint64_t number);
/* Cuts lengths to what the filter lets through. */
struct sim_pair sim_workload_draw_cut(const struct sim_filter *filter, struct sim_pair pair);

/* The clock of one drawn source. */
struct sim_draw_clock {
    const struct sim_traffic *traffic;
    struct rng gaps, bursts;
    double at_s;
    double left_s, factor; /* of the present burst, pause or step of the profile */
    double gap_scale;      /* makes the drawn gaps' mean 1 */
    double period_s;       /* of the profile, at the mean rate */
    uint64_t step;
    bool is_on;
};
void sim_workload_draw_begin(struct sim_draw_clock *clock, const struct sim_traffic *traffic,
                             uint64_t seed, uint32_t source);
/* The next arrival, in seconds. */
double sim_workload_draw_arrival(struct sim_draw_clock *clock);
