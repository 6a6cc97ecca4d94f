/* Charging: after a batch, computes each member's work, and what follows from it.
 *
 * A request is charged its work as if alone. Its doubling budget Q starts at B = L-hat + sigma, and
 * work lowers it. At 0 or below the level rises by one and Q becomes 2^level B. A hold of n steps
 * charges exactly what n single steps would, because the closed-form span gives how many steps fit
 * into the rest. With db_counts_wall a request is charged the time of its batches instead. */
#pragma once
#include "schedule/ranks.h"

/* Charges the members of a finished batch. It sets attained_ps, spent_ps, budget, level and the key
 * by budget, when they were served, whether they are in a residence (starve.h), and the blocks that
 * they have booked. Call schedule_ranks_first_ran afterwards. */
void schedule_charge_batch(struct schedule_ranks *ranks, const struct schedule_view *view,
                           const struct schedule_event *event);
