/* temporal, the baseline of MuxServe (docs/ALGORITHMS.md 6.2): fcfs that never mixes prompts and
 * decodes. Starvation: as fcfs. */
#include "schedule/fcfs.h"
#include "schedule/policies.h"

static void open(void *state, const struct schedule_limits *limits,
                 const struct schedule_config *config)
{
    struct schedule_config whole = *config;
    whole.chunk_tokens = 0;
    schedule_fcfs_open(state, limits, &whole);
}

const struct schedule_policy schedule_fcfs_temporal = {
    .name = "temporal",
    .summary = "the model with the earliest prompt, else the one with the oldest running request",
    .chooses = "as `fcfs`",
    .batches = "prompts and decodes never share a batch",
    .memory = "on demand",
    .starvation = "as `fcfs`",
    .thresholds = SCHEDULE_CONFIG_FILL,
    .state_bytes = schedule_fcfs_state_bytes,
    .open = open,
    .plan = schedule_fcfs_plan,
    .saw = schedule_fcfs_saw,
};
