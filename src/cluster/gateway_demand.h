/* The traffic that a gateway counts for the leading manager, which has it from the nodes. Private
 * to the gateway.
 *
 * Sums of a service only grow. They are sent every second while there is news, to one node after
 * the other, and every 5 s without news. */
#pragma once
#include "monitor/monitor.h"

struct cluster_gateway;
struct gateway_entry;
struct gateway_demand {
    struct gateway_demand_of {
        struct monitor_bin sums;
        uint64_t n_said;
        int64_t said_ns;
        int32_t n_left; /* messages until it has no more news */
    } * of;             /* (n_services) */
    int64_t next_ns;    /* when the next of it is sent */
    int node;           /* the node that got the last of it */
};
struct gateway_demand *gateway_demand_open(int n_services);
void gateway_demand_close(struct gateway_demand *demand);
/* The number stands for another service from now on. */
void gateway_demand_forget(struct cluster_gateway *g, int service);
void gateway_demand_arrived(struct cluster_gateway *g, const struct gateway_entry *entry);
/* why: enum service_why. A cancelled request is neither an answer nor a miss. */
void gateway_demand_ended(struct cluster_gateway *g, const struct gateway_entry *entry,
                          uint8_t why);
/* Sends what is due. Moves *wake_ns to its next time. */
void gateway_demand_step(struct cluster_gateway *g, int64_t *wake_ns);
