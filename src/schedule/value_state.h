/* The state of the policy `value`, in one block of memory. Only value*.c include it.
 *
 * Ranks (ranks.h) keep the requests in order. A waiting request's key is its priority, then its
 * remaining work. Late requests come after those in time. A running request's key is its budget Q,
 * by which victims are chosen. This state also keeps the worth of each service's running requests
 * (value.h), when waiting requests become late, what is in flight, which services are light, and
 * whether lanes pay. */
#pragma once
#include "schedule/starve.h"
#include "schedule/value.h"

struct value_service {
    struct tree in_time;     /* waiting requests that are not late, by when they become late */
    uint64_t waiting_ns_sum; /* sum of the arrivals of waiting requests, modulo 2^64 */
    struct schedule_value running; /* what its running requests are worth */
};
/* The batches in flight, and since when, if lanes share the device. */
struct value_flights {
    uint32_t of_prompts; /* bit per place (batch_place) that computes prompts */
    struct value_flight {
        bool is_decoding;
        /* When its last batch of decodes [0] and of prompts [1] began. Once no request is left, [0]
         * is the time at which the last one ended. */
        int64_t begun_ns[2];
    } * services; /* (n_services) */
};
/* Whether lanes pay, as last computed. */
struct value_pay {
    uint32_t n_changes; /* the view's; 0: not looked at */
    int32_t service;    /* the service that decided it; -1: none is open */
    struct perf perf;   /* of that service */
    bool is_worth_it;
};
struct value_state {
    struct schedule_ranks ranks;
    struct schedule_starve starve;
    int64_t next_late_ns;           /* no waiting request becomes late before */
    struct value_service *services; /* (n_services) */
    struct tree_node *in_time_nodes;
    bool *is_late; /* (n_requests_max) */
    struct value_flights flights;
    struct schedule_value_weights weights;
    struct value_pay pay;
};
size_t schedule_value_state_bytes(const struct schedule_limits *limits);
void schedule_value_state_open(void *state, const struct schedule_limits *limits,
                               const struct schedule_config *config);

/* ---- What happens. ---- */
void schedule_value_state_arrived(struct value_state *state, const struct schedule_view *view,
                                  uint32_t slot);
void schedule_value_state_started(struct value_state *state, const struct schedule_view *view,
                                  const struct batch *batch);
void schedule_value_state_done(struct value_state *state, const struct schedule_view *view,
                               const struct schedule_event *event);
void schedule_value_state_preempted(struct value_state *state, const struct schedule_view *view,
                                    uint32_t slot);
void schedule_value_state_gone(struct value_state *state, const struct schedule_view *view,
                               uint32_t slot, int64_t now_ns);
/* Updates what depends on the whole service. Call it after each event of the service. */
void schedule_value_state_note(struct value_state *state, const struct schedule_view *view,
                               int service);

/* Returns whether half of the device does more than half of the work. */
bool schedule_value_state_lanes_pay(const struct value_state *state,
                                    const struct schedule_view *view);
