/* Adds drafts to the decodes of a batch. */
#pragma once
#include "schedule/fill.h"

/* Adds the view's drafts to the running decodes of the fill's batch, in its order. Each draft is a
 * row and takes a seat of n_seqs_max. They take only seats that are left, and only blocks that hold
 * nothing cached. */
void schedule_drafts_add(struct schedule_fill *fill);
