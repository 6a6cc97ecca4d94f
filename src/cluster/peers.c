/* Gives nodes their places. */
#include "cluster/peers.h"

#include "base/hash.h"
#include "base/log.h"
#include "base/map.h"
#include "base/mem.h"
#include <stdio.h>
#include <string.h>

void cluster_peers_open(struct cluster_peers *peers, int n)
{
    *peers = (struct cluster_peers){ .n = n };
    peers->nodes = mem_take(sizeof *peers->nodes * (size_t)n);
    peers->of = mem_take(sizeof *peers->of * (size_t)n);
}

void cluster_peers_close(struct cluster_peers *peers)
{
    mem_give(peers->nodes);
    mem_give(peers->of);
    *peers = (struct cluster_peers){ 0 };
}

int cluster_peers_find(const struct cluster_peers *peers, const char *address)
{
    for (int i = 0; i < peers->n; i++)
        if (strcmp(peers->of[i].address, address) == 0)
            return i;
    return -1;
}

/* Returns a place without a node, or one whose node is neither a member nor connected. */
static int free_place(const struct cluster_peers *peers)
{
    int gone = -1;
    for (int i = 0; i < peers->n; i++) {
        const struct cluster_peer *peer = &peers->of[i];
        if (peer->address[0] == '\0')
            return i;
        if (!peer->is_member && !peers->is_up(peers->self, peers->nodes[i].address))
            gone = i;
    }
    return gone;
}

static uint64_t key_of(const char *address)
{
    return hash_fast(address, strlen(address), 0).low;
}

/* Returns the place of this address, as the map of all places has it, or -1. */
static int find_in(const struct cluster_peers *peers, const struct map *places, const char *address)
{
    uint32_t at = map_find(places, key_of(address));
    if (at != MAP_NONE && strcmp(peers->of[at].address, address) == 0)
        return (int)at;
    return at != MAP_NONE ? cluster_peers_find(peers, address) : -1; /* two with one hash */
}

/* Returns false when the node waits for a place. */
static bool follow(struct cluster_peers *peers, struct map *places,
                   const struct cluster_members_node *node)
{
    int i = find_in(peers, places, node->address);
    bool is_new = i < 0;
    if (is_new)
        i = free_place(peers);
    if (i < 0 || node->n_engines > peers->nodes[i].n_engines) {
        log_line(LOG_WARN, "bus", "node %.100s with %d engines has no place here: raise %s",
                 node->address, (int)node->n_engines, i < 0 ? "node_slots" : "node_engines");
        return i >= 0;
    }
    struct cluster_peer *peer = &peers->of[i];
    bool is_back =
        peer->changed != node->changed && !peers->is_up(peers->self, peers->nodes[i].address);
    peer->n_engines = node->n_engines;
    peer->changed = node->changed;
    peer->is_member = true;
    if (is_new) {
        snprintf(peer->address, sizeof peer->address, "%s", node->address);
        (void)map_put(places, key_of(peer->address), (uint32_t)i);
    }
    if (is_new || is_back)
        peers->aim(peers->self, i);
    return true;
}

/* Notes which places have a member. */
static void note_members(struct cluster_peers *peers, const struct map *places,
                         const struct cluster_members *members)
{
    for (int i = 0; i < peers->n; i++)
        peers->of[i].is_member = peers->of[i].is_static;
    for (int k = 0; k < members->n_nodes; k++) {
        int i = find_in(peers, places, members->nodes[k].address);
        if (i >= 0)
            peers->of[i].is_member = true;
    }
}

/* A node without a place is tried again, since one becomes free when a connection breaks. */
void cluster_peers_follow(struct cluster_peers *peers, const struct cluster_members *members)
{
    bool is_news = peers->n_changes != members->n_changes;
    struct map places;
    if (peers->n == 0 || (!is_news && (peers->n_left_out == 0 || free_place(peers) < 0)))
        return;
    peers->n_changes = members->n_changes;
    peers->n_left_out = 0;
    map_init(&places, 2 * (uint32_t)peers->n); /* a place that is taken over is in it twice */
    for (int i = 0; i < peers->n; i++)
        (void)map_put(&places, key_of(peers->of[i].address), (uint32_t)i);
    note_members(peers, &places, members);
    for (int k = 0; k < members->n_nodes; k++)
        peers->n_left_out += !follow(peers, &places, &members->nodes[k]);
    map_free(&places);
}
