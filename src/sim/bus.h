/* A simulation with gateway, manager, node and bus: private to bus.c. */
#pragma once
#include "cluster/gateway.h"
#include "cluster/manager.h"
#include "sim/bus_engine.h"
#include "sim/channels.h"

enum { SIM_BUS_GATEWAY, SIM_BUS_MANAGER, SIM_BUS_NODE };

struct sim_bus_client { /* the bus's fields of a client, beside struct sim_client */
    int32_t *tokens;    /* (n_tokens_max) all tokens that its request will ever have; NULL: gone */
    uint32_t epoch;     /* of the last life that an engine took */
    int32_t n_slices;
};
struct sim_bus_rest { /* whether nothing but reports was due, and when */
    bool is_one;
    int64_t at_ns, n_messages, n_bytes;
    uint64_t n_over; /* requests, until then */
};
struct sim_bus {
    struct sim_bus_host host;
    struct sim_channels channels;
    struct sim_bus_client *clients; /* (n_clients_max) */
    struct cluster_gateway *gateway;
    struct cluster_manager *manager;
    struct cluster_node *node;
    struct service door;
    int64_t gateway_ns, manager_ns, node_ns; /* when each wants to be called again */
    int64_t heard_ns;         /* a client heard of a token or an end, or none waited */
    struct sim_bus_rest rest; /* after the last instant */
    bool passes_rest;         /* nothing is drawn for a message, and no step is checked */
};
