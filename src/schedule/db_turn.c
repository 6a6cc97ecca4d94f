/* db-turn chooses the service by the doubling budget, and within it takes prompts first
 * (docs/ALGORITHMS.md D-6). */
#include "schedule/db.h"
#include "schedule/policies.h"

static const struct schedule_db_rules rules = { .is_by_phase = false };

static void open(void *state, const struct schedule_limits *limits,
                 const struct schedule_config *config)
{
    schedule_db_state_open(state, limits, config, &rules);
}

const struct schedule_policy schedule_db_turn = {
    .name = "db-turn",
    .summary = "doubling budget chooses the model; prompts before decodes",
    .chooses = "the model whose request has the smallest Q times L-hat",
    .batches = "prompts first, or prompts in chunks beside decodes",
    .memory = "on demand",
    .starvation = "bounded",
    .thresholds = SCHEDULE_CONFIG_FILL SCHEDULE_CONFIG_STARVE " db_counts_wall",
    .open = open,
    SCHEDULE_DB_MECHANISM,
};
