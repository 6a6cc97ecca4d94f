/* Services that join and leave while the simulation runs, by the engines' own functions:
 *
 *   AWAY --joins_ns--> JOINING --loaded on all of its engines--> THERE
 *    ^                    |                                        |
 *    |                    +--------------leaves_ns-----------------+--> LEAVING
 *    |<--no request of it is left: closed and removed from its engines-----|
 *
 * An engine takes requests of a service as soon as it has loaded it. A request that arrives while
 * its service is AWAY or LEAVING ends at once as failed, since no name leads to it. Requests that
 * came before are served. */
#pragma once
#include "sim/state.h"

struct sim_joins;
/* Makes the services that join later leave their engines, which are open and have loaded nothing.
 * Returns NULL when all services are there all the time. */
struct sim_joins *sim_joins_open(struct sim *sim);
void sim_joins_close(struct sim_joins *joins);
void sim_joins_show(struct sim *sim); /* to the router, at the start */
/* Returns whether the engine loads the service at the start. */
bool sim_joins_is_first(const struct sim_joins *joins, int32_t service);
bool sim_joins_takes(const struct sim_joins *joins, int32_t service); /* requests */
/* Notes that a live request of the service came (1) or went (-1). */
void sim_joins_count(struct sim *sim, int32_t service, int n);
/* Handles an event of kind SIM_JOINS. */
void sim_joins_tick(struct sim *sim, uint64_t what);
/* Loads what had no room on the engine so far. */
void sim_joins_stepped(struct sim *sim, int32_t engine);
