/* lb, the step of SCLS's ladder with load balancing (docs/ALGORITHMS.md 4.3): as ab, but the
 * longest batch goes to the engine with the least load. */
#include "route/policies.h"
#include "route/pool.h"

static const struct route_pool_rules rules = {
    .compose = route_compose_slices,
    .key = route_pool_by_input,
    .lease = route_pool_lease_slice,
    .has_slices = true,
    .is_timed = true,
    .is_max_min = true,
};

static void open(void *state, const struct route_limits *limits, const struct route_config *config)
{
    route_pool_open(state, limits, config, &rules);
}

const struct route_policy route_pool_lb = {
    .name = "lb",
    .summary = "ab, to the engine with the least load (SCLS's ladder)",
    .does = "as `ab`, to the engine with the least load",
    .source = "SCLS's ladder (4.3)",
    .when = "to compare; with `cohort`",
    .thresholds =
        "n_inflight_max n_slice interval_ns_min spreads_small memory zeta block_tokens kv_bytes",
    .open = open,
    ROUTE_POOL_MECHANISM,
};
