/* Finds the engine with the least load among those that serve a service and have room: a tournament
 * over the engines.
 *
 * set is O(log n). first is O(1) if the least loaded engine serves the service, as in a pool of
 * equal engines. Otherwise it walks down, and skips every half without such an engine or without a
 * lower load.
 *
 * Ties go to the lower number. */
#pragma once
#include "base/set.h"

struct route_pick {
    int32_t n, n_leaves, n_services;
    int32_t n_words; /* words of a set of the services: the first of struct set */
    int64_t *loads;  /* (n_leaves) by engine */
    uint64_t *sets; /* (2 * n_leaves, n_words) services of the engines below; a leaf with none takes
                       nothing */
    uint32_t *winners; /* (2 * n_leaves) engine with the least load below; root at 1 */
};
size_t route_pick_bytes(int32_t n_engines, int32_t n_services);
/* Sets up a pick. memory: route_pick_bytes of it, 8-byte aligned. At first no engine takes
 * anything. */
void route_pick_init(struct route_pick *pick, int32_t n_engines, int32_t n_services, void *memory);
/* Sets an engine's load. services: those for which the engine takes requests now. */
void route_pick_set(struct route_pick *pick, int32_t engine, const struct set *services,
                    int64_t load);
int32_t route_pick_first(const struct route_pick *pick, int service); /* -1 = none */
/* Lists the least loaded engines for it, at most n_max, in order. Returns how many. */
int32_t route_pick_some(const struct route_pick *pick, int service, int32_t n_max,
                        int32_t *engines);
/* Sets the first n_words of out to those of these services for which some engine takes requests
 * now. */
static inline void route_pick_meet(const struct route_pick *pick, const struct set *services,
                                   struct set *out)
{
    for (int32_t w = 0; w < pick->n_words; w++)
        out->words[w] = services->words[w] & pick->sets[pick->n_words + w];
}
/* Has this node such an engine below? */
static inline bool route_pick_has(const struct route_pick *pick, int32_t node, int service)
{
    return set_words_have(&pick->sets[node * pick->n_words], service);
}
/* Returns whether the engine takes requests of exactly these services. */
static inline bool route_pick_is(const struct route_pick *pick, int32_t engine,
                                 const struct set *services)
{
    const uint64_t *own = &pick->sets[(pick->n_leaves + engine) * pick->n_words];
    uint64_t change = 0;
    for (int32_t w = 0; w < pick->n_words; w++)
        change |= own[w] ^ services->words[w];
    return change == 0;
}
static inline bool route_pick_takes(const struct route_pick *pick, int32_t engine, int service)
{
    return route_pick_has(pick, pick->n_leaves + engine, service);
}
