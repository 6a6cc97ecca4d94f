/* mux-rr: adbs without quotas. */
#include "schedule/mux.h"
#include "schedule/policies.h"

static const struct schedule_mux_rules rules = { .has_quotas = false };

static void open(void *state, const struct schedule_limits *limits,
                 const struct schedule_config *config)
{
    schedule_mux_open(state, limits, config, &rules);
}

const struct schedule_policy schedule_mux_rr = {
    .name = "mux-rr",
    .summary = "adbs without quotas",
    .chooses = "models in turn",
    .batches = "one prefill batch beside decodes",
    .memory = "on demand",
    .starvation = "as `adbs`, for prompts that find blocks",
    .thresholds = SCHEDULE_CONFIG_FILL " has_fixed_parts",
    .open = open,
    SCHEDULE_MUX_MECHANISM,
};
