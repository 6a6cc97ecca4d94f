/* so, the first step of SCLS's ladder (docs/ALGORITHMS.md 4.3): engines in turn, and a request
 * returns after a slice. */
#include "route/policies.h"
#include "route/spread.h"

static const struct route_spread_rules rules = {
    .choose = route_spread_choose_next,
    .has_slices = true,
};

static void open(void *state, const struct route_limits *limits, const struct route_config *config)
{
    route_spread_open(state, limits, config, &rules);
}

const struct route_policy route_spread_so = {
    .name = "so",
    .summary = "engines in turn; a request returns after a slice (SCLS's ladder)",
    .does = "sends to the engines in turn; a request returns to the router after `n_slice` tokens. "
            "Needs the scheduler `sls` or `cohort`",
    .source = "SCLS's ladder (4.3)",
    .when = "to compare",
    .thresholds = "n_inflight_max n_slice",
    .open = open,
    ROUTE_SPREAD_MECHANISM,
};
