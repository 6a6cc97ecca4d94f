/* A house among other machines: as a node, whose engines gateways of other machines may use
 * (bus_listen), or as a gateway without engines of its own (nodes, store). */
#pragma once
#include "base/status.h"
#include "cluster/bus.h"

struct config;
struct event_base;
struct house;
struct cluster_node_at;
struct cluster_members;
struct cluster_tcp_bus;

enum { FLEET_BUS_NODE_NAMES = 256 };
/* A place for a node: one of the static list, or one that the store tells of. A place keeps its
 * node for as long as no other needs the place, also when the node left the store, since routing
 * follows connections. */
struct fleet_bus_slot {
    char address[FLEET_BUS_NODE_NAMES]; /* HOST:PORT; "": it is free */
    int n_engines;                      /* of the node; it may have room for more */
    bool is_static;
    int64_t changed; /* of its entry in the store */
};
struct fleet_bus {
    struct event_base *base; /* NULL: the house is alone */
    struct cluster_tcp_bus *tcp;
    struct bus_port local;         /* the node's, to those of its own process */
    struct cluster_node_at *nodes; /* (n_nodes) of a gateway */
    struct fleet_bus_slot *slots;  /* (n_nodes) */
    uint64_t n_changes;            /* of the members that the slots follow */
    int n_nodes, n_engines;
    char (*names)[FLEET_BUS_NODE_NAMES]; /* (n_engines) what a gateway's engines are called */
    const char **name_texts;             /* (n_engines) */
};

/* Opens what the configuration says; nothing when the process is alone. `local`: its node's port,
 * NULL for a gateway or manager, which dials nodes. */
enum status fleet_bus_open(struct fleet_bus *bus, const struct config *config,
                           const struct bus_port *local, struct fault *fault) MUST_USE;
/* Gives nodes that the store tells of a place, and dials them. A node that joined again and is not
 * connected is dialled at once, after its host was resolved again. */
void fleet_bus_follow(struct fleet_bus *bus, const struct cluster_members *members);
/* Returns HOST:PORT under which others reach a node, from bus_advertise or bus_listen. */
enum status fleet_bus_own_address(const struct fleet_bus *bus, const struct config *config,
                                  char out[FLEET_BUS_NODE_NAMES], struct fault *fault) MUST_USE;
void fleet_bus_close(struct fleet_bus *bus);
