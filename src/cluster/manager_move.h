/* A move from the present placement to a planned one, without a moment at which everything changes.
 *
 *   NONE --begin--> MOVING --every copy is as planned--> DONE
 *                      |-----a load failed, nothing changed for too long, a node went--> ABANDONED
 *
 * Each engine moves alone. A copy is loaded as soon as its engine has room for it. A copy that the
 * plan does not have leaves after all planned copies of its model are loaded. If the engine needs
 * its room for a planned copy, one loaded copy on another planned engine is enough. So the last
 * copy of a model never leaves before another one has reported LOADED. Requests of a copy that
 * leaves go back to their gateways, and on at another copy. An operator's wishes come first: a copy
 * that `shoal deploy` asks for stays.
 *
 * An abandoned move undoes nothing: what was loaded stays, and so does what was not unloaded. */
#pragma once
#include "base/set.h"
#include "core/limits.h"

struct cluster_manager;
enum cluster_manager_move_state {
    CLUSTER_MOVE_NONE,
    CLUSTER_MOVE_MOVING,
    CLUSTER_MOVE_DONE,
    CLUSTER_MOVE_ABANDONED
};
struct cluster_manager_target {
    int32_t engine;
    struct set services; /* of those that the plan is for, the ones that belong there */
};
/* Begins a move; targets and services are copied. Other engines and services stay as they are. A
 * move under way is replaced. It is abandoned after stall_ns without a change. */
void cluster_manager_move_begin(struct cluster_manager *manager,
                                const struct cluster_manager_target *targets, int32_t n,
                                const struct set *services, int64_t stall_ns);
void cluster_manager_move_abandon(struct cluster_manager *manager, const char *why);
/* Returns the state of the last move. *why: a sentence of how it ended, "" before. */
enum cluster_manager_move_state cluster_manager_move_state(const struct cluster_manager *manager,
                                                           const char **why);
struct cluster_manager_engine { /* an engine as planners see it */
    bool is_planned;            /* it has reported, and models may be loaded there */
    int64_t memory_bytes;       /* for models and their KV */
    struct set there;           /* models that are there or coming, and not leaving */
    double load_bytes_per_s;    /* of the slowest load that it did; 0: it did none */
};
void cluster_manager_move_see(const struct cluster_manager *manager, int32_t engine,
                              struct cluster_manager_engine *out);
/* These models were in a plan, installed or not: from here on none of them is new, and others may
 * come to its engine. */
void cluster_manager_move_planned(struct cluster_manager *manager, const struct set *services);
/* Whether the model may leave when no request needs it: no operator wants it, it is not pinned. */
bool cluster_manager_move_may_leave(const struct cluster_manager *manager, int32_t service);
/* Whether no plan may move the model: it leaves for good, or an operator pinned it to a place. */
bool cluster_manager_move_is_fixed(const struct cluster_manager *manager, int32_t service);

/* For the manager's step; returns the next wake. */
int64_t manager_move_step(struct cluster_manager *m);
void manager_move_free(struct cluster_manager *m);
