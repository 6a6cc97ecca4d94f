/* Lanes of a device: the whole device, and parts that compute side by side. */
#pragma once
#include "schedule/policy.h"

/* Bit per lane that is busy. */
static inline uint32_t schedule_busy_lanes(const struct schedule_view *view)
{
    uint32_t busy = 0;
    for (int32_t i = 0; i < view->n_lanes; i++)
        busy |= (uint32_t)view->lane_is_busy[i] << i;
    return busy;
}
/* Returns whether a batch may start on this lane beside these. It is schedule_lane_is_free for
 * callers that check many lanes. */
static inline bool schedule_lane_is_free_of(const struct schedule_view *view, int32_t lane,
                                            uint32_t busy)
{
    return (busy >> lane & 1) == 0 && (view->lanes[lane].conflicts & busy) == 0;
}

/* Makes lanes for services with shares in percent, 1 to 99 (others have none). They are the whole
 * device; one for each of the first LIMIT_LANES - 2 shares, for decodes; and the largest that
 * MuxServe's 120 points leave beside the smallest of them, for prompts. Two lanes that exceed these
 * points together do not run side by side. lanes: (LIMIT_LANES). Returns how many; 0 when no
 * service has a share. */
int32_t schedule_lanes_of_shares(const int32_t *share_percent, int n_services,
                                 struct schedule_lane *lanes);
/* Makes the whole device, and n parts of it in proportion, at most LIMIT_LANES - 1. lanes: (n + 1).
 * Returns how many. */
int32_t schedule_lanes_of_parts(const int32_t *parts, int n, struct schedule_lane *lanes);
