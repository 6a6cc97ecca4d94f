/* The held requests of a host (gateway, simulator). Each service has a list in order of (priority,
 * arrival), with ties by id, kept in O(log n) also for requests that come back. Routers see the
 * lists in the view; hosts keep them here. */
#pragma once
#include "base/tree.h"
#include "route/policy.h"

struct route_held {
    struct route_request *requests; /* by slot, the host's; next and prev are kept here */
    struct route_service *services; /* the host's: first_held, last_held, n_held are kept here */
    struct tree_node *nodes;        /* by slot, the host's memory */
    struct tree *trees;             /* (n_services), the host's memory */
    struct set services_held;
    uint32_t n;
    uint32_t alone; /* the only held request, which is in no tree; or ROUTE_NONE */
};
/* The arrays stay the host's. */
void route_held_init(struct route_held *held, struct route_request *requests,
                     struct route_service *services, struct tree_node *nodes, struct tree *trees,
                     int n_services);
void route_held_add(struct route_held *held, uint32_t slot);
void route_held_remove(struct route_held *held, uint32_t slot);
