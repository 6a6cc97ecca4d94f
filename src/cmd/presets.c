/* The table of presets. */
#include "cmd/presets.h"

#include "base/base.h"
#include <string.h>

static const struct preset presets[] = {
    { "default",
      "share-capped doubling budgets, least requests",
      "db-share",
      "least",
      { "promotes_slack=1", "guards_tpot=1", "has_leases=1", "has_soft_quotas=1" } },
    { "seallm", "doubling budgets in turn (SeaLLM), least requests", "db-turn", "least", { NULL } },
    { "muxserve",
      "prompts and decodes in turn within KV quotas (MuxServe)",
      "adbs",
      "static",
      { NULL } },
    { "fcfs", "first come, first served over all models", "fcfs", "least", { NULL } },
    { "rr", "round robin over models", "rr", "least", { NULL } },
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
    return "default, seallm, muxserve, fcfs, rr";
}
