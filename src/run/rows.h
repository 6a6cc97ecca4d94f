/* Lays a batch out: the rows of its next pass, or the parts of its next copy. */
#pragma once
#include "run/lane.h"

/* Fills the slot from the present place of the lane's job. Returns true when the batch needs no
 * more work. */
bool run_rows_fill(struct run_lane *lane, struct run_lane_slot *slot);
/* Returns the rows of a batch, including pads. */
int64_t run_rows_count(const struct batch *batch);
enum { RUN_ROWS_SEQUENCES_MAX = 2 * LIMIT_BATCH_ITEMS, RUN_ROWS_PARTS_MAX = 1024 };
