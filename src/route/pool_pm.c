/* pm, the step of SCLS's ladder with padding-aware batches of a bounded size (docs/ALGORITHMS.md
 * 4.1 to 4.3): the DP cuts all held requests into slices of at most n_batch requests, which go to
 * engines in turn. */
#include "route/policies.h"
#include "route/pool.h"

static const struct route_pool_rules rules = {
    .compose = route_compose_slices,
    .key = route_pool_by_input,
    .lease = route_pool_lease_slice,
    .has_slices = true,
    .is_timed = true,
    .is_capped = true,
};

static void open(void *state, const struct route_limits *limits, const struct route_config *config)
{
    route_pool_open(state, limits, config, &rules);
}

const struct route_policy route_pool_pm = {
    .name = "pm",
    .summary = "slices, batches by the DP up to a fixed size, in turn (SCLS's ladder)",
    .does = "every interval, cuts all held requests by the DP into slices of at most `n_batch` "
            "requests, and sends them to engines in turn",
    .source = "SCLS's ladder (4.1 to 4.3)",
    .when = "to compare; with the scheduler `cohort`",
    .thresholds = "n_inflight_max n_slice n_batch interval_ns_min spreads_small memory zeta "
                  "block_tokens kv_bytes",
    .open = open,
    ROUTE_POOL_MECHANISM,
};
