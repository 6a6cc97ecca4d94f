/* Replaying an engine's log: the same mail, answers and times into a real engine, and every plan
 * compared with the one of then. Nothing is computed. */
#pragma once
#include "base/status.h"
#include "schedule/policy.h"

struct engine_replay_options {
    const struct schedule_policy *policy; /* another one than the log's; NULL = the log's */
    const struct schedule_config *config; /* likewise */
    int64_t memory_bytes_max; /* that its tables and bodies may take; 0 = 64 GiB, most of which a
                                 log of a small run never touches */
};
struct engine_replay {
    char policy[32];
    int64_t n_records, n_mails, n_steps, n_plans;
    bool is_cut;  /* the log ends early: its process died, or its limit was reached */
    bool differs; /* the plan with this number in this step, both counted from 1, was another */
    int64_t step, plan, now_ns;
    char was[160]; /* what is planned now, in a few words */
};
/* bytes: the whole log, 8-byte aligned. OK also when a plan differs: the replay ends there, since
 * the answers of then answer nothing any more. What is malformed, or says what can't have happened,
 * is BAD_INPUT. */
enum status engine_replay_run(const unsigned char *bytes, size_t n_bytes,
                              const struct engine_replay_options *options,
                              struct engine_replay *result, struct fault *fault) MUST_USE;
