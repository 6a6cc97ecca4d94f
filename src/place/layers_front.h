/* Finds the least step for each number of devices, exactly, by dynamic programming over sets of
 * devices.
 *
 * With equal layers a plan's cost is a path through its set of devices plus a fill: every device of
 * the set has one layer. The other layers go to the fastest devices with room. So the search needs
 * only the least path through each set that ends at each device (Held and Karp). This takes n^2 2^n
 * steps for n devices that are all different.
 *
 * Devices that may be exchanged (same time, memory and links to every other) are one class, and a
 * set holds a number of each class. Classes that may be exchanged as wholes (equal machines) are
 * kept in descending order. Both steps are exact, because they only give equal sets one name. With
 * them, 64 devices on 8 equal machines have 12,870 sets instead of 2^64. A state is left out when
 * even the cheapest fill with what it already costs reaches the best plan that has no more devices.
 *
 * Only the planners of place/layers.h use it. */
#pragma once
#include "place/layers.h"

enum { LAYERS_FRONT_STATES_MAX = 1 << 21 };

struct layers_front {
    int32_t n_max;         /* devices that a plan may have */
    int64_t *cost_ps;      /* (n_max + 1): the cost with exactly this many; INT64_MAX if that is
                              impossible, or fewer devices are as good */
    struct front *private; /* the states that the plans are read from */
};
/* is_fewest: stop at the first number of devices that hold the model. The problem must outlive the
 * front. */
enum status layers_front_open(struct layers_front *front, const struct layers_problem *problem,
                              bool is_fewest, struct fault *fault) MUST_USE;
/* Makes the plan with n devices. Check cost_ps[n] first, since not every n has a plan. */
void layers_front_plan(const struct layers_front *front, int32_t n, struct layers_plan *plan);
void layers_front_close(struct layers_front *front); /* also after a fault */
