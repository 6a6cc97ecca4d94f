/* A manager of many nodes: candidate in the election, and, while it leads, the one that decides
 * which node has which model.
 *
 *   FOLLOWING --elected--> LEADING: sessions with all nodes, then plans --leads no longer-->
 * FOLLOWING
 *
 * A leader knows nothing of an earlier one. It waits for the first report of each node that is a
 * member, 3 s at most, before it orders anything. When more than half of the nodes vanish within
 * 10 s, it changes nothing until half of them are back. */
#pragma once
#include "config/config.h"

struct fleet_manager;
enum status fleet_manager_open(struct fleet_manager **out, const struct config *config,
                               struct fault *fault) MUST_USE;
void fleet_manager_close(struct fleet_manager *manager);
/* Goes on; returns the next wake, of time_now_ns. */
int64_t fleet_manager_step(struct fleet_manager *manager);
struct event_base *fleet_manager_base(struct fleet_manager *manager);
/* Readable when there is something to do. */
int fleet_manager_bus_fd(struct fleet_manager *manager);
int fleet_manager_store_fd(struct fleet_manager *manager);
