/* The table of engine schedulers, and the thresholds that they start with. */
#include "base/time.h"
#include "schedule/policies.h"
#include <string.h>

static const struct schedule_policy *const policies[] = {
    &schedule_fcfs,         &schedule_fcfs_temporal, &schedule_rr,         &schedule_db_literal,
    &schedule_db_turn,      &schedule_db_share,      &schedule_db_exact,   &schedule_db_mlfq,
    &schedule_mux_adbs,     &schedule_mux_rr,        &schedule_mux_fcfs,   &schedule_lease_scls_cb,
    &schedule_ils_reserve,  &schedule_ils_fastgen,   &schedule_static_sls, &schedule_static_cohort,
    &schedule_value_policy,
};

const struct schedule_policy *const *schedule_all(int *n)
{
    *n = (int)COUNT_OF(policies);
    return policies;
}

const struct schedule_policy *schedule_find(const char *name)
{
    for (size_t i = 0; i < COUNT_OF(policies); i++)
        if (strcmp(policies[i]->name, name) == 0)
            return policies[i];
    return NULL;
}

void schedule_config_init(struct schedule_config *config)
{
    *config = (struct schedule_config){
        .n_seqs_max = 256,
        .n_batch_tokens_max = 2048,
        .chunk_tokens = 0,
        .watermark = 0.01,
        .ahead_blocks = 1,
        .starve_ns_min = 3 * TIME_NS_PER_S,
        .starve_factor = 2.5,
        .starve_tokens = 16,
        .share_ns_depth = 300 * TIME_NS_PER_MS,
        .share_ns_period = 8 * TIME_NS_PER_S,
        .pool_full = 0.9,
        .pool_cut = 0.8,
        .value_age = 0.1,
        .value_young = 0.2,
        .value_slow = 4,
        .value_cap = 5,
        .value_rate = 0.5,
        .value_few = 6,
        .value_kept = 0.25,
        .value_batch = 1,
        .late_factor = 2,
        .db_counts_wall = false,
        .n_rounds_max = 4096,
        .mlfq_ns_quantum = 10 * TIME_NS_PER_MS,
        .mlfq_ns_idle = 3 * TIME_NS_PER_S,
        .mlfq_n_steps = 1000,
        .quota_ns_period = 8 * TIME_NS_PER_S,
        .quota_donor = 0.9,
        .quota_kept = 0.95,
        .quota_wanted = 1.1,
        .quota_step = 0.1,
        .quota_lent = 0.1,
        .lease_tokens = 128,
        .static_n_seqs_max = 12,
        .cohort_ns_wait = TIME_NS_PER_S,
        .ils_new_tokens = 1024,
        .ils_n_seqs_max = 64,
        .fastgen_batch_tokens = 768,
        .fastgen_n_seqs_max = 512,
        .fastgen_flushes_all = true,
    };
}
