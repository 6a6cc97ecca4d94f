/* The messages that a gateway gets from engines. Private to the gateway. */
#pragma once
#include "cluster/gateway_state.h"

/* Takes mail until it finds an event for the client, whose payload stays on the bus until the next
 * call. */
bool gateway_mail_take(struct cluster_gateway *g, struct service_event *event,
                       const void **payload);

/* A model could not be loaded: ends requests that are held for it and have no other place. Returns
 * how many. */
uint32_t gateway_mail_end_held(struct cluster_gateway *g, int service, enum status cause,
                               const char *why);

/* Keeps the links to the nodes: begins sessions, and takes back what was sent over one that is
 * over. Moves *wake_ns to the time of the next step if that is earlier. */
void gateway_mail_watch_links(struct cluster_gateway *g, int64_t *wake_ns);
