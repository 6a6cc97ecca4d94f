/* The table of presets. */
#include "config/presets.h"

#include "base/base.h"
#include <string.h>

static const struct preset presets[] = {
    { .name = "default",
      .summary = "the model whose requests are worth most next, least requests",
      .policy = "value",
      .router = "least",
      .thresholds = { "promotes_slack=1", "guards_tpot=1", "chunk_tokens=2048", "starve_factor=60",
                      "starve_ns_min=20000", "starve_tokens=256" } },
    { .name = "seallm",
      .summary = "doubling budgets in turn (SeaLLM), least requests",
      .policy = "db-turn",
      .router = "least" },
    { .name = "muxserve",
      .summary = "prompts and decodes in turn within KV quotas of a head-wise pool (MuxServe)",
      .policy = "adbs",
      .router = "static",
      .kv = KV_HEADS },
    { .name = "aladdin",
      .summary = "best fit under targets by predicted lengths (Aladdin)",
      .policy = "fcfs",
      .router = "best-fit",
      .predictor = "conditional",
      .router_thresholds = { "heartbeat_ns=50", "gamma=0.5", "theta=1" } },
    { .name = "scls",
      .summary = "padded slices of 128 tokens, composed centrally, max-min (SCLS)",
      .policy = "cohort",
      .router = "scls",
      .predictor = "none",
      .router_thresholds = { "n_slice=128", "memory=padded", "zeta=0.9" } },
    { .name = "uellm",
      .summary = "static batches by predicted length and deadline (UELLM)",
      .policy = "cohort",
      .router = "slo-odbs",
      .predictor = "bucket:2048",
      .router_thresholds = { "cost=text", "n_margin=50" } },
    { .name = "fcfs",
      .summary = "first come, first served over all models",
      .policy = "fcfs",
      .router = "least" },
    { .name = "rr", .summary = "round robin over models", .policy = "rr", .router = "least" },
    { .name = "temporal",
      .summary = "one model at a time, first come, first served (AlpaServe as MuxServe has it)",
      .policy = "temporal",
      .router = "least" },
    { .name = "mlfq",
      .summary = "skip-join multi-level feedback queue (FastServe)",
      .policy = "mlfq",
      .router = "least" },
    { .name = "sls",
      .summary = "static batches of a worker's queue, workers in turn (SCLS's baseline)",
      .policy = "sls",
      .router = "rr" },
    { .name = "ils-reserve",
      .summary = "continuous batches, the most reserved, workers in turn (Orca)",
      .policy = "ils-reserve",
      .router = "rr" },
    { .name = "ils-fastgen",
      .summary = "continuous batches, split prompts, workers in turn (FastGen)",
      .policy = "ils-fastgen",
      .router = "rr" },
    { .name = "so",
      .summary = "slices alone (SCLS's ladder)",
      .policy = "cohort",
      .router = "so",
      .predictor = "none",
      .router_thresholds = { "n_slice=128", "memory=padded", "zeta=0.9" } },
    { .name = "pm",
      .summary = "the DP's batches, a fixed interval (SCLS's ladder)",
      .policy = "cohort",
      .router = "pm",
      .predictor = "none",
      .router_thresholds = { "n_slice=128", "memory=padded", "zeta=0.9" } },
    { .name = "ab",
      .summary = "batches of any size (SCLS's ladder)",
      .policy = "cohort",
      .router = "ab",
      .predictor = "none",
      .router_thresholds = { "n_slice=128", "memory=padded", "zeta=0.9" } },
    { .name = "lb",
      .summary = "and max-min (SCLS's ladder)",
      .policy = "cohort",
      .router = "lb",
      .predictor = "none",
      .router_thresholds = { "n_slice=128", "memory=padded", "zeta=0.9" } },
    { .name = "fifo",
      .summary = "static batches in order of arrival (UELLM's baseline)",
      .policy = "cohort",
      .router = "fifo",
      .predictor = "bucket:2048",
      .router_thresholds = { "n_margin=50" } },
    { .name = "slo-dbs",
      .summary = "static batches by deadline (UELLM's parts)",
      .policy = "cohort",
      .router = "slo-dbs",
      .predictor = "bucket:2048",
      .router_thresholds = { "cost=text", "n_margin=50" } },
    { .name = "odbs",
      .summary = "static batches by predicted length (UELLM's parts)",
      .policy = "cohort",
      .router = "odbs",
      .predictor = "bucket:2048",
      .router_thresholds = { "cost=text", "n_margin=50" } },
    { .name = "s3",
      .summary = "bins of predicted size, first fit decreasing (S^3)",
      .policy = "cohort",
      .router = "s3",
      .predictor = "bucket:2048" },
    { .name = "jsq",
      .summary = "join the shortest queue (Aladdin's baseline)",
      .policy = "fcfs",
      .router = "jsq" },
    { .name = "p2c",
      .summary = "power of two choices (Aladdin's baseline)",
      .policy = "fcfs",
      .router = "p2c",
      .predictor = "conditional" },
};

const struct preset *presets_all(int *n)
{
    *n = (int)COUNT_OF(presets);
    return presets;
}

const struct preset *presets_find(const char *name)
{
    for (size_t i = 0; i < COUNT_OF(presets); i++) {
        if (strcmp(presets[i].name, name) == 0)
            return &presets[i];
    }
    return NULL;
}

const char *presets_names(void)
{
    return "default, seallm, muxserve, aladdin, scls, uellm, fcfs, rr, temporal, mlfq, sls, "
           "ils-reserve, ils-fastgen, so, pm, ab, lb, fifo, slo-dbs, odbs, s3, jsq, p2c";
}
