/* The settings of a TCP bus: its peers, its limits and its certificates. */
#pragma once
#include "cluster/bus.h"
#include "cluster/tcp_tls.h"

struct event_base;
struct cluster_tcp_peer {
    const char *host; /* NULL: none yet (cluster_tcp_bus_aim) */
    uint16_t port;
    uint16_t address; /* that it has on the actor's bus */
    const char *name; /* that its certificate has; with TLS alone */
};
struct cluster_tcp_bus_options {
    struct event_base *base;
    uint16_t address;                     /* the actor's own */
    const char *listen_host;              /* NULL: nothing is accepted */
    uint16_t listen_port;                 /* 0: any that is free */
    int n_accepted_max;                   /* connections that others make, at once */
    uint16_t first_accepted;              /* which have addresses from here on */
    const struct cluster_tcp_peer *peers; /* (n_peers) copied */
    int n_peers;
    const struct cluster_tcp_tls *tls; /* NULL: plain, between addresses of one machine alone */
    size_t out_bytes_max;              /* that wait to be sent, of each connection; 0: 16 MiB */
    /* A connection whose peer takes too little is cut when its limit is reached, since the actor
     * has others to serve. False: send returns false when the connection is full. */
    bool cuts_slow;
    const struct bus_port *local; /* NULL, or the actor's port to those of its own process, */
    uint16_t n_local;             /* whose addresses are below this one */
};
