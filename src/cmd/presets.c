/* The table of presets. */
#include "cmd/presets.h"

#include "base/base.h"
#include <string.h>

static const struct preset presets[] = {
    { "default",
      "the model whose requests are worth most next, least requests",
      "value",
      "least",
      NULL,
      KV_MERGED,
      { "promotes_slack=1", "guards_tpot=1", "chunk_tokens=2048", "starve_factor=30" },
      { NULL } },
    { "seallm",
      "doubling budgets in turn (SeaLLM), least requests",
      "db-turn",
      "least",
      NULL,
      KV_MERGED,
      { NULL },
      { NULL } },
    { "muxserve",
      "prompts and decodes in turn within KV quotas of a head-wise pool (MuxServe)",
      "adbs",
      "static",
      NULL,
      KV_HEADS,
      { NULL },
      { NULL } },
    { "aladdin",
      "best fit under targets by predicted lengths (Aladdin)",
      "fcfs",
      "best-fit",
      "conditional",
      KV_MERGED,
      { NULL },
      { "heartbeat_ns=50", "gamma=0.5", "theta=1" } },
    { "scls",
      "padded slices of 128 tokens, composed centrally, max-min (SCLS)",
      "cohort",
      "scls",
      "none",
      KV_MERGED,
      { NULL },
      { "n_slice=128", "memory=padded", "zeta=0.9" } },
    { "uellm",
      "static batches by predicted length and deadline (UELLM)",
      "cohort",
      "slo-odbs",
      "bucket:2048",
      KV_MERGED,
      { NULL },
      { "cost=text", "n_margin=50" } },
    { "fcfs",
      "first come, first served over all models",
      "fcfs",
      "least",
      NULL,
      KV_MERGED,
      { NULL },
      { NULL } },
    { "rr", "round robin over models", "rr", "least", NULL, KV_MERGED, { NULL }, { NULL } },
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
    return "default, seallm, muxserve, aladdin, scls, uellm, fcfs, rr";
}
