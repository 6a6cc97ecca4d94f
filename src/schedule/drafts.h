/* Adds drafts to the decodes of a batch. */
#pragma once
#include "schedule/policy.h"

/* Adds the view's drafts to the running decodes of the batch, in its order, as far as n_seats rows
 * reach. They take only blocks that hold nothing cached, from the copy of the budget. */
void schedule_drafts_add(const struct schedule_view *view, struct kv_budget *budget,
                         struct batch *batch, int32_t n_seats);
