/* How models come and go in a unit; unit.h draws its states. For the unit's own files alone, which
 * call all of this from its owner's thread. */
#pragma once
#include "run/unit_state.h"

/* Adds a change of a service's status, for run_unit_next_change. fault is NULL, or the reason. */
void run_unit_moves_tell(struct run_unit *unit, int service, enum service_status status,
                         enum status cause, const struct fault *fault);
/* Does the same for a status of progress. It is left out while too many changes wait to be read. */
void run_unit_moves_tell_under_way(struct run_unit *unit, int service, enum service_status status);
/* Begins to load a service that is QUEUED. There is no other job. */
void run_unit_moves_start(struct run_unit *unit, int service, int64_t now_ns);
/* Takes the answer of the loader. */
void run_unit_moves_step(struct run_unit *unit);
/* Takes an answer of the engine. */
void run_unit_moves_take(struct run_unit *unit, const struct engine_host_answer *answer,
                         int64_t now_ns);
/* Repeats calls that found a full inbox, and asks the engine to release models that are to
 * leave. */
void run_unit_moves_repeat(struct run_unit *unit);
/* Tells the engine that the memory of a model that left is given back. */
void run_unit_moves_ask_closed(struct run_unit *unit, int service);
void run_unit_moves_ask_added(struct run_unit *unit, int service);
void run_unit_moves_ask_removed(struct run_unit *unit, int service);
void run_unit_moves_clear(struct run_unit_service *service); /* its number is free again */
