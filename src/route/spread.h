/* The routers that decide one request at a time. A policy is a file spread_NAME.c with its rules;
 * the mechanism is shared.
 *
 * Each sends the first held request, in order over all services, that an engine has room for. A
 * request without an engine blocks no other. Engines are in a tournament by load (route/pick.h), so
 * a decision costs O(log engines). */
#pragma once
#include "route/pick.h"
#include "route/policy.h"
#include "route/sent.h"

struct route_spread;
struct route_spread_rules {
    /* Returns the engine for this request, among those that take its service now; -1 = none. */
    int32_t (*choose)(const struct route_spread *spread, const struct route_view *view,
                      uint32_t slot);
    /* Returns what a request adds to its engine's load while it is there; NULL = one, or
     * nothing. */
    int64_t (*load)(const struct route_view *view, int32_t engine,
                    const struct route_request *request);
    /* Returns when to plan again although nothing happens; NULL = never. */
    int64_t (*wake_ns)(const struct route_spread *spread, const struct route_view *view);
    bool counts;     /* a request adds one */
    bool has_lists;  /* it keeps lists of the requests on each engine */
    bool has_slices; /* a request returns after n_slice tokens */
};
struct route_spread {
    const struct route_spread_rules *rules;
    struct route_config config;
    int32_t n_engines;
    int32_t cursor;   /* the engine after the last one */
    uint64_t n_drawn; /* requests sent, for draws */
    struct route_pick pick;
    struct route_sent sent;
    int64_t *loads;     /* (n_engines) */
    int64_t *load_of;   /* (n_requests) what each added, where they differ */
    int64_t *closed_ns; /* (n_engines) since when it takes nothing; TIME_NEVER = it is open */
};
size_t route_spread_state_bytes(const struct route_limits *limits);
void route_spread_open(void *state, const struct route_limits *limits,
                       const struct route_config *config, const struct route_spread_rules *rules);
void route_spread_plan(const void *state, const struct route_view *view, struct route_plan *plan);
void route_spread_saw(void *state, const struct route_view *view, const struct route_event *event);
/* The part of a policy's row that all of them share. */
#define ROUTE_SPREAD_MECHANISM                                                                     \
    .state_bytes = route_spread_state_bytes, .plan = route_spread_plan, .saw = route_spread_saw,   \
    .fits = route_sent_fits

/* Chooses the engine with the least load. */
int32_t route_spread_choose_least(const struct route_spread *spread, const struct route_view *view,
                                  uint32_t slot);
/* Chooses engines in turn. */
int32_t route_spread_choose_next(const struct route_spread *spread, const struct route_view *view,
                                 uint32_t slot);
/* Draws uniformly among the engines that take the service, other than `but`: a few draws, then a
 * count. -1: there is none. */
int32_t route_spread_draw(const struct route_spread *spread, const struct route_view *view,
                          int service, uint64_t stream, int32_t but);
