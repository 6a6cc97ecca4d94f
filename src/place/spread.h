/* SeaLLM's search by arithmetic: equal groups, a copy at a time to the group that is asked least,
 * of the service that costs most by the estimate; the cheapest plan on the way. */
#pragma once
#include "place/board.h"

/* plan: initialized, empty; it becomes groups of n_devices, larger ones where a service needs them,
 * of at most the board's n_members_max. The board shows it afterwards; its cost is the plan's. */
void place_spread(struct place_board *board, struct place_plan *plan, int32_t n_devices,
                  struct pile *pile);
