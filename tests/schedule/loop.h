/* A very small engine around a policy: real block tables, time from a performance model, every plan
 * checked, asked twice and recorded. For the tests of policies; bench/schedule times them in it. */
#pragma once
#include "schedule/policy.h"

enum { LOOP_SERVICES = 4 };

struct loop_options {
    const struct schedule_policy *policy;
    struct schedule_config config;
    int n_services;
    struct loop_service {
        struct perf perf;
        int64_t solo_ns, deviation_ns;
        double rate_per_s, n_prompt_mean, n_output_mean;
        int64_t bytes_per_token, bytes_min, bytes_max;
    } services[LOOP_SERVICES];
    int64_t pool_bytes, unit_bytes;
    uint32_t n_requests_max;
    bool is_unchecked; /* for timing */
};
struct loop_result {
    int64_t first_ns, end_ns, served_gap_ns; /* gap: the longest time without being served */
    uint32_t n_preempted;
};
struct loop {
    struct loop_options options;
    void *state;
    struct kv *kv;
    struct schedule_view view;
    struct schedule_service services[LOOP_SERVICES];
    uint32_t *running[LOOP_SERVICES];
    uint32_t last_waiting[LOOP_SERVICES];
    struct request *requests;
    struct request *coming;      /* (n_coming) by arrival */
    struct loop_result *results; /* by id */
    uint32_t *free_slots;
    int32_t *n_table_blocks;
    bool lane_is_busy[1];
    uint32_t n_free, n_coming, next_coming, n_alive;
    struct schedule_plan plan, again;
    int64_t n_plans, n_steps, n_preempts, n_holds, n_mixed, n_chunks;
    uint64_t trace; /* hash of every step: time, service, requests, tokens */
    /* Called with every batch before it begins; may be NULL. */
    void (*on_batch)(struct loop *loop, const struct batch *batch, void *self);
    void *on_batch_self;
    /* The same when it has ended, with the policy's event, before those that are over leave. */
    void (*on_done)(struct loop *loop, const struct schedule_event *event, void *self);
    void *on_done_self;
};
void loop_open(struct loop *loop, const struct loop_options *options);
void loop_close(struct loop *loop);
/* Requests must be added in order of arrival, before loop_run. Returns the id: 0, 1, 2, ... */
uint64_t loop_add(struct loop *loop, int service, int64_t arrived_ns, int32_t n_prompt,
                  int32_t n_output);
void loop_run(struct loop *loop); /* until every request has ended */
/* The pieces of loop_run: the requests that have arrived by now, then one plan and its execution.
 * loop_step returns false when there is nothing to do. */
void loop_arrive(struct loop *loop);
bool loop_step(struct loop *loop);
/* One unit of time for the prefill of any prompt and for any decode step. */
struct perf loop_unit_perf(int64_t unit_ns);
/* The published model on one A100: "llama-7b", "llama-13b". */
struct perf loop_a100_perf(const char *model);
