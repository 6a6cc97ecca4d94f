/* The settings of a gateway. */
#pragma once
#include "cluster/bus.h"
#include "cluster/nodes.h"
#include "core/service_spec.h"
#include "predict/length.h"
#include "route/policy.h"

/* The address of a manager that is not there: each node has its own, and passes on what the gateway
 * wants of it. */
#define CLUSTER_GATEWAY_NO_MANAGER UINT16_MAX

struct cluster_gateway_options {
    struct bus_port port;
    const struct cluster_node_at *nodes; /* copied */
    int n_nodes;
    uint16_t manager; /* its address */
    uint64_t seed;    /* sessions are drawn from it, so no two gateways may have the same one */
    int n_services;
    int n_services_max;                  /* at once; 0 = n_services */
    const struct service_spec *services; /* copied */
    uint32_t n_requests_max;
    int64_t kv_unit_bytes; /* engines' pools have whole units; 0 = any bytes */
    const struct route_policy *router;
    const struct route_config *router_config;
    bool has_no_mixed;                            /* each engine has the role prefill or decode */
    const struct length_predictor *predictor;     /* of output lengths; NULL = conditional */
    const struct length_config *predictor_config; /* NULL = the defaults */
};
