/* The orders and answers of a manager. Private to it. */
#pragma once
#include "cluster/manager_room.h"
#include "cluster/message.h"

#define MANAGER_ORDERS_GONE "is leaving this server"

/* Returns false when the bus has no room. */
bool manager_orders_post(struct cluster_manager *m, enum message_kind kind, int engine,
                         int service);
/* The order by which an idle model leaves an engine. */
enum message_kind manager_orders_idle(const struct cluster_manager *m);
void manager_orders_out(struct cluster_manager *m, enum message_kind kind, int engine, int service,
                        const char *why);
void manager_orders_in(struct cluster_manager *m, int engine, int service);
/* Orders the model to the engine that takes it best, if one can now. */
void manager_orders_bring_in(struct cluster_manager *m, int service);
/* The model is to be loaded on all engines that may serve it, wherever it fits. */
void manager_orders_make_due(struct cluster_manager *m, int service);
/* The model is to be loaded once, and then wherever it fits without eviction. */
void manager_orders_want(struct cluster_manager *m, int service);
bool manager_orders_is_loaded_anywhere(const struct cluster_manager *m, int service);
/* Stops loading the model, which leaves each engine as soon as it has no requests there. */
void manager_orders_dismiss(struct cluster_manager *m, int service);

/* Sends answers. Those without room are sent at a later step. */
void manager_orders_say_answers(struct cluster_manager *m);
/* Said at the end of the step. */
void manager_orders_answer(struct cluster_manager *m, int service, uint8_t kind, enum status status,
                           const struct fault *fault);
void manager_orders_refuse(struct cluster_manager *m, int service, uint8_t kind, enum status status,
                           const char *sentence);
/* Tells each waiting gateway why the model is not loaded. */
void manager_orders_tell_broken(struct cluster_manager *m, int service);
/* Notes a failed load, which is not retried for a while, counted from now. */
void manager_orders_note_broken(struct cluster_manager *m, int service, enum status cause,
                                const struct fault *fault);
