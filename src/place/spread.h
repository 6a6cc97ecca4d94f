/* SeaLLM's search by arithmetic: equal groups, a copy at a time to the group that is asked least.
 * While all are in time, who is asked most needs a copy most: so it is here; with one service a
 * group, who has most work for each of its copies. */
#pragma once
#include "place/board.h"

/* plan, cheapest: initialized, empty. plan becomes groups of n_devices, larger ones where a service
 * needs them, of at most the board's n_members_max, with copies until nothing fits; the board shows
 * it afterwards. cheapest: the plan on the way that costs least by the estimate; cost: that. */
void place_spread(struct place_board *board, struct place_plan *plan, struct place_plan *cheapest,
                  double *cost, int32_t n_devices, struct pile *pile);
