/* The contract of a router: which engine gets which held request. It has the form of a scheduler: a
 * const struct of functions without clock, input, output, malloc or globals.
 *
 * plan is pure: the same question gets the same answer. Only saw changes a policy's state. Requests
 * are named by slot: their place in the host's table (`requests`), which a policy's own arrays
 * follow. The host (gateway, simulator) calls plan when a request is held and something happened or
 * the wake time came. After a plan with choices it calls plan again at once, when each of them was
 * seen as SENT. So a policy that decides one by one may return one choice, found in O(log engines),
 * while one that composes batches returns them all. */
#pragma once
#include "base/set.h"
#include "base/status.h"
#include "core/report.h"
#include "core/request.h"
#include "core/service.h"
#include "core/service_spec.h"
#include "predict/perf.h"
#include "route/config.h"

#define ROUTE_NONE UINT32_MAX /* no slot */

struct route_limits {
    int32_t n_engines_max, n_requests_max, n_services_max;
};

struct route_service {
    struct perf perf;           /* of its batches, on any engine; all zero = unknown yet */
    int64_t kv_bytes_per_token; /* 0 = not known yet */
    struct service_slo slo;
    int64_t solo_ns; /* mean solo time of its requests, 0 = unknown */
    double n_prompt_mean, n_output_mean;
    uint32_t first_held, last_held; /* by (priority, arrival) */
    uint32_t n_held;
};
/* A request as a router sees it, in one cache line. After it was sent, n_tokens and first_ns follow
 * the engine's events. */
struct route_request {
    uint64_t id;
    int64_t arrived_ns, deadline_ns; /* as core/request.h has them, and all below */
    int64_t first_ns;
    int32_t n_prompt, n_tokens, n_predicted;
    int32_t n_tokens_max; /* for the host; a router never reads it */
    uint32_t next, prev;  /* slots: the held requests of its service, in order */
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
/* What other gateways have on an engine, of one service: sums over their requests there, as the
 * node counted them at its last report. Several gateways place well together if each adds these to
 * what it sent itself. */
struct route_others {
    int32_t n, n_waiting;     /* requests; those of them that have no token yet */
    int64_t n_prompt, n_new;  /* tokens: of their prompts; generated */
    int64_t n_expected;       /* that they generate in all, by their gateways' predictions */
    int64_t n_waiting_tokens; /* of those that wait */
    int64_t decoding_ns;      /* since their first tokens */
    int64_t load;             /* sum of route_choice.load */
};
/* A request adds at most this much, so that sums do not wrap. */
#define ROUTE_LOAD_MAX (INT64_C(1) << 46)
struct route_engine { /* the light mirror of one engine: its last report, and what was sent since */
    bool is_open;     /* healthy, not draining, and not just reported as full */
    int32_t n_sent;   /* requests sent and not yet ended or returned */
    int32_t n_requests_max;       /* the most that n_sent may be */
    int32_t n_waiting, n_running; /* as reported */
    int64_t kv_bytes, kv_free_bytes;
    int64_t report_ns;                 /* when the engine made it, by the host's clock; 0 = never */
    const struct perf *perfs;          /* (n_services) of its batches; NULL = the services' own */
    struct set services;               /* that are loaded there */
    int32_t n_others;                  /* requests of other gateways, as reported, */
    int64_t load_others;               /* the load that they add, */
    const struct route_others *others; /* and both by service (n_services); NULL = there are none */
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
    uint16_t n_cohort; /* requests of its cohort, which are next to each other in the plan */
    uint32_t cohort;   /* a batch that runs as a whole; 0 = none */
    int64_t load;    /* that it adds to its engine, in the router's own unit; for other gateways */
    int32_t n_lease; /* tokens until it returns; 0 = no limit */
    bool is_forced;  /* sent although it is predicted to miss a target there */
};
struct route_plan {
    int32_t n_choices, n_choices_max;
    struct route_choice *choices;
    void *scratch;            /* scratch_bytes of the policy, 64-byte aligned, any content */
    int64_t wake_ns;          /* time of the next call; TIME_NEVER when only events can help */
    int32_t n_engines_wanted; /* of an autoscaled pool; 0 = this router does not set it */
};
enum route_what {
    ROUTE_ARRIVED,  /* slot is held for the first time, or again after it was gone */
    ROUTE_SENT,     /* as chosen: engine; choice has the rest */
    ROUTE_RETURNED, /* from engine: held again, with its tokens */
    ROUTE_ENDED,    /* at engine; sent before the slot is used again */
    ROUTE_GONE,     /* held no more, and not sent: the gateway ended it or set it aside */
    ROUTE_ENGINE,   /* this engine's mirror has changed by other than the above */
    ROUTE_ASKED,    /* a plan had no choices while requests are held; its wake counts from now */
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
    /* For the tables of the documents: its full behaviour, its paper, and its purpose. */
    const char *does, *source, *when;
    const char *thresholds; /* names of all that it reads, separated by spaces; config.h */
    /* It uses the progress of sent requests. The simulator then plans step by step, so that it sees
     * the same with and without holds. */
    bool sees_tokens;
    size_t (*state_bytes)(const struct route_limits *limits);
    size_t (*scratch_bytes)(const struct route_limits *limits); /* NULL = none */
    void (*open)(void *state, const struct route_limits *limits, const struct route_config *config);
    void (*plan)(const void *state, const struct route_view *view, struct route_plan *plan);
    void (*saw)(void *state, const struct route_view *view, const struct route_event *event);
    /* Returns whether this engine would take the request now. The node calls it with the true
     * state. */
    bool (*fits)(const struct engine_report *report, const struct request *request);
};
/* Finds a row of the room's table by name; NULL when no policy has it. */
const struct route_policy *route_find(const char *name);
const struct route_policy *const *route_all(int *n);
/* Checks that a plan is legal. Returns NULL, or what is wrong with it. Every choice must be a held
 * request and an open engine that serves it and has room. No request may be chosen twice, and
 * cohorts must be whole, on one engine, and of one service. `marks`: a byte per slot, all zero, and
 * left so; n_requests_max of them. */
const char *route_check(const struct route_view *view, const struct route_plan *plan,
                        uint8_t *marks, int32_t n_requests_max);
