/* The manager decides which models are in memory. It is a state machine that takes and sends
 * messages.
 *
 * It loads wanted models (at start, for requests held at a gateway, or for an admin). It evicts by
 * bytes what was idle longest (place/residency.h), unloads what outlived its keep-alive, and
 * answers control calls. A busy model is evicted in two cases only. One is an answer that has begun
 * (a SPACE that insists). The other is a model that has been wanted for 30 s and that busy ones
 * keep out (manager_room.h). A model that can never fit is refused at once with the arithmetic. */
#pragma once
#include "base/str.h"
#include "cluster/manager_options.h"

struct cluster_manager;
struct cluster_manager *cluster_manager_open(const struct cluster_manager_options *options);
void cluster_manager_close(struct cluster_manager *manager);
/* Adds a service, under an unused number. Its model is loaded when it is wanted, or at once if it
 * is loaded at start. */
void cluster_manager_add_service(struct cluster_manager *manager, int service,
                                 const struct service_spec *spec, int64_t need_bytes);
/* Stops loading its model, which leaves each engine as soon as it has no requests there. */
void cluster_manager_dismiss_service(struct cluster_manager *manager, int service);
/* Removes the service for good. Returns false when a model of it is on an engine, or an order is in
 * progress. */
bool cluster_manager_remove_service(struct cluster_manager *manager, int service);
int64_t cluster_manager_step(struct cluster_manager *manager, int64_t now_ns); /* next wake */
