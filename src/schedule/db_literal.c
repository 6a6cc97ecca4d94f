/* db-literal compares waiting and running requests as the listing of SeaLLM does, so that new
 * requests wait until running ones have used up a budget. */
#include "schedule/db.h"
#include "schedule/policies.h"

static const struct schedule_db_rules rules = { .is_by_phase = true };

static void open(void *state, const struct schedule_limits *limits,
                 const struct schedule_config *config)
{
    schedule_db_state_open(state, limits, config, &rules);
}

const struct schedule_policy schedule_db_literal = {
    .name = "db-literal",
    .summary = "doubling budget as the paper lists it: prompts wait for spent budgets",
    .chooses = "the request with the smallest Q times L-hat",
    .batches = "prompts and decodes in batches of their own",
    .memory = "on demand",
    .starvation = "bounded",
    .thresholds = SCHEDULE_CONFIG_FILL SCHEDULE_CONFIG_STARVE " db_counts_wall",
    .open = open,
    SCHEDULE_DB_MECHANISM,
};
