/* The nodes that a gateway or manager dials: those of a static list, and those that the store tells
 * of. Each node has a place, and the place has the address on the actor's bus.
 *
 *   a place:  FREE --a member without a place--> USED --another member needs the place, and this
 *             node is neither a member nor connected--> USED by that member
 *
 * A place keeps its node for as long as no other needs the place, also when the node left the
 * store, since routing follows connections. */
#pragma once
#include "cluster/members.h"
#include "cluster/nodes.h"

enum { CLUSTER_PEER_ADDRESS_BYTES = 256 };
struct cluster_peer {
    char address[CLUSTER_PEER_ADDRESS_BYTES]; /* HOST:PORT; "": it is free */
    int n_engines;                            /* of the node; its place may have room for more */
    bool is_static;
    bool is_member;  /* of the static list, or in the store: it may be planned for */
    int64_t changed; /* of its entry in the store */
};
struct cluster_peers {
    struct cluster_node_at *nodes; /* (n) */
    struct cluster_peer *of;       /* (n) */
    int n;
    uint64_t n_changes; /* of the members that the places follow */
    int n_left_out;     /* members that wait for a place */
    /* The connections, set by the owner. aim: the place's connection is to the node at
     * of[place].address from now on, and is dialled at once. */
    bool (*is_up)(void *self, uint16_t address);
    void (*aim)(void *self, int place);
    void *self;
};

/* Takes n places without a node. */
void cluster_peers_open(struct cluster_peers *peers, int n);
void cluster_peers_close(struct cluster_peers *peers);
/* Gives members a place, and dials them. A node that joined again and is not connected is dialled
 * at once. */
void cluster_peers_follow(struct cluster_peers *peers, const struct cluster_members *members);
/* Returns the place of the node at this address, or -1. */
int cluster_peers_find(const struct cluster_peers *peers, const char *address);
