/* How a unit loads and unloads models; unit.h draws the states. For the unit's own files alone, all
 * from its owner's thread. */
#pragma once
#include "run/unit_state.h"

/* A change of a service's status, for run_unit_next_change. fault: NULL, or why. */
void run_unit_moves_tell(struct run_unit *unit, int service, enum service_status status,
                         enum status cause, const struct fault *fault);
/* The same of a status that passes: left out while too many wait to be read. */
void run_unit_moves_tell_under_way(struct run_unit *unit, int service, enum service_status status);
/* A service that is QUEUED begins to load; there is no other job. */
void run_unit_moves_start(struct run_unit *unit, int service, int64_t now_ns);
/* Takes the answer of the loader. */
void run_unit_moves_step(struct run_unit *unit);
/* Takes an answer of the engine. */
void run_unit_moves_take(struct run_unit *unit, const struct engine_host_answer *answer,
                         int64_t now_ns);
/* Asks that found a full inbox are made again, and models that are to leave are asked out. */
void run_unit_moves_repeat(struct run_unit *unit);
void run_unit_moves_ask_added(struct run_unit *unit, int service);
void run_unit_moves_ask_removed(struct run_unit *unit, int service);
void run_unit_moves_clear(struct run_unit_service *service); /* its number is free again */
