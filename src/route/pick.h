/* Which engine has the least of something, among those that serve a service and have room: a
 * tournament over the engines.
 *
 * set is O(log n). first is O(1) where the least loaded engine serves the service, as in a pool of
 * equal engines; else it walks down, past every half that has no such engine or none with less.
 * Ties go to the lower number. */
#pragma once
#include "base/base.h"

struct route_pick {
    int32_t n, n_leaves;
    int64_t *loads;    /* (n_leaves) by engine */
    uint64_t *masks;   /* (2 * n_leaves) services of the engines below; leaves 0 = takes nothing */
    uint32_t *winners; /* (2 * n_leaves) engine with the least load below; root at 1 */
};
size_t route_pick_bytes(int32_t n_engines);
/* memory: route_pick_bytes of it, 8-byte aligned. No engine takes anything. */
void route_pick_init(struct route_pick *pick, int32_t n_engines, void *memory);
/* mask: the services that engine takes requests of now. */
void route_pick_set(struct route_pick *pick, int32_t engine, uint64_t mask, int64_t load);
int32_t route_pick_first(const struct route_pick *pick, int service); /* -1 = none */
/* The least loaded engines for it, at most n_max, in order. Returns how many. */
int32_t route_pick_some(const struct route_pick *pick, int service, int32_t n_max,
                        int32_t *engines);
static inline uint64_t route_pick_services(const struct route_pick *pick)
{
    return pick->masks[1];
}
static inline bool route_pick_takes(const struct route_pick *pick, int32_t engine, int service)
{
    return pick->masks[pick->n_leaves + engine] >> service & 1;
}
