/* Requests that are swapped to the host pool and come back. Private to this room. */
#pragma once
#include "engine/state.h"

void engine_swap_open(struct engine *engine);
/* Preempts the requests that the plan names. Copies of those that go to the host begin; the others
 * wait again at once. Returns the batches begun. */
int engine_swap_out(struct engine *engine, const struct schedule_plan *plan);
/* Returns whether a request of this batch lies on the host. Then its table must be reserved for
 * that too. */
bool engine_swap_wants_in(struct engine *engine, const struct batch *batch);
void engine_swap_stay_out(struct engine *engine, const struct batch *batch); /* it was refused */
/* Returns the batch of copies that precedes this one. */
struct batch engine_swap_in(struct engine *engine, const struct batch *batch);
/* Adds a new request whose first n positions have come from elsewhere into the host pool. If that
 * has no room, they are recomputed. Only in a simulation, where just counts move. */
void engine_swap_arrives(struct engine *engine, uint32_t slot, int32_t n);
void engine_swap_forget(struct engine *engine, uint32_t slot); /* what it has on the host */
void engine_swap_commit(struct engine *engine, struct engine_flight *flight,
                        const struct engine_exec_done *done);
