/* SCLS, the top of its ladder (docs/ALGORITHMS.md 4.1 to 4.5, D-20): as lb, and the interval
 * follows the load of the engines. */
#include "route/policies.h"
#include "route/pool.h"

static const struct route_pool_rules rules = {
    .compose = route_compose_slices,
    .key = route_pool_by_input,
    .lease = route_pool_lease_slice,
    .has_slices = true,
    .is_timed = true,
    .is_max_min = true,
    .is_adaptive = true,
};

static void open(void *state, const struct route_limits *limits, const struct route_config *config)
{
    route_pool_open(state, limits, config, &rules);
}

const struct route_policy route_pool_scls = {
    .name = "scls",
    .summary = "slices, the DP, max-min, an interval that follows the load (SCLS)",
    .does = "as `lb`, with an interval that follows the load",
    .source = "SCLS (4.1 to 4.5, D-20)",
    .when = "offline work on static engines; with `cohort`",
    .thresholds = "n_inflight_max n_slice interval_factor interval_ns_min spreads_small memory "
                  "zeta block_tokens kv_bytes",
    .open = open,
    ROUTE_POOL_MECHANISM,
};
