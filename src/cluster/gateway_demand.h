/* The traffic that a gateway counts for the leading manager, which has it from the nodes. Private
 * to the gateway.
 *
 * Sums of a service only grow. They are sent every second while there is news, to one node after
 * the other, and every 5 s without news. */
#pragma once
#include "monitor/monitor.h"

struct cluster_gateway;
struct gateway_entry;
struct gateway_demand { /* of a service */
    struct monitor_bin sums;
    uint64_t n_said;
    int64_t said_ns;
    int32_t n_left; /* messages until it has no more news */
};
void gateway_demand_arrived(struct cluster_gateway *g, const struct gateway_entry *entry);
/* why: enum service_why. A cancelled request is neither an answer nor a miss. */
void gateway_demand_ended(struct cluster_gateway *g, const struct gateway_entry *entry,
                          uint8_t why);
/* Sends what is due. Moves *wake_ns to its next time. */
void gateway_demand_step(struct cluster_gateway *g, int64_t *wake_ns);
