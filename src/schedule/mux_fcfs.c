/* mux-fcfs: adbs without quotas, and first come, first served instead of turns. The model that owns
 * the earliest prompt goes first, then those with the oldest running request. */
#include "schedule/mux.h"
#include "schedule/policies.h"

static const struct schedule_mux_rules rules = { .is_by_arrival = true };

static void open(void *state, const struct schedule_limits *limits,
                 const struct schedule_config *config)
{
    schedule_mux_open(state, limits, config, &rules);
}

const struct schedule_policy schedule_mux_fcfs = {
    .name = "mux-fcfs",
    .summary = "adbs without quotas, first come first served instead of turns",
    .chooses = "the earliest prompt; the oldest running request",
    .batches = "one prefill batch beside decodes",
    .memory = "on demand",
    .starvation =
        "requests of one model go in order of arrival. A model whose prompt fits may go before "
        "an earlier one whose prompt does not; decodes have no bound",
    .thresholds = SCHEDULE_CONFIG_FILL " has_fixed_parts",
    .open = open,
    SCHEDULE_MUX_MECHANISM,
};
