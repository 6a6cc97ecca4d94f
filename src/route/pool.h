/* The central pools: all requests wait at the router. It composes whole batches (cohorts) of them,
 * and gives these to engines that run them as they are (scheduler cohort). A policy is a file
 * pool_NAME.c with its rules; the mechanism is shared.
 *
 * A pool that is timed fetches all held requests every interval, and offloads the batches in turn
 * or by max-min: the longest goes to the engine with the least load, which falls by the same
 * estimate when the batch is over. The other pools compose when an engine is idle. Among their
 * batches the one with the earliest deadline goes first. A request that returns when its lease is
 * over is held again with its tokens, and none is truncated.
 *
 * Sources: docs/ALGORITHMS.md sections 4.2 to 4.5, 5.2, 5.5, 6.8, D-20. */
#pragma once
#include "route/compose.h"
#include "route/policy.h"
#include "route/sent.h"

struct route_pool_rules {
    void (*compose)(struct route_compose *c);
    /* Returns what requests are sorted by before they are composed, the least first. NULL: they
     * stay in order of arrival. */
    int64_t (*key)(const struct route_config *config, const struct route_item *item,
                   int64_t now_ns);
    /* Returns the tokens until a request returns. NULL: it runs to its end. */
    int32_t (*lease)(const struct route_config *config, const struct route_batch *batch,
                     const struct route_item *item);
    /* Returns the tokens that are still to come, for a request that was predicted to generate
     * n_predicted and has generated n_new. NULL: what is predicted now. */
    int32_t (*correct)(int32_t n_predicted, int32_t n_new);
    bool has_slices;  /* a batch is over after n_slice tokens */
    bool is_timed;    /* composes every interval; otherwise when an engine is idle */
    bool is_capped;   /* at most n_batch requests of a batch */
    bool is_max_min;  /* the longest batch goes to the engine with the least load */
    bool is_adaptive; /* the interval follows the load: max(lambda min load, Gamma) */
};
size_t route_pool_state_bytes(const struct route_limits *limits);
size_t route_pool_scratch_bytes(const struct route_limits *limits);
void route_pool_open(void *state, const struct route_limits *limits,
                     const struct route_config *config, const struct route_pool_rules *rules);
void route_pool_plan(const void *state, const struct route_view *view, struct route_plan *plan);
void route_pool_saw(void *state, const struct route_view *view, const struct route_event *event);
/* The part of a policy's row that all pools share. */
#define ROUTE_POOL_MECHANISM                                                                       \
    .state_bytes = route_pool_state_bytes, .scratch_bytes = route_pool_scratch_bytes,              \
    .plan = route_pool_plan, .saw = route_pool_saw, .fits = route_sent_fits

/* Cuts a key, in microseconds or weighted ones, where it would not fit. */
int64_t route_pool_key(double key);
/* Returns the time to the item's deadline; 0: it has none. */
double route_pool_slo_s(const struct route_item *item, int64_t now_ns);
/* A key: the prompt and the tokens generated so far. */
int64_t route_pool_by_input(const struct route_config *config, const struct route_item *item,
                            int64_t now_ns);
/* Leases: the slice; the longest prediction of the batch, and a margin. */
int32_t route_pool_lease_slice(const struct route_config *config, const struct route_batch *batch,
                               const struct route_item *item);
int32_t route_pool_lease_batch(const struct route_config *config, const struct route_batch *batch,
                               const struct route_item *item);
