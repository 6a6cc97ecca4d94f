/* Finds the next wake of n sleepers with a tournament, in which ties go to the lower index. */
#pragma once
#include "base/base.h"

struct sim_wakes {
    int64_t *wake_ns; /* (n) */
    uint32_t *winner; /* (2 * n_leaves) of the subtree below; root at 1 */
    uint32_t n, n_leaves;
};
void sim_wakes_init(struct sim_wakes *wakes, uint32_t n); /* all TIME_NEVER */
void sim_wakes_free(struct sim_wakes *wakes);
void sim_wakes_set(struct sim_wakes *wakes, uint32_t index, int64_t wake_ns);
static inline uint32_t sim_wakes_first(const struct sim_wakes *wakes)
{
    return wakes->winner[1];
}
