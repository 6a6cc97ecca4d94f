/* Aladdin's Algorithm 2, done incrementally. Requests that were placed in this heartbeat and not
 * yet sent move from engines with too low predictions to engines with too high ones. */
#pragma once
#include "route/worker.h"

/* Moves choices between engines as long as that lessens the sum of |error_ps| over the engines. A
 * move must keep (b) to (e) and room on its new engine (n_room: by engine). Forced ones stay.
 * Returns the number of moves. */
int32_t route_rebalance(const struct route_fit *fit, struct route_plan *plan, int32_t *n_room);
