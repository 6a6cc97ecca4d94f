/* The settings of a door for bulk data. */
#pragma once
#include "base/status.h"
#include "cluster/tcp_tls.h"

struct bulk_pulls;
struct exchange;
struct bulk_files;

struct bulk_door_options {
    struct exchange *exchange;  /* has the engines' offers; NULL: children have them */
    struct bulk_pulls *pulls;   /* what the engines of this process ask for; NULL: nothing */
    struct bulk_files *files;   /* that other nodes may have; NULL: none */
    int parent_fd;              /* of a child: the door's until it closes. -1: it is no child */
    const char *listen_host;    /* NULL: it has no network */
    uint16_t listen_port;       /* 0: any that is free */
    const char *advertise_host; /* under which others reach it; NULL: listen_host */
    uint16_t advertise_port;    /* 0: the one that it listens at */
    /* NULL: plain, between loopback addresses alone. Its names are those of the other nodes, for
     * both directions. */
    const struct cluster_tcp_tls *tls;
};
