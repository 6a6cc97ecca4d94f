/* The settings of a manager. */
#pragma once
#include "cluster/bus.h"
#include "cluster/nodes.h"
#include "core/service_spec.h"

struct message_demand;

struct cluster_manager_options {
    struct bus_port port;
    uint16_t gateway;                    /* its address */
    const struct cluster_node_at *nodes; /* copied */
    int n_nodes, n_services;
    int n_services_max;                  /* at once; 0 = n_services */
    const struct service_spec *services; /* copied */
    const int64_t *
        need_bytes; /* per service: weights and activations; an estimate until it was loaded once */
    /* It loads and evicts nothing by itself, since another manager decides; it obeys operators, and
     * sends out what is dismissed. */
    bool is_silent;
    bool may_sleep; /* engines keep weights of models that leave in host memory, where they fit */
    /* Receives what gateways counted of a service; NULL: it is dropped. */
    void (*hears_demand)(void *self, int service, const struct message_demand *message);
    void *self;
    int64_t kept_bytes; /* of each engine's memory, only for its KV pool; no model gets them */
};
