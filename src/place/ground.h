/* Groups to begin with: nodes cut into groups of one degree, after larger ones for the services
 * that need them (the merge rule of SeaLLM's text, ALGORITHMS.md 1.2). */
#pragma once
#include "place/plan.h"

/* Empty groups of n_devices into an empty plan, and as few larger ones as hold the services whose
 * models need them, n_members_max in each at most. False when one of those has no room; the plan is
 * made without it. */
bool place_ground_cut(struct place_plan *plan, const struct place_problem *problem,
                      int32_t n_devices, int32_t n_members_max, struct pile *pile);
/* The largest degree that a node has room for. */
int32_t place_ground_degree_max(const struct place_problem *problem);
