/* May an engine take one more request? Aladdin's constraints (b) to (e), with all aggregates so
 * that (b), (c) and (d) cost O(1) and (e) O(n).
 *
 * eff(q) = i + max(n, gamma o) tokens: prompt, and generated so far or expected.
 * (b) one decode step of everybody, at their eff / theta, lasts at most T_dec (1 - rho).
 * (c) the prompts that wait, its own too, and the step in flight end within the target of its first
 *     token, its waiting counted.
 * (d) those prompts stall nobody who decodes for longer than theta times what he saved so far:
 *     T_dec (n - 1) - (now - first token).
 * (e) at each predicted end of somebody the memory holds all who are still there.
 * Several services on one engine: their steps run in turn, so their times add up, and the strictest
 * T_dec counts. Source: docs/ALGORITHMS.md section 3.3, D-15, D-16. */
#pragma once
#include "route/policy.h"

struct route_worker {
    int32_t n;          /* requests: there, and placed in this heartbeat */
    int32_t n_eff;      /* sum of eff */
    int64_t step_ps[2]; /* sum of c2 + k2 eff / theta, by regime */
    int64_t now_ps;     /* the same of those who decode, at their context: the step in flight */
    int64_t prefill_ps; /* sum of k1 i + q1 i i of those whose prompt waits */
    struct {            /* what comes to these for each service that is in them */
        int64_t step[2], now, prefill;
    } base_ps;
    int64_t target_ns; /* T_dec, of its services the strictest; INT64_MAX = nobody */
    int64_t slack_ns;  /* the least that somebody who decodes has saved; INT64_MAX = nobody */
    int64_t error_ps;  /* epsilon of section 3.5 */
    uint32_t first;    /* its requests: route_worker_link.next, by remaining tokens, most
                          first, once is_sorted */
    bool is_sorted;
};
/* Of a worker's requests the services: all, those that decode, those whose prompt waits. */
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
struct route_fit { /* one heartbeat: the workers lie in the plan's scratch */
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
/* Takes one that was added in this heartbeat out again. */
void route_worker_remove(const struct route_fit *fit, int32_t engine, uint32_t slot);
/* (b) to (e), those that config->phase asks for. Only targets and predictions: whether the engine
 * is open, serves and has room is the caller's to know. */
bool route_worker_takes(const struct route_fit *fit, int32_t engine, uint32_t slot);
/* Would it with nobody on it? If not, waiting helps nothing. */
bool route_worker_takes_alone(const struct route_fit *fit, int32_t engine, uint32_t slot);
/* The same as route_worker_takes for many engines: `part` is of this slot on an engine with the
 * same performance. */
struct route_worker_part route_worker_part(const struct route_fit *fit, int32_t engine,
                                           uint32_t slot);
bool route_worker_takes_part(const struct route_fit *fit, int32_t engine, uint32_t slot,
                             const struct route_worker_part *part);
/* How full: |(b / b_max, sum eff / l_d(1))| squared, as this service has it (D-17). */
double route_worker_norm(const struct route_fit *fit, int32_t engine, int service);
int64_t route_worker_ttft_ns(const struct route_fit *fit, int service);
/* delta of section 3.5: what one request is worth in a decode step. */
int64_t route_worker_delta_ps(const struct route_fit *fit, int32_t engine, uint32_t slot);
