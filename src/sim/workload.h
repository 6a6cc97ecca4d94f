/* Who asks what and when: a seeded stream of requests.
 *
 * Request k depends on nothing but the seed and k's predecessors' gaps, so two simulations with one
 * seed see the same traffic whatever they do with it. */
#pragma once
#include "base/rng.h"
#include "core/limits.h"

/* exp(normal(mu, sigma)) tokens, cut to [min, max]; sigma 0 is constant. */
struct sim_lengths {
    double mean_log, sigma_log;
    int32_t min, max;
};
struct sim_traffic { /* of one service */
    double rate_per_s;
    struct sim_lengths prompt, output;
};
struct sim_workload {
    uint64_t seed;
    uint64_t n_requests;
    int32_t n_services;
    struct sim_traffic services[LIMIT_SERVICES];
    double cancelled;       /* fraction of requests whose client goes away */
    int64_t cancel_ns_mean; /* after so long, exponential */
    double with_deadline;   /* fraction that has one */
    int64_t deadline_ns;    /* so long after arrival */
    double length_noise;    /* predictions are off by exp(normal(0, noise)); < 0: none are made */
};
struct sim_ask {
    uint64_t number; /* 0, 1, ... */
    int64_t arrived_ns;
    uint16_t service;
    int32_t n_prompt, n_output, n_predicted;
    int64_t cancel_ns, deadline_ns; /* TIME_NEVER: none */
};
struct sim_stream {
    const struct sim_workload *workload;
    uint64_t next;
    double clock_s, rate_per_s;
    struct rng gaps;
};
void sim_workload_begin(struct sim_stream *stream, const struct sim_workload *workload);
/* False when all have come. */
bool sim_workload_next(struct sim_stream *stream, struct sim_ask *ask);
/* Azure's conversations (medians 1,020 and 129 tokens), as a lognormal fit: `rate` of one service.
 */
struct sim_traffic sim_workload_conversations(double rate_per_s);
