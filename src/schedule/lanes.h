/* Lanes of a device: the whole of it, and parts that compute side by side. */
#pragma once
#include "schedule/policy.h"

/* Lanes for services with shares in percent, 1 to 99 (others have none): the whole device; one of
 * each of the first LIMIT_LANES - 2 shares, for decodes; the largest that MuxServe's 120 points
 * leave beside the smallest of them, for prompts. Two that are more together do not run side by
 * side. lanes: (LIMIT_LANES). Returns how many, 0 when nobody has a share. */
int32_t schedule_lanes_of_shares(const int32_t *share_percent, int n_services,
                                 struct schedule_lane *lanes);
/* The whole device, and n parts of it in proportion, at most LIMIT_LANES - 1. lanes: (n + 1).
 * Returns how many. */
int32_t schedule_lanes_of_parts(const int32_t *parts, int n, struct schedule_lane *lanes);
