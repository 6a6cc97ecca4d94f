/* ab, the step of SCLS's ladder with adaptive batches (docs/ALGORITHMS.md 4.3): as pm, but memory
 * alone bounds a batch. */
#include "route/policies.h"
#include "route/pool.h"

static const struct route_pool_rules rules = {
    .compose = route_compose_slices,
    .key = route_pool_by_input,
    .lease = route_pool_lease_slice,
    .has_slices = true,
    .is_timed = true,
};

static void open(void *state, const struct route_limits *limits, const struct route_config *config)
{
    route_pool_open(state, limits, config, &rules);
}

const struct route_policy route_pool_ab = {
    .name = "ab",
    .summary = "pm without the fixed size (SCLS's ladder)",
    .does = "as `pm`, with batches of any size",
    .source = "SCLS's ladder (4.3)",
    .when = "to compare; with `cohort`",
    .thresholds =
        "n_inflight_max n_slice interval_ns_min spreads_small memory zeta block_tokens kv_bytes",
    .open = open,
    ROUTE_POOL_MECHANISM,
};
