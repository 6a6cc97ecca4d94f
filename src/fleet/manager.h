/* `shoal manager`: the elected manager of cluster/elected.h with etcd, the TCP bus, a monitor, live
 * plans and an endpoint. */
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
