/* The real gateway and two real nodes over TCP on loopback, all on one event loop, with engines
 * that only pretend. */
#pragma once
#include "certificates.h"
#include "fake_engine.h"
#include "test.h"

#include "cluster/gateway.h"
#include "cluster/tcp_bus.h"

struct event_base;
enum {
    TCP_NODES = 2,
    TCP_REQUESTS = 200,
    TCP_PROMPT = 5,
    TCP_NODE_ADDRESS = 1,        /* of the node itself, and of the first node at the gateway */
    TCP_ACCEPTED_ADDRESS = 1000, /* of a node's first gateway */
    TCP_NO_MANAGER = 900,
};
struct tcp_world {
    struct event_base *base;
    struct service_spec service;
    struct fake_engine engines[TCP_NODES];
    struct cluster_tcp_bus *node_buses[TCP_NODES]; /* NULL: the node has left */
    struct cluster_node *nodes[TCP_NODES];
    struct cluster_tcp_bus *gateway_bus;
    struct cluster_gateway *gateway;
    struct { /* of the nodes that are opened from now on */
        const struct cluster_tcp_tls *tls;
        size_t out_bytes_max;
        int n_accepted_max;
    } node_options;
    int32_t n_tokens[TCP_REQUESTS];
    bool is_over[TCP_REQUESTS];
    int n_over, n_cut;
};

void tcp_world_open_nodes(struct tcp_world *w);
/* name: the name that the certificate of each node must have; NULL without TLS. */
void tcp_world_open_gateway(struct tcp_world *w, const struct cluster_tcp_tls *tls,
                            const char *name);
void tcp_world_close_node(struct tcp_world *w, int node);
void tcp_world_close(struct tcp_world *w);
void tcp_world_ask(struct tcp_world *w, int i, int32_t n_generate);
/* Some rounds of the loop and of each actor, a millisecond at least. Checks each token. */
void tcp_world_step(struct tcp_world *w);
/* Steps until n are over; fails after 30 s. */
void tcp_world_finish(struct tcp_world *w, int n);
/* Steps until the gateway has n_up connections; false after ms. */
bool tcp_world_wait_up(struct tcp_world *w, int n_up, int64_t ms);
/* A socket that is connected to the node. */
int tcp_world_connect(const struct tcp_world *w, int node);
