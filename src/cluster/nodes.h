/* The nodes that an actor knows, and how it numbers their engines: those of the first node come
 * first, then those of the second, and so on. A node itself numbers its engines from 0. */
#pragma once
#include "base/map.h"
#include "core/limits.h"

struct cluster_node_at {
    uint16_t address; /* on the actor's bus; each node has its own */
    int32_t n_engines;
};
struct cluster_nodes {
    int n, n_engines;
    struct cluster_node_at *of; /* (n) */
    int32_t *first_engine;      /* (n) */
    uint16_t *of_engine;        /* (n_engines) the node of each */
    struct map by_address;
};

/* At most LIMIT_NODES nodes, with at most LIMIT_ENGINES engines together. */
void cluster_nodes_init(struct cluster_nodes *nodes, const struct cluster_node_at *of, int n);
void cluster_nodes_free(struct cluster_nodes *nodes);
/* The node at this address; -1 when it is none's. */
int cluster_nodes_find(const struct cluster_nodes *nodes, uint16_t address);
/* The address of the engine's node. */
static inline uint16_t cluster_nodes_address(const struct cluster_nodes *nodes, int engine)
{
    return nodes->of[nodes->of_engine[engine]].address;
}
/* The node's own number of the engine. */
static inline uint16_t cluster_nodes_own(const struct cluster_nodes *nodes, int engine)
{
    return (uint16_t)(engine - nodes->first_engine[nodes->of_engine[engine]]);
}
