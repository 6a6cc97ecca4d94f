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

/* ---- Of many nodes (manager_plan.c). ---- */

/* The session with a node has ended, so that no order to it is in progress any more. is_gone: all
 * that it had counts as gone, too. */
void cluster_manager_lose_node(struct cluster_manager *manager, int node, bool is_gone);
/* Models may be loaded on the first n_engines of the node, 0: on none. At first on all. */
void cluster_manager_plan_node(struct cluster_manager *manager, int node, int n_engines);
/* Whether the first n_engines of the node have reported. */
bool cluster_manager_knows_node(const struct cluster_manager *manager, int node, int n_engines);
/* Whether models leave this node: each has to be loaded elsewhere first, if it is in use or has to
 * be somewhere. A drained node has to be unplanned, too. */
void cluster_manager_drain_node(struct cluster_manager *manager, int node, bool is_drained);
/* An operator's wish: at least so many copies of the model; 0: as many as requests want. -1: it
 * leaves all engines, and no request brings it back. */
void cluster_manager_desire(struct cluster_manager *manager, int service, int n_copies);
/* While it is frozen, it orders nothing. */
void cluster_manager_freeze(struct cluster_manager *manager, bool is_frozen);
/* Writes where models are or are coming, a line each: the name of the node of that number, the
 * node's number of the engine, and the model. */
void cluster_manager_print_places(const struct cluster_manager *manager,
                                  const char *(*name_of)(const void *self, int node),
                                  const void *self, struct str *out);
int64_t cluster_manager_step(struct cluster_manager *manager, int64_t now_ns); /* next wake */
