/* Charging: after a batch, what each member has worked, and what follows from that.
 *
 * A request is charged its work as if alone. Its doubling budget Q starts at B = L-hat + sigma and
 * work lowers it; at 0 or below the level rises by one and Q becomes 2^level B. A hold of n steps
 * charges exactly what n single steps would: the closed-form span tells how many steps fit into
 * what is left. With db_counts_wall a request is charged the time of its batches instead. */
#pragma once
#include "schedule/ranks.h"

/* Charges the members of a batch that is done: attained_ps, spent_ps, budget, level, key by budget;
 * when they were served and whether they are in a residence (starve.h); the blocks that they have
 * booked. Then schedule_ranks_first_ran has to be called. */
void schedule_charge_batch(struct schedule_ranks *ranks, const struct schedule_view *view,
                           const struct schedule_event *event);
