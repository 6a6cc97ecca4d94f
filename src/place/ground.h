/* Makes the first groups. Nodes are cut into groups of one degree, after larger ones for the
 * services that need them (the merge rule of SeaLLM's text, docs/ALGORITHMS.md 1.2). */
#pragma once
#include "place/plan.h"

/* Adds empty groups of n_devices to an empty plan. Also adds as few larger groups as hold the
 * services whose models need them, with at most n_members_max in each. Returns false when such a
 * service has no room; the plan is then made without it. */
bool place_ground_cut(struct place_plan *plan, const struct place_problem *problem,
                      int32_t n_devices, int32_t n_members_max, struct pile *pile);
enum { PLACE_PARTITIONS_MAX = 40 };
struct place_partition { /* of a node: the number of groups of each degree, the largest first */
    int32_t counts[PLACE_DEGREES];
};
/* Lists all partitions of a node's devices, those with the largest groups first. If a node has more
 * than PLACE_PARTITIONS_MAX, it lists that many. Returns how many. */
int32_t place_ground_partitions(int32_t n_devices, struct place_partition *out);
/* Adds a node's groups. */
void place_ground_cut_node(struct place_plan *plan, const struct place_problem *problem,
                           const struct place_node *node, const struct place_partition *partition);
/* Returns the largest degree that a node has room for. */
int32_t place_ground_degree_max(const struct place_problem *problem);
