/* The contract of a router: which engine gets which held request. The same shape as a scheduler's:
 * a const struct of functions without clock, input, output, malloc or globals.
 *
 * plan is pure: asked twice, it answers the same. saw is the only door to a policy's state.
 * Requests are named by slot: their place in the host's table (`requests`), which a policy's own
 * arrays follow. The host (gateway, simulator) asks plan when something is held and something
 * happened or the wake came; a plan with choices is asked again at once, after each of them was
 * seen as SENT. So a policy that decides one by one may return one choice, found in O(log engines),
 * while one that composes batches returns them all. */
#pragma once
#include "base/set.h"
#include "base/status.h"
#include "core/report.h"
#include "core/request.h"
#include "core/service.h"
#include "core/service_spec.h"
#include "predict/memory.h"
#include "predict/perf.h"

#define ROUTE_NONE UINT32_MAX /* no slot */

struct route_limits {
    int32_t n_engines_max, n_requests_max, n_services_max;
};

/* SLO-ODBS's test whether a batch may grow (docs/ALGORITHMS.md section 5.2). */
enum route_cost { ROUTE_COST_TEXT, ROUTE_COST_CODE, ROUTE_COST_WASTE };
/* Which constraints best-fit asks: all; of a pool that only prefills (c); that only decodes (b) and
 * (e) (section 3.9). */
enum route_phase { ROUTE_PHASE_BOTH, ROUTE_PHASE_PREFILL, ROUTE_PHASE_DECODE };

struct route_config {       /* every threshold of every router, one struct */
    uint64_t seed;          /* random, p2c: 1 */
    int32_t n_inflight_max; /* requests sent to one engine at most; 0 = the engine's own limit */
    bool p2c_counts;        /* p2c compares counts of requests, not predicted remaining tokens */
    /* static: the engine of a service; -1 = the first that has it. One that has been closed
     * (unhealthy, draining, refusing) for static_ns_wait, 5 s, is as one without the model. */
    int16_t engine_of[LIMIT_SERVICES];
    int64_t static_ns_wait;
    /* best-fit (Aladdin, 3.3 to 3.5) */
    int64_t heartbeat_ns;     /* 50 ms */
    double gamma, theta;      /* 0.5, 1: D-15, D-16 */
    double headroom;          /* rho: l_d is computed with T_dec (1 - rho); 0 */
    double force_fraction;    /* a request is forced when less than this of its TTFT is left: 0.3 */
    int64_t ttft_ns, tpot_ns; /* targets of services that name none: 600 ms, 30 ms */
    bool has_rebalance;       /* moves unsent requests between engines (3.5): true */
    bool is_autoscaled;       /* an engine that was never used counts as one to open */
    enum route_phase phase;
    /* the central pools */
    int32_t n_slice;         /* tokens of a slice: 128 */
    int32_t n_batch;         /* the fixed batch of sls, so, fifo, pm's cap: 12 */
    double interval_factor;  /* lambda: 0.5 */
    int64_t interval_ns_min; /* Gamma: 3 s */
    bool spreads_small;      /* D-20: no batch larger than requests / idle engines */
    enum memory_kind memory; /* how a batch is known to fit: PAGED, PADDED, DeepSpeed's RULES */
    double zeta;             /* of PADDED: 0.9 */
    int32_t block_tokens;    /* of PAGED: 16 */
    int64_t kv_bytes;        /* of an engine whose report names none; 0 = no bound */
    /* the ODBS family and S^3 (5.2, 6.8) */
    enum route_cost cost;
    double slo_weight, length_weight; /* a, b of the sort key: 1, 0.5 (seconds, tokens) */
    double cost_w1, cost_w2, cost_l1, cost_l2, cost_max; /* 1, 1, 1, 1.2, 15000 */
    double waste_max;                                    /* 0.25 */
    int32_t n_odbs_batch;                                /* 10 */
    int32_t n_margin;      /* a batch's cap is its longest prediction plus this: 50 */
    double late_penalty_s; /* slo-dp: seconds of machine time that a predicted miss costs: 1 */
};
void route_config_init(struct route_config *config); /* the defaults named above */
/* Sets one threshold by its field's name: "n_slice=64", "heartbeat_ns=50" (those in ns take
 * milliseconds), "cost=code"; "static.SERVICE=ENGINE" maps a service. */
enum status route_config_set(struct route_config *config, const char *text,
                             struct fault *fault) MUST_USE;
const char *route_config_name(int i); /* of the i-th field; NULL after the last */

struct route_service {
    struct perf perf;           /* of its batches, on any engine; all zero = not known yet */
    int64_t kv_bytes_per_token; /* 0 = not known yet */
    struct service_slo slo;
    int64_t solo_ns; /* mean solo time of its requests, 0 = unknown */
    double n_prompt_mean, n_output_mean;
    uint32_t first_held, last_held; /* by (priority, arrival) */
    uint32_t n_held;
};
/* What a router sees of a request: one cache line. Of one that was sent, n_tokens and first_ns
 * follow what the engine said. */
struct route_request {
    uint64_t id;
    int64_t arrived_ns, deadline_ns; /* as core/request.h has them, and all below */
    int64_t first_ns;
    int32_t n_prompt, n_tokens, n_predicted;
    int32_t n_tokens_max; /* for the host: a router never looks at it */
    uint32_t next, prev;  /* slots: the held ones of its service, in order */
    uint32_t epoch;
    uint16_t service;
    int16_t priority;
};
_Static_assert(sizeof(struct route_request) == 64, "a router's request is a cache line");
static inline struct route_request route_request_of(const struct request *r)
{
    return (struct route_request){ r->id,       r->arrived_ns, r->deadline_ns, r->first_ns,
                                   r->n_prompt, r->n_tokens,   r->n_predicted, r->n_tokens_max,
                                   ROUTE_NONE,  ROUTE_NONE,    r->epoch,       r->service,
                                   r->priority };
}
struct route_engine { /* the light mirror of one engine: its last report and what was sent since */
    bool is_open;     /* healthy, not draining, and not just said to be full */
    int32_t n_sent;   /* requests sent and not yet ended or returned */
    int32_t n_requests_max;       /* of them */
    int32_t n_waiting, n_running; /* as reported */
    int64_t kv_bytes, kv_free_bytes;
    int64_t report_ns;        /* when it said so; 0 = never */
    const struct perf *perfs; /* (n_services) of its batches; NULL = the services' own */
    struct set services;      /* that are loaded there */
};
struct route_view {
    int64_t now_ns;
    int32_t n_engines, n_services;
    const struct route_engine *engines;   /* (n_engines) */
    const struct route_service *services; /* (n_services) */
    const struct route_request *requests; /* by slot */
    const struct set *services_held;      /* that have held requests */
    uint32_t n_held;                      /* of all services */
};
struct route_choice {
    uint32_t slot;
    uint16_t engine;
    uint16_t n_cohort; /* requests of its cohort; they stand next to each other in the plan */
    uint32_t cohort;   /* a batch that runs as a whole; 0 = none */
    int32_t n_lease;   /* tokens until it comes home; 0 = never by itself */
    bool is_forced;    /* sent although it is predicted to miss a target there */
};
struct route_plan {
    int32_t n_choices, n_choices_max;
    struct route_choice *choices;
    void *scratch;            /* scratch_bytes of the policy, 64-byte aligned, any content */
    int64_t wake_ns;          /* ask again then; TIME_NEVER when only news can help */
    int32_t n_engines_wanted; /* of an autoscaled pool; 0 = this router does not say */
};
enum route_what {
    ROUTE_ARRIVED,  /* slot is held for the first time, or again after it was gone */
    ROUTE_SENT,     /* as chosen: engine; choice says the rest */
    ROUTE_RETURNED, /* from engine: held again, with its tokens */
    ROUTE_ENDED,    /* at engine; said before the slot is used again */
    ROUTE_GONE,     /* held no more, and not sent: ended at the door, or set aside there */
    ROUTE_ENGINE,   /* this engine's mirror has changed by other than the above */
    ROUTE_ASKED,    /* a plan had no choices while something is held: its wake counts from now */
};
struct route_event {
    enum route_what what;
    uint16_t engine;
    uint8_t why; /* enum service_why of RETURNED, ENDED */
    uint32_t slot;
    const struct route_choice *choice; /* SENT */
};
/* At SENT the view shows the request as out of the held ones and the engine's n_sent counted up; at
 * RETURNED and ARRIVED as held; at ENDED, GONE as neither. */
struct route_policy {
    const char *name, *summary;
    /* It looks at how far requests are that were sent: the simulator then plans step by step, so
     * that it sees the same with and without holds. */
    bool sees_tokens;
    size_t (*state_bytes)(const struct route_limits *limits);
    size_t (*scratch_bytes)(const struct route_limits *limits); /* NULL = none */
    void (*open)(void *state, const struct route_limits *limits, const struct route_config *config);
    void (*plan)(const void *state, const struct route_view *view, struct route_plan *plan);
    void (*saw)(void *state, const struct route_view *view, const struct route_event *event);
    /* Would this engine take the request now? The node asks of the truth. */
    bool (*fits)(const struct engine_report *report, const struct request *request);
};
/* The room's table, by name. NULL when there is none. */
const struct route_policy *route_find(const char *name);
const struct route_policy *const *route_all(int *n);
/* Is this plan legal? NULL, or what is wrong with it: every choice a held request and an open
 * engine that serves it and has room, nothing twice, cohorts whole, on one engine, of one service.
 * `marks`: a byte per slot, all zero, and left so; n_requests_max of them. */
const char *route_check(const struct route_view *view, const struct route_plan *plan,
                        uint8_t *marks, int32_t n_requests_max);
