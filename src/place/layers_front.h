/* The least step for each number of devices: exact, by dynamic programming over sets of devices.
 *
 * With equal layers a plan's cost is a path through its set of devices plus a fill: every device of
 * the set has one layer, the others go to the fastest with room. So the least path through each set
 * that ends at each device (Held and Karp) is all that is needed: n^2 2^n steps for n devices that
 * are all different.
 *
 * Devices that may be exchanged (same time, memory and links to every other) are one class, and a
 * set is how many of each class it has; classes that may be exchanged as wholes (equal machines)
 * are kept in descending order. Both are exact: they only name equal sets once. 64 devices on 8
 * equal machines have 12,870 sets for 2^64. A state is left out when even the cheapest fill with
 * what it already costs reaches the best plan that has no more devices.
 *
 * Private to the planners of place/layers.h. */
#pragma once
#include "place/layers_problem.h"

enum { LAYERS_FRONT_STATES_MAX = 1 << 21 };

struct layers_front {
    int32_t n_max;         /* devices that a plan may have */
    int64_t *cost_ps;      /* (n_max + 1): with exactly so many; INT64_MAX where there is none, or
                              fewer devices are as good */
    struct front *private; /* the states that the plans are read from */
};
/* is_fewest: stop at the first number of devices that hold the model. The problem outlives it. */
enum status layers_front_open(struct layers_front *front, const struct layers_problem *problem,
                              bool is_fewest, struct fault *fault) MUST_USE;
/* The plan with so many devices; cost_ps[n] says that there is one. */
void layers_front_plan(const struct layers_front *front, int32_t n, struct layers_plan *plan);
void layers_front_close(struct layers_front *front); /* also after a fault */
