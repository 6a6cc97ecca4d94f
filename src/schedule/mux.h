/* Adaptive batch scheduling (MuxServe section 3.3, docs/ALGORITHMS.md 2.6) and its baselines; each
 * is a file mux_NAME.c with its rules. At most one prefill batch runs at a time, beside decode
 * batches of as many models as there are lanes.
 *
 * The paper's listing stops decoding for good when no prompt can start (prefill_waiting stays
 * true). Here a prompt without room leaves the lane to decodes, since only they free blocks. Turns
 * move past a model after its batch was started, so a refused batch keeps its turn. With one lane
 * the two kinds alternate on it, prompts first. With more lanes, a job that is alone takes the
 * whole device. Otherwise prompts take the largest free lane and decodes the smallest.
 *
 * A service with a share from a placement decodes on the smallest free lane of at least that share,
 * and waits for one. Lanes that run together have 120% of the device at most.
 *
 * Starvation: none is bounded while prompts keep coming (prompts first is the paper's rule). Among
 * models whose requests have blocks, turns bound it: each model gets its batch once a round. No
 * bound is claimed beside requests of a higher priority. */
#pragma once
#include "schedule/policy.h"

struct schedule_mux_rules {
    bool has_quotas;    /* prompts of models below their quota of the pool */
    bool is_by_arrival; /* the earliest prompt, then the oldest running request; else in turn */
};
size_t schedule_mux_state_bytes(const struct schedule_limits *limits);
void schedule_mux_open(void *state, const struct schedule_limits *limits,
                       const struct schedule_config *config,
                       const struct schedule_mux_rules *rules);
void schedule_mux_plan(const void *state, const struct schedule_view *view,
                       struct schedule_plan *plan);
void schedule_mux_saw(void *state, const struct schedule_view *view,
                      const struct schedule_event *event);
void schedule_mux_report(const void *state, const struct schedule_view *view,
                         struct schedule_report *report);
/* The part of a policy's row that all of them share. */
#define SCHEDULE_MUX_MECHANISM                                                                     \
    .n_lanes_wanted = 2, .uses_shares = true, .state_bytes = schedule_mux_state_bytes,             \
    .plan = schedule_mux_plan, .saw = schedule_mux_saw
