/* Engines that go ahead: where the router sends to the engine with the fewest requests, one that
 * has more than others gets none before those others have as many. So it goes on by itself, its
 * state in the cache, until a request could come to it at the earliest; what ends there is told at
 * its time. The report is the same byte for byte.
 *
 * How long: with n requests at an engine, the others take in sum(max(0, n - theirs)) more before it
 * is its turn, and what ends at them only adds to that. What ends at the engine itself makes n
 * smaller at once, told or not. The arrivals of so many requests are therefore drawn beforehand.
 *
 * For this room alone. */
#pragma once
#include "base/base.h"

struct sim;
struct sim_ahead;
struct sim_engine;
struct service_event;

/* NULL: nobody goes ahead in this simulation. After the door was opened. */
struct sim_ahead *sim_ahead_open(const struct sim *sim);
void sim_ahead_close(struct sim_ahead *ahead);
/* The next request of the workload becomes sim.ask. */
void sim_ahead_next_ask(struct sim *sim);
/* The engine's step, and those after it that it can take ahead. Returns when its next is due. */
int64_t sim_ahead_step(struct sim *sim, const struct sim_engine *engine);
/* One more was sent to the engine (1), or one less is there (-1), as the door counts. */
void sim_ahead_count(struct sim *sim, uint32_t engine, int32_t change);
/* An engine's event, to be told at its time. False: nobody goes ahead. */
bool sim_ahead_keep(struct sim *sim, const struct sim_engine *engine,
                    const struct service_event *event);
int64_t sim_ahead_tell_ns(const struct sim *sim); /* when the next is told; TIME_NEVER */
void sim_ahead_tell(struct sim *sim);             /* tells it */
