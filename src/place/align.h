/* Where the groups of a new plan lie, so that the least has to move.
 *
 * Machines of one kind and size can stand for one another, and so can groups of one size on devices
 * of one kind: a planner does not care which of them it names. Aligned, first the machines that are
 * cut alike lie upon one another, then groups where most bytes of weights stay. Greedy: the pair
 * that keeps most first; of equals the one that stays where it is. O(nodes^2 + groups^2). */
#pragma once
#include "place/plan.h"

/* Both of one problem, finished; scratch comes out of the pile. The plan is worth the same after
 * it. */
void place_align(const struct place_problem *problem, const struct place_plan *kept,
                 struct place_plan *plan, struct pile *pile);
/* The group that lies on just these devices; NULL: none does. */
const struct place_group *place_align_group_at(const struct place_plan *plan, int32_t first_device,
                                               int32_t n_devices);
