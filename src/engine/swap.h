/* Requests that give way to the host pool and come back: private to this room. */
#pragma once
#include "engine/state.h"

void engine_swap_open(struct engine *engine);
/* Whom the plan sends away: those that go to the host begin to be copied, the others wait again at
 * once. Returns the batches begun. */
int engine_swap_out(struct engine *engine, const struct schedule_plan *plan);
/* Does someone of this batch lie on the host? Then its table is to be reserved for that too. */
bool engine_swap_wants_in(struct engine *engine, const struct batch *batch);
void engine_swap_stay_out(struct engine *engine, const struct batch *batch); /* it was refused */
/* The batch of copies that goes ahead of this one. */
struct batch engine_swap_in(struct engine *engine, const struct batch *batch);
/* A new request whose first n positions have come from elsewhere, into the host pool; without room
 * there they are computed again. In a simulation alone: nothing but counts moves. */
void engine_swap_arrives(struct engine *engine, uint32_t slot, int32_t n);
void engine_swap_forget(struct engine *engine, uint32_t slot); /* what it has on the host */
void engine_swap_commit(struct engine *engine, struct engine_flight *flight,
                        const struct engine_exec_done *done);
