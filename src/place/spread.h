/* SeaLLM's search by arithmetic: equal groups, and one copy at a time to the group with the least
 * load. While all requests are in time, the service with the highest rate needs a copy most, and
 * this search assumes that. With one service a group, the service with most work for each of its
 * copies comes first. */
#pragma once
#include "place/board.h"

/* plan, cheapest: initialized, empty. The plan becomes groups of n_devices, with larger groups
 * where a service needs them. A group has at most the board's n_members_max, and copies are added
 * until nothing fits. The board shows it afterwards. cheapest: the plan on the way with the least
 * estimated cost; cost: its cost. */
void place_spread(struct place_board *board, struct place_plan *plan, struct place_plan *cheapest,
                  double *cost, int32_t n_devices, struct pile *pile);
