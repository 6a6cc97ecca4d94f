/* Aladdin's Algorithm 2, done incrementally: requests that were placed in this heartbeat and not
 * yet sent move from engines whose predictions were too low to engines whose were too high. */
#pragma once
#include "route/worker.h"

/* Moves choices between engines as long as that lessens the sum of |error_ps| over the engines and
 * keeps (b) to (e) and room on the engine moved to (n_room: by engine). Forced ones stay. Returns
 * the number of moves. */
int32_t route_rebalance(const struct route_fit *fit, struct route_plan *plan, int32_t *n_room);
