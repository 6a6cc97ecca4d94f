/* Decides whether an engine may take one more request. Aladdin's constraints (b) to (e), with all
 * aggregates so that (b), (c) and (d) cost O(1) and (e) O(n).
 *
 * eff(q) = i + max(n, gamma o) tokens: prompt, and generated so far or expected.
 * (b) One decode step of all requests, at their eff / theta, lasts at most T_dec (1 - rho). In a
 *     pool that only decodes, requests come late: their KV was handed over, and they were held. So
 *     a step may last only what is left to each for its remaining tokens, (T_dec (o - 1) - (now -
 *     first token)) / (o - n), a new request counting the step in flight as well. A request that
 *     would miss its target alone on the engine does not bind the others.
 * (c) The waiting prompts, its own included, and the step in flight end within the target of its
 *     first token, its waiting counted.
 * (d) Those prompts stall no decoding request for longer than theta times what it has saved so far:
 *     T_dec (n - 1) - (now - first token).
 * (e) At each predicted end of a request, the memory holds all that remain.
 * Several services on one engine run their steps in turn, so their times add up, and the strictest
 * T_dec counts. Source: docs/ALGORITHMS.md section 3.3, D-15, D-16. */
#pragma once
#include "route/policy.h"

struct route_worker {
    int32_t n;          /* requests: there, and placed in this heartbeat */
    int32_t n_eff;      /* sum of eff */
    int64_t step_ps[2]; /* sum of c2 + k2 eff / theta, by regime */
    int64_t now_ps;     /* the same for decoding requests, at their context: the step in flight */
    int64_t prefill_ps; /* sum of k1 i + q1 i i over requests with a waiting prompt */
    struct {            /* additions to these for each service that is in them */
        int64_t step[2], now, prefill;
    } base_ps;
    int64_t target_ns; /* T_dec, the strictest of its services, or what is left of it in a pool that
                          only decodes; INT64_MAX = no service */
    int64_t slack_ns;  /* the least that a decoding request has saved; INT64_MAX = none decodes */
    int64_t error_ps;  /* epsilon of section 3.5 */
    int64_t others_bytes; /* of KV that other gateways' requests come to need */
    uint32_t first;       /* its requests: route_worker_link.next, by remaining tokens, most
                             first, once is_sorted */
    bool is_sorted;
};
/* The services of a worker's requests: of all, of those that decode, of those with a waiting
 * prompt. */
enum route_worker_set {
    ROUTE_WORKER_ALL,
    ROUTE_WORKER_DECODING,
    ROUTE_WORKER_WAITING,
    ROUTE_WORKER_SETS
};
struct route_worker_link {
    uint32_t next;
    int32_t n_left;     /* predicted tokens still to come, at least 1 */
    int64_t kv_bytes;   /* held now, rounding to blocks included */
    int64_t step_bytes; /* more with every token */
};
struct route_worker_part { /* what a request adds to the aggregates */
    int32_t n_eff;
    int64_t step_ps[2], now_ps, prefill_ps;
};
struct route_fit { /* one heartbeat; the workers lie in the plan's scratch */
    const struct route_config *config;
    const struct route_view *view;
    struct route_worker *workers;    /* (n_engines) */
    uint64_t *sets;                  /* (n_engines, ROUTE_WORKER_SETS, n_words) */
    int32_t n_words;                 /* of a set of services */
    struct route_worker_link *links; /* (n_requests) */
};
void route_worker_clear(const struct route_fit *fit, int32_t engine);
/* Counts a request as being on this engine. */
void route_worker_add(const struct route_fit *fit, int32_t engine, uint32_t slot);
/* Counts what other gateways have on this engine, after its own requests. Only sums are known of
 * theirs: (d) takes the mean of what their answers have saved, and (e) counts their KV as grown. */
void route_worker_add_others(const struct route_fit *fit, int32_t engine);
/* Takes out a request that was added in this heartbeat. */
void route_worker_remove(const struct route_fit *fit, int32_t engine, uint32_t slot);
/* Checks (b) to (e), as far as config->phase has them. These are only targets and predictions; the
 * caller knows whether the engine is open, serves the service and has room. */
bool route_worker_takes(const struct route_fit *fit, int32_t engine, uint32_t slot);
/* Returns whether it would take the request if it were empty. If not, waiting does not help. */
bool route_worker_takes_alone(const struct route_fit *fit, int32_t engine, uint32_t slot);
/* Does what route_worker_takes does, for many engines: `part` is of this slot on an engine with the
 * same performance. */
struct route_worker_part route_worker_part(const struct route_fit *fit, int32_t engine,
                                           uint32_t slot);
bool route_worker_takes_part(const struct route_fit *fit, int32_t engine, uint32_t slot,
                             const struct route_worker_part *part);
/* Returns how full the engine is: |(b / b_max, sum eff / l_d(1))| squared, for this service
 * (D-17). */
double route_worker_norm(const struct route_fit *fit, int32_t engine, int service);
int64_t route_worker_ttft_ns(const struct route_fit *fit, int service);
/* Returns delta of section 3.5: the part of one request in a decode step. */
int64_t route_worker_delta_ps(const struct route_fit *fit, int32_t engine, uint32_t slot);
