/* Requests into batches: the composers behind the central pools.
 *
 * All work on one service's requests and give batches that are stretches of `items` (which they may
 * reorder). A batch is served as a padded one: as long as its longest input, for as many steps as
 * its longest output or the slice.
 *
 * serve(N, L, S) = max(floor, c1 + N (k1 L + q1 L^2)) + (S - 1) c3 + N ((S - 1) c2 + k2 sum of
 * contexts): the prefill yields token 1, S - 1 decodes the others; linear in N apart from floor and
 * regime. Sources: docs/ALGORITHMS.md sections 4.1, 4.2 (SCLS), 5.2 (UELLM), 6.8 (S^3). */
#pragma once
#include "predict/memory.h"
#include "route/policy.h"

struct route_item {
    int64_t key; /* what sort goes by */
    int64_t deadline_ns;
    uint32_t slot;
    int32_t n_input;  /* prompt and what was generated: all is computed anew */
    int32_t n_output; /* predicted, still to come, at least 1 */
};
struct route_batch {
    int32_t first, n;          /* stretch of items */
    int32_t n_input, n_output; /* the longest */
    uint16_t service;
    int64_t serve_ps;
    int64_t deadline_ns; /* the earliest */
};
struct route_compose {
    const struct route_config *config;
    const struct perf *perf;
    struct memory_model memory;
    int64_t now_ns;
    int32_t n_max;                    /* requests of a batch at most, >= 1 */
    int32_t n_idle;                   /* engines that wait for a batch */
    int32_t n_steps;                  /* tokens of a slice; 0 = as many as the longest output */
    struct route_item *items, *spare; /* (n) */
    int32_t n;
    int64_t *cost; /* (4 n + 4) */
    int64_t *time; /* (n + 1) */
    int32_t *from; /* (n + 1) */
    struct route_batch *batches;
    int32_t n_batches;
};
/* By key, ascending; equal ones stay in order. O(n log n). */
void route_compose_sort(struct route_compose *c);
/* serve of n requests, picoseconds. */
int64_t route_compose_serve_ps(const struct perf *perf, int32_t n, int32_t n_input,
                               int32_t n_steps);
/* In the order of the items, at most n_max. */
void route_compose_fixed(struct route_compose *c);
/* SCLS's Algorithm 1: sorted by input, the cut with the least time in sum. O(n n_max). */
void route_compose_slices(struct route_compose *c);
/* UELLM's SLO-ODBS over items sorted by their key, with the cost form of the config. */
void route_compose_odbs(struct route_compose *c);
/* Ours: sorted by deadline, the cut with the least time and predicted lateness. Looks at as
 * many as could be sent to the idle engines. */
void route_compose_deadlines(struct route_compose *c);
/* S^3: first fit by decreasing size into the engine's memory. O(n log n). */
void route_compose_bins(struct route_compose *c);
