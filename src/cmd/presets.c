/* The table of presets. */
#include "cmd/presets.h"

#include "base/base.h"
#include <string.h>

static const struct preset presets[] = {
    { "default", "share-capped doubling budgets, least requests", "db-share", "least" },
    { "seallm", "doubling budgets in turn (SeaLLM), least requests", "db-turn", "least" },
    { "fcfs", "first come, first served over all models", "fcfs", "least" },
    { "rr", "round robin over models", "rr", "least" },
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
    return "default, seallm, fcfs, rr";
}
