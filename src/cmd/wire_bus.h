/* A house among other machines: as a node, whose engines gateways of other machines may use
 * (bus_listen), or as a gateway without engines of its own (nodes). For wire.c alone. */
#pragma once
#include "base/status.h"
#include "cluster/bus.h"

struct config;
struct event_base;
struct house;
struct cluster_node_at;
struct cluster_tcp_bus;

enum { WIRE_BUS_NODE_NAMES = 256 };
struct wire_bus {
    struct event_base *base; /* NULL: the house is alone */
    struct cluster_tcp_bus *tcp;
    struct bus_port local;         /* the node's, to those of its own process */
    struct cluster_node_at *nodes; /* (n_nodes) of a gateway */
    int n_nodes, n_engines;
    char (*names)[WIRE_BUS_NODE_NAMES]; /* (n_engines) what a gateway's engines are called */
    const char **name_texts;            /* (n_engines) */
};

/* Opens what the house's configuration says; nothing when it is alone. `local`: its node's port. */
enum status wire_bus_open(struct wire_bus *bus, const struct config *config,
                          const struct bus_port *local, struct fault *fault) MUST_USE;
void wire_bus_close(struct wire_bus *bus);
