/* fifo, the baseline of UELLM: batches of a fixed size in order of arrival. */
#include "route/policies.h"
#include "route/pool.h"

static const struct route_pool_rules rules = {
    .compose = route_compose_fixed,
    .is_capped = true,
};

static void open(void *state, const struct route_limits *limits, const struct route_config *config)
{
    route_pool_open(state, limits, config, &rules);
}

const struct route_policy route_pool_fifo = {
    .name = "fifo",
    .summary = "batches of a fixed size in order of arrival (UELLM's baseline)",
    .does = "sends batches of `n_batch` requests, in order of arrival, to idle engines",
    .source = "UELLM's baseline",
    .when = "to compare; with `cohort`",
    .thresholds = "n_inflight_max n_batch n_margin spreads_small memory zeta block_tokens kv_bytes",
    .open = open,
    ROUTE_POOL_MECHANISM,
};
