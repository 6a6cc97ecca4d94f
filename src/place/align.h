/* Aligns the groups of a new plan with the old plan, so that the least has to move.
 *
 * Machines of one kind and size are interchangeable. So are groups of one size on devices of one
 * kind. A planner does not care which of them it names. First, machines that are cut alike are
 * matched. Then groups are matched where most bytes of weights stay. The match is greedy: the pair
 * that keeps most comes first, and among equal pairs the one that stays in place. It takes
 * O(nodes^2 + groups^2). */
#pragma once
#include "place/plan.h"

/* Both plans are of one problem and finished; scratch memory comes from the pile. The plan is worth
 * the same after it. */
void place_align(const struct place_problem *problem, const struct place_plan *kept,
                 struct place_plan *plan, struct pile *pile);
/* Returns the group that lies on exactly these devices; NULL if none does. */
const struct place_group *place_align_group_at(const struct place_plan *plan, int32_t first_device,
                                               int32_t n_devices);
