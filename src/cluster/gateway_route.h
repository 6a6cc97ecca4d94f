/* The messages that a gateway sends to engines. Private to the gateway. */
#pragma once
#include "cluster/gateway_state.h"

/* Updates an engine's mirror: after a report, when it was reported full, and after that time. */
void gateway_route_refresh(struct cluster_gateway *g, int engine);
/* Ends requests that waited too long, and sends which models are wanted. Returns the time of the
 * next check. */
int64_t gateway_route_watch_held(struct cluster_gateway *g);
/* Sends which models are in use although their engines have no request. The router holds requests
 * for them, as for the next slice or until a batch is composed. */
void gateway_route_say_kept(struct cluster_gateway *g);
/* Sends what the routing core chooses. */
void gateway_route_send(struct cluster_gateway *g);
/* Tells the manager that the entry's engine has no space for it. With `insists`, even models that
 * are pinned or busy have to make room. */
void gateway_route_say_no_space(struct cluster_gateway *g, const struct gateway_entry *entry,
                                bool insists);
/* Tells the engine to end an entry that was sent to it, now or as soon as the bus has room. */
void gateway_route_end_sent(struct cluster_gateway *g, struct gateway_entry *entry);
bool gateway_route_cancel(struct cluster_gateway *g,
                          const struct gateway_entry *entry); /* false: the bus is full */
void gateway_route_repeat_cancels(struct cluster_gateway *g);
