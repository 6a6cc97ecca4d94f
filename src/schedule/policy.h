/* The contract of an engine scheduler: a const struct of functions. It has no clock, no input or
 * output, no malloc, and no globals.
 *
 * plan is pure: the same question gets the same answer. Only saw changes a policy's state, with one
 * event per batch, not per request. The view gives access to arrays that the engine keeps anyway,
 * not a copy. */
#pragma once
#include "base/status.h"
#include "core/batch.h"
#include "core/request.h"
#include "kv/kv.h"
#include "predict/perf.h"
#include "schedule/config.h"

#define SCHEDULE_NONE UINT32_MAX /* no slot */

struct schedule_limits {
    int32_t n_services_max, n_requests_max, n_lanes;
};
struct schedule_service {
    bool is_open;           /* its model is loaded, so its requests may run */
    uint32_t first_waiting; /* waiting requests in order of arrival (priority first): request.next;
                               SCHEDULE_NONE = none */
    uint32_t n_waiting, n_running;
    const uint32_t *running;            /* (n_running) slots, no particular order but stable */
    struct perf perf;                   /* as corrected online */
    int64_t solo_ns, solo_deviation_ns; /* L-hat and sigma (docs/ALGORITHMS.md D-1) */
    double rate_per_s;                  /* EWMA of arrivals */
    double n_prompt_mean, n_output_mean;
    int64_t tpot_ns;            /* target per token, 0 = none */
    int64_t kv_bytes_per_token; /* as allocated; 0 = unknown */
    int64_t weights_bytes;      /* 0 = unknown */
    float share;                /* of the device, for its decodes, by a placement; 0 = none */
    int64_t kv_quota_bytes;     /* of the pool, by a placement; 0 = none */
};
/* A share of the device that the executor built beforehand. Lane 0 is all of it. */
struct schedule_lane {
    float share;         /* (0, 1] of its compute */
    uint16_t conflicts;  /* bit per other lane that must be idle while this one runs; symmetric */
    uint8_t n_gpus;      /* it is a part of each of this many GPUs; 0 = of cores */
    bool is_for_prompts; /* beside lanes of services' shares: prompts run on it and no other */
};
struct schedule_view {
    int64_t now_ns;
    int32_t n_services, n_lanes;
    const struct schedule_lane *lanes; /* (n_lanes) */
    int64_t swap_bytes_free;           /* of the host pool; 0 = no swapping */
    int64_t swap_bytes_per_s;          /* between device and host */
    const struct schedule_service *services;
    /* (n_busy) the services that have requests, ascending. A plan looks at no others, so that many
     * idle services cost nothing. NULL: unknown, see busy.h. */
    const uint16_t *busy;
    int32_t n_busy;
    /* Grows when a service opens or closes, and when one gets its first request, since no event
     * reports that; 0: not counted. */
    uint32_t n_changes;
    const struct request
        *requests; /* by slot; request.batch != 0: in flight, not to be planned or preempted */
    const struct kv_budget *kv;
    const int32_t *n_table_blocks; /* by slot: blocks in its table */
    /* (n_requests_max) by slot: drafts of a running decode that are worth a row each. A batch may
     * verify fewer. NULL: there are none. */
    const uint8_t *n_drafts;
    const bool *lane_is_busy; /* (n_lanes) */
    int32_t n_deep; /* pipelines: a lane is busy when this many are in flight; 0, 1 = no pipeline */
    double deep_part;     /* part of a step that its slowest stage takes */
    uint32_t n_in_flight; /* requests in flight: their commit will free something */
};
enum schedule_until { UNTIL_ARRIVAL = 1, UNTIL_FINISH = 2, UNTIL_SHORTAGE = 4, UNTIL_TIME = 8 };
struct schedule_plan { /* arrays lie in the step's scratch, sized LIMIT_BATCHES, LIMIT_BATCH_ITEMS
                        */
    int32_t n_batches;
    struct batch *batches; /* batches of one lane run in turn; lanes run side by side; items point
                              into `items` */
    struct batch_item *items;
    int32_t n_items; /* used of `items` */
    int32_t n_items_max;
    int32_t n_rounds; /* 1 = plan at every step */
    unsigned until;   /* what ends a hold early */
    int64_t until_ns;
    bool is_forced;     /* its first batch serves a request that starved, and is counted */
    int32_t n_preempts; /* none may be in flight; after a plan of preempts only, plan is called
                           again at once */
    uint32_t *preempts; /* (LIMIT_BATCH_ITEMS) */
    bool *swaps; /* (LIMIT_BATCH_ITEMS) per preempt: its blocks go to the host pool; else they are
                    dropped and recomputed. The engine drops blocks that do not fit there. */
};
enum schedule_what {
    SCHEDULE_ARRIVED,
    SCHEDULE_STARTED,
    SCHEDULE_REFUSED,
    SCHEDULE_DONE,
    SCHEDULE_GONE,
    SCHEDULE_PREEMPTED,
    SCHEDULE_EXCEEDED /* it generated more than n_predicted; sent once, before DONE */
};
struct schedule_event {
    enum schedule_what what;
    int64_t now_ns;
    uint32_t slot; /* ARRIVED, GONE, PREEMPTED, EXCEEDED: the request (GONE: called before the slot
                      is reused) */
    const struct batch *batch; /* STARTED, REFUSED, DONE */
    int32_t n_steps;           /* DONE */
    const int32_t *n_new;      /* DONE: tokens drawn per item (already counted in the records) */
    const int32_t *n_computed; /* DONE: positions computed per item */
    int64_t elapsed_ns;        /* DONE: measured */
};
/* A policy's own counters, for reports and tests; unused ones are zero. */
struct schedule_report {
    int64_t n_renewed, n_yielded; /* leases extended in place; requests that yielded for one */
    int64_t n_grown;              /* reservations that grew because a prediction was exceeded */
    int64_t n_flushed;            /* requests whose blocks a flush of all took */
    int64_t n_quota_changes;      /* adaptations that moved something */
    int32_t n_services;
    struct schedule_report_service {
        int64_t n_units_quota, n_units_used; /* of the pool; quotas sum to n_units_open */
        double r;                            /* R(m): part of the used units / entitlement */
        double phi;                          /* cap on its share of device time */
    } services[KV_SERVICES_MAX];
};
struct schedule_policy {
    const char *name, *summary;
    /* For the tables of the documents, a few words each: the request or model that is next, what
     * a batch mixes, when blocks are booked, and what bounds a request's wait. */
    const char *chooses, *batches, *memory, *starvation;
    const char *thresholds; /* names of all that it reads, separated by spaces; config.h */
    size_t (*state_bytes)(const struct schedule_limits *limits);
    void (*open)(void *state, const struct schedule_limits *limits,
                 const struct schedule_config *config);
    void (*plan)(const void *state, const struct schedule_view *view, struct schedule_plan *plan);
    void (*saw)(void *state, const struct schedule_view *view, const struct schedule_event *event);
    void (*report)(const void *state, const struct schedule_view *view,
                   struct schedule_report *report); /* NULL: nothing to report */
    int n_lanes_wanted;  /* equal shares of the device beside lane 0 that it plans for; 0 = none */
    bool wants_no_cores; /* it does not use lanes of cores, which are no faster side by side */
    bool uses_shares;    /* a service with a share decodes on a lane of that size */
    bool pads_batches;   /* its batches may have pads (core/pads.h), so the executor needs room for
                              them */
};
/* Finds a row of the room's table by name; NULL when no policy has it. */
const struct schedule_policy *schedule_find(const char *name);
const struct schedule_policy *const *schedule_all(int *n);
/* Checks that a plan is legal. Returns NULL, or what is wrong with it (for debug builds, tests and
 * the simulator). It must fit n_rounds rounds of every batch, in plan order, into the budget. A
 * plan may be empty. With requests in flight it means wait. With none in flight it means that the
 * waiting requests can't fit. A policy may do that only when no running request holds blocks. The
 * engine then gives back what waiting requests hold, or fails requests that can never fit. */
const char *schedule_check(const struct schedule_view *view, const struct schedule_plan *plan);
/* Part of a device may be promised twice, so that lanes sum to 120% (MuxServe). */
#define SCHEDULE_SHARES_MAX 1.2001F
/* May a batch start on this lane now? */
static inline bool schedule_lane_is_free(const struct schedule_view *view, int32_t lane)
{
    if (view->lane_is_busy[lane])
        return false;
    for (int32_t i = 0; i < view->n_lanes; i++)
        if (view->lane_is_busy[i] && (view->lanes[lane].conflicts >> i & 1) != 0)
            return false;
    return true;
}
/* Returns the known tokens that neither the device nor the host pool holds, which a batch may
 * compute. Blocks of a swapped request come back with its next batch, as part of it. */
static inline int32_t schedule_lacking(const struct request *request)
{
    return request->n_tokens - max_i32(request->n_computed, request->n_host);
}
/* Returns the service's times on this lane (perf_at_share). On a part of GPUs they are as MuxServe
 * measured for the model nearest in bytes. On a part of cores they are inverse to the share. */
struct perf schedule_lane_perf(const struct schedule_service *service,
                               const struct schedule_lane *lane);
/* Returns whether copying this request's blocks to the host and back is cheaper than computing its
 * tokens again. (docs/ALGORITHMS.md 7.2: recompute if T_pre(c) < 2 kappa c / bandwidth.) */
bool schedule_swap_pays(const struct schedule_view *view, uint32_t slot);
/* Returns the positions that the request's table must cover for n_rounds rounds of this item. */
int64_t schedule_positions(const struct request *request, const struct batch_item *item,
                           int32_t n_rounds);
