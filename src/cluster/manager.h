/* The manager: which models are in memory. A state machine: messages in, messages out.
 *
 * It loads what is wanted (at start, by requests held at a gateway, by an admin), evicts by bytes
 * what was idle longest (place/residency.h), unloads what outlived its keep-alive, and answers
 * asks. A busy model is evicted only for an answer that has begun (a SPACE that insists), and,
 * after 30 s, for a model that is waited for and that busy ones keep out (manager_room.h); a model
 * that can never fit is refused at once with the arithmetic. */
#pragma once
#include "cluster/bus.h"
#include "cluster/nodes.h"
#include "core/service_spec.h"

struct cluster_manager;
struct cluster_manager_options {
    struct bus_port port;
    uint16_t gateway;                    /* its address */
    const struct cluster_node_at *nodes; /* copied */
    int n_nodes, n_services;
    int n_services_max;                  /* at once; 0 = n_services */
    const struct service_spec *services; /* copied */
    const int64_t *
        need_bytes; /* per service: weights and activations, an estimate until it was loaded once */
    int64_t kept_bytes; /* of each engine's memory, for its KV pool alone: no model gets them */
};
struct cluster_manager *cluster_manager_open(const struct cluster_manager_options *options);
void cluster_manager_close(struct cluster_manager *manager);
/* A service joins, under a number that is none's. It comes when it is wanted, or at once if it is
 * loaded at start. */
void cluster_manager_add_service(struct cluster_manager *manager, int service,
                                 const struct service_spec *spec, int64_t need_bytes);
/* Its model comes no more, and leaves each engine as soon as it has no requests there. */
void cluster_manager_dismiss_service(struct cluster_manager *manager, int service);
/* It leaves for good. False: a model of it is on an engine, or an order is under way. */
bool cluster_manager_remove_service(struct cluster_manager *manager, int service);
int64_t cluster_manager_step(struct cluster_manager *manager, int64_t now_ns); /* next wake */
