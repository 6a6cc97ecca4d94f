/* A manager of many nodes: the wishes of operators, nodes that drain, and nodes that went. */
#pragma once
#include "base/status.h"

struct cluster_manager;
struct engine_report;
struct str;

/* Returns the last report of each engine; now_ns 0: it has not reported. *n_engines: how many. */
const struct engine_report *cluster_manager_plan_reports(const struct cluster_manager *manager,
                                                         int *n_engines);
/* The session with a node has ended, so that no order to it is in progress any more. is_gone: all
 * that it had counts as gone, too. */
void cluster_manager_plan_lose(struct cluster_manager *manager, int node, bool is_gone);
/* Models may be loaded on the first n_engines of the node, 0: on none. At first on all. */
void cluster_manager_plan_node(struct cluster_manager *manager, int node, int n_engines);
/* Whether the first n_engines of the node have reported. */
bool cluster_manager_plan_knows(const struct cluster_manager *manager, int node, int n_engines);
/* Whether models leave this node: each has to be loaded elsewhere first, if it is in use or has to
 * be somewhere. A drained node has to be unplanned, too. */
void cluster_manager_plan_drain(struct cluster_manager *manager, int node, bool is_drained);
/* An operator's wish: at least this many copies of the model; 0: as many as requests want. -1: it
 * leaves all engines, and no request brings it back. */
void cluster_manager_plan_model(struct cluster_manager *manager, int service, int n_copies);
/* An operator's wish: the model is on this node, on the engine of this number there (-1: on any),
 * stays there, and is nowhere else. Copies elsewhere leave after it is loaded there, and their
 * requests go on there. node -1: the place is not there now, so the model is loaded nowhere. */
void cluster_manager_plan_pin(struct cluster_manager *manager, int service, int node, int engine);
void cluster_manager_plan_unpin(struct cluster_manager *manager, int service);
/* A paused model gets no new requests. Its wanted copies are not kept: they may be evicted. */
void cluster_manager_plan_pause(struct cluster_manager *manager, int service, bool is_paused);
/* While it is frozen, it orders nothing. */
void cluster_manager_plan_freeze(struct cluster_manager *manager, bool is_frozen);
/* Writes where models are or are coming, a line each: the name of the node of that number, the
 * node's number of the engine, and the model. */
void cluster_manager_plan_print(const struct cluster_manager *manager,
                                const char *(*name_of)(const void *self, int node),
                                const void *self, struct str *out);
/* Returns whether the last load of the model failed on all engines that could take it, within
 * SERVICE_LOAD_AGAIN_S, so that it is nowhere. *why: the manager's, valid until its next step. */
bool cluster_manager_plan_is_broken(const struct cluster_manager *manager, int service,
                                    enum status *cause, const char **why);
/* For the manager's step: drains nodes, and brings in the copies that operators want. Returns the
 * next wake. */
int64_t manager_plan_step(struct cluster_manager *m);
