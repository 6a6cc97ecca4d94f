/* Replays an engine's log: gives the same mail, answers and times to a real engine, and compares
 * every plan with the logged one. Nothing is computed. */
#pragma once
#include "base/status.h"
#include "predict/perf.h"
#include "schedule/policy.h"

struct engine_replay_batch {  /* a batch that was computed, by the log */
    const char *service_name; /* valid during the call */
    int32_t service, lane, n_items, n_steps;
    bool is_copy, is_padded;
    struct perf_load load;              /* of its first step */
    int64_t planned_ns;                 /* the engine's step that began it */
    int64_t begin_ns, end_ns, heard_ns; /* by the executor; the step that received its end, which
                                           may have begun just before it */
};

struct engine_replay_options {
    const struct schedule_policy *policy; /* instead of the log's policy; NULL = the log's */
    const struct schedule_config *config; /* likewise */
    int64_t memory_bytes_max;             /* for its tables and bodies; 0 = 64 GiB, mostly unused */
    /* called with every batch that did not fail, in the order of their ends; NULL = not called */
    void (*saw)(void *self, const struct engine_replay_batch *batch);
    void *saw_self;
};
struct engine_replay {
    char policy[32];
    int32_t n_services, n_lanes;
    int64_t n_records, n_mails, n_steps, n_plans;
    bool is_cut;  /* the log ends early, because its process died or its limit was reached */
    bool differs; /* the plan with this number in this step, both counted from 1, was different */
    int64_t step, plan, now_ns;
    char was[160]; /* what is planned now, in a few words */
};
/* bytes: the whole log, 8-byte aligned. Returns OK also when a plan differs. The replay ends there,
 * since the logged answers belong to another plan. A malformed or impossible log is BAD_INPUT. */
enum status engine_replay_run(const unsigned char *bytes, size_t n_bytes,
                              const struct engine_replay_options *options,
                              struct engine_replay *result, struct fault *fault) MUST_USE;
