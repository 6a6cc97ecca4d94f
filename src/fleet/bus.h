/* A house among other machines: as a node, whose engines gateways of other machines may use
 * (bus_listen), or as a gateway without engines of its own (nodes, store). */
#pragma once
#include "base/status.h"
#include "cluster/bus.h"
#include "cluster/peers.h"

struct config;
struct event_base;
struct house;
struct cluster_tcp_bus;

enum { FLEET_BUS_NODE_NAMES = CLUSTER_PEER_ADDRESS_BYTES };
struct fleet_bus {
    struct event_base *base; /* NULL: the house is alone */
    struct cluster_tcp_bus *tcp;
    struct bus_port local;               /* the node's, to those of its own process */
    struct cluster_peers peers;          /* of a gateway or manager */
    int n_engines;                       /* of all places */
    char (*names)[FLEET_BUS_NODE_NAMES]; /* (n_engines) what a gateway's engines are called */
    const char **name_texts;             /* (n_engines) */
};

/* Opens what the configuration says; nothing when the process is alone. `local`: its node's port,
 * NULL for a gateway or manager, which dials nodes. */
enum status fleet_bus_open(struct fleet_bus *bus, const struct config *config,
                           const struct bus_port *local, struct fault *fault) MUST_USE;
/* Returns HOST:PORT under which others reach a node, from bus_advertise or bus_listen. */
enum status fleet_bus_own_address(const struct fleet_bus *bus, const struct config *config,
                                  char out[FLEET_BUS_NODE_NAMES], struct fault *fault) MUST_USE;
void fleet_bus_close(struct fleet_bus *bus);
