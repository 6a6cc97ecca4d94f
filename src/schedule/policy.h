/* The contract of an engine scheduler: a const struct of functions. No clock, no input or output,
 * no malloc, no globals.
 *
 * plan is pure: asked twice, it answers the same. saw is the only door to a policy's state; one
 * event per batch, not per request. The view is a window onto arrays that the engine keeps anyway,
 * not a copy. */
#pragma once
#include "core/batch.h"
#include "core/request.h"
#include "kv/kv.h"
#include "predict/perf.h"

#define SCHEDULE_NONE UINT32_MAX /* no slot */

struct schedule_limits {
    int32_t n_services_max, n_requests_max, n_lanes;
};
struct schedule_config {        /* every threshold of every policy, one struct */
    int32_t n_seqs_max;         /* requests of one batch: 256 */
    int32_t n_batch_tokens_max; /* prompt tokens of one batch: 2048 */
    /* > 0: prompts are computed in chunks, beside the decodes of their service, at most this many
     * tokens in such a batch; 0 = whole prompts, in batches of their own */
    int32_t chunk_tokens;
    double watermark;      /* fraction of the pool kept free when a request starts: 0.01 */
    int64_t starve_ns_min; /* theta = max(starve_ns_min, starve_factor * L-hat): 3 s, 2.5 */
    double starve_factor;
    int64_t share_ns_depth;  /* db-share: depth of a service's bucket of device time: 0.3 s */
    int64_t share_ns_period; /* shares are computed anew this often: 8 s */
    double pool_full; /* above this fraction used, db-share cuts the heaviest service's cap: 0.9 */
    double pool_cut;  /* by this factor a period: 0.8 */
    bool db_counts_wall;  /* DB charges wall time of the batch, not solo-equivalent work */
    int32_t n_rounds_max; /* a hold plans at most this many rounds: 4096; 1 = never hold */
};
void schedule_config_init(struct schedule_config *config); /* the defaults named above */

struct schedule_service {
    bool is_open;           /* its model is loaded: its requests may run */
    uint32_t first_waiting; /* waiting requests in order of arrival (priority first): request.next;
                               SCHEDULE_NONE = none */
    uint32_t n_waiting, n_running;
    const uint32_t *running;            /* (n_running) slots, no particular order but stable */
    struct perf perf;                   /* as corrected online */
    int64_t solo_ns, solo_deviation_ns; /* L-hat and sigma of its requests (ALGORITHMS D-1) */
    double rate_per_s;                  /* EWMA of arrivals */
    double n_prompt_mean, n_output_mean;
    int64_t tpot_ns; /* target per token, 0 = none */
};
struct schedule_view {
    int64_t now_ns;
    int32_t n_services, n_lanes;
    const struct schedule_service *services;
    const struct request
        *requests; /* by slot; request.batch != 0: in flight, not to be planned or preempted */
    const struct kv_budget *kv;
    const int32_t *n_table_blocks; /* by slot: blocks in its table */
    const bool *lane_is_busy;      /* (n_lanes) */
    uint32_t n_in_flight;          /* requests in flight: their commit will free something */
};
enum schedule_until { UNTIL_ARRIVAL = 1, UNTIL_FINISH = 2, UNTIL_SHORTAGE = 4, UNTIL_TIME = 8 };
struct schedule_plan { /* arrays lie in the step's scratch, sized LIMIT_BATCHES, LIMIT_BATCH_ITEMS
                          each */
    int32_t n_batches;
    struct batch *batches; /* batches of one lane run in turn; lanes run side by side; items point
                              into `items` */
    struct batch_item *items;
    int32_t n_items; /* used of `items` */
    int32_t n_items_max;
    int32_t n_rounds; /* 1 = ask at every step */
    unsigned until;   /* what ends a hold early */
    int64_t until_ns;
    int32_t n_preempts; /* none of them in flight; a plan of preempts only is asked again at once */
    uint32_t *preempts; /* (LIMIT_BATCH_ITEMS) */
};
enum schedule_what {
    SCHEDULE_ARRIVED,
    SCHEDULE_STARTED,
    SCHEDULE_REFUSED,
    SCHEDULE_DONE,
    SCHEDULE_GONE,
    SCHEDULE_PREEMPTED
};
struct schedule_event {
    enum schedule_what what;
    int64_t now_ns;
    uint32_t
        slot; /* ARRIVED, GONE, PREEMPTED: the request (GONE: called before the slot is reused) */
    const struct batch *batch; /* STARTED, REFUSED, DONE */
    int32_t n_steps;           /* DONE */
    const int32_t *n_new; /* DONE: tokens drawn per item (the records already say the new counts) */
    const int32_t *n_computed; /* DONE: positions computed per item */
    int64_t elapsed_ns;        /* DONE: measured */
};
struct schedule_policy {
    const char *name, *summary;
    size_t (*state_bytes)(const struct schedule_limits *limits);
    void (*open)(void *state, const struct schedule_limits *limits,
                 const struct schedule_config *config);
    void (*plan)(const void *state, const struct schedule_view *view, struct schedule_plan *plan);
    void (*saw)(void *state, const struct schedule_view *view, const struct schedule_event *event);
};
/* The room's table, by name: fcfs, rr, db-literal, db-turn, db-share. NULL when there is none. */
const struct schedule_policy *schedule_find(const char *name);
const struct schedule_policy *const *schedule_all(int *n);
/* Is this plan legal? NULL, or what is wrong with it (debug builds, tests and the simulator ask).
 * It must fit n_rounds rounds of every batch, in plan order, into the budget. A plan may be empty:
 * with requests in flight it means wait; with none in flight, that what waits can't fit, which a
 * policy lets happen only when no request holds blocks as running (the engine then gives back what
 * waiting requests hold, or fails what can never fit). */
const char *schedule_check(const struct schedule_view *view, const struct schedule_plan *plan);
/* Positions that the request's table must cover for n_rounds rounds of this item. */
int64_t schedule_positions(const struct request *request, const struct batch_item *item,
                           int32_t n_rounds);
