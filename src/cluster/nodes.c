/* Nodes by address, and their engines. */
#include "cluster/nodes.h"

#include "base/mem.h"

void cluster_nodes_init(struct cluster_nodes *nodes, const struct cluster_node_at *of, int n)
{
    CHECK(n > 0 && n <= LIMIT_NODES);
    *nodes = (struct cluster_nodes){ .n = n };
    nodes->of = mem_take(sizeof *nodes->of * (size_t)n);
    nodes->first_engine = mem_take(sizeof *nodes->first_engine * (size_t)n);
    map_init(&nodes->by_address, (uint32_t)n);
    for (int i = 0; i < n; i++) {
        CHECK(of[i].n_engines >= 0 && of[i].n_engines <= LIMIT_ENGINES - nodes->n_engines);
        CHECK(cluster_nodes_find(nodes, of[i].address) < 0);
        CHECK(map_put(&nodes->by_address, of[i].address, (uint32_t)i));
        nodes->of[i] = of[i];
        nodes->first_engine[i] = nodes->n_engines;
        nodes->n_engines += of[i].n_engines;
    }
    nodes->of_engine = mem_take(sizeof *nodes->of_engine * (size_t)nodes->n_engines);
    for (int i = 0; i < n; i++)
        for (int32_t e = 0; e < of[i].n_engines; e++)
            nodes->of_engine[nodes->first_engine[i] + e] = (uint16_t)i;
}

void cluster_nodes_free(struct cluster_nodes *nodes)
{
    map_free(&nodes->by_address);
    mem_give(nodes->of);
    mem_give(nodes->first_engine);
    mem_give(nodes->of_engine);
    *nodes = (struct cluster_nodes){ 0 };
}

int cluster_nodes_find(const struct cluster_nodes *nodes, uint16_t address)
{
    uint32_t at = map_find(&nodes->by_address, address);
    return at != MAP_NONE ? (int)at : -1;
}
