/* Orders of a manager, and its plans for many nodes. Private to the manager. */
#pragma once
#include "cluster/manager_room.h"
#include "cluster/message.h"

/* ---- manager.c ---- */

void manager_plan_order_out(struct cluster_manager *m, enum message_kind kind, int engine,
                            int service, const char *why);
void manager_plan_order_in(struct cluster_manager *m, int engine, int service);
/* Orders the model to the engine that takes it best, if one can now. */
void manager_plan_bring_in(struct cluster_manager *m, int service);
/* The model is to be loaded once, and then wherever it fits without eviction. */
void manager_plan_want(struct cluster_manager *m, int service);

/* ---- manager_plan.c ---- */

/* Drains nodes, and brings in the copies that operators want. Returns the next wake. */
int64_t manager_plan_step(struct cluster_manager *m);
