/* Decodes that are advanced together (schedule/steady.h has the idea). For the files of this room
 * alone; all of these do nothing in an engine where that is not done. */
#pragma once
#include "engine/state.h"

void engine_steady_open(struct engine *engine);
void engine_steady_close(struct engine *engine);
bool engine_steady_may_add(const struct engine *engine, const struct kv_layout *layout);
void engine_steady_add(struct engine *engine, int service); /* one that joined */
void engine_steady_remove(struct engine *engine, int service);
/* Writes what is late into the records. */
void engine_steady_settle(struct engine *engine, int service);
void engine_steady_settle_all(struct engine *engine);
void engine_steady_show(struct engine *engine); /* all, tables as they are in flight too */
void engine_steady_join(struct engine *engine, uint32_t slot); /* if it only decodes from now on */
void engine_steady_leave(struct engine *engine, uint32_t slot);
void engine_steady_build(struct engine *engine, int service); /* whole again, if it can be */
/* How many of the batch's items will be advanced together: all steady ones, or 0; then its items
 * are steady no more. */
int32_t engine_steady_part(struct engine *engine, const struct batch *batch, int n_rounds);
void engine_steady_need(struct engine *engine, int service, int n_rounds); /* into needs */
/* Begins a plan of one batch that holds nobody but all of them, as begin does any plan. False: it
 * is no such plan, or not all of its rounds have blocks; nothing has changed. */
bool engine_steady_begin(struct engine *engine, const struct schedule_plan *plan);
void engine_steady_take_off(struct engine *engine, const struct engine_flight *flight);
/* Those in flight are on their own from now on: before anything is done to one of them. */
void engine_steady_pin(struct engine *engine, int service);
void engine_steady_advance(struct engine *engine, const struct engine_flight *flight,
                           int32_t n_steps);
