/* The table of engine schedulers, and the thresholds that they start with. */
#include "base/time.h"
#include "schedule/policies.h"
#include <string.h>

static const struct schedule_policy *const policies[] = {
    &schedule_fcfs, &schedule_rr, &schedule_db_literal, &schedule_db_turn, &schedule_db_share,
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
        .starve_ns_min = 3 * TIME_NS_PER_S,
        .starve_factor = 2.5,
        .share_ns_depth = 300 * TIME_NS_PER_MS,
        .share_ns_period = 8 * TIME_NS_PER_S,
        .pool_full = 0.9,
        .pool_cut = 0.8,
        .db_counts_wall = false,
        .n_rounds_max = 4096,
    };
}
