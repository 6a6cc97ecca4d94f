/* adbs, adaptive batch scheduling (MuxServe section 3.3, docs/ALGORITHMS.md 2.6): prompts of the
 * next model in turn that is below its quota of the pool, and decodes in turn beside them. */
#include "schedule/mux.h"
#include "schedule/policies.h"

static const struct schedule_mux_rules rules = { .has_quotas = true };

static void open(void *state, const struct schedule_limits *limits,
                 const struct schedule_config *config)
{
    schedule_mux_open(state, limits, config, &rules);
}

const struct schedule_policy schedule_mux_adbs = {
    .name = "adbs",
    .summary = "prompts in turn within adaptive KV quotas, decodes in turn beside them (MuxServe)",
    .chooses = "models in turn",
    .batches = "one prefill batch beside decodes",
    .memory = "adaptive quotas",
    .starvation =
        "a prompt that fits into its model's quota gets a turn in each round; decodes have no "
        "bound on one lane",
    .thresholds =
        SCHEDULE_CONFIG_FILL " has_fixed_parts quota_ns_period quota_donor quota_kept quota_wanted "
                             "quota_step quota_lent",
    .open = open,
    .report = schedule_mux_report,
    SCHEDULE_MUX_MECHANISM,
};
