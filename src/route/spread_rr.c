/* rr, engines in turn (docs/ALGORITHMS.md 6.14). */
#include "route/policies.h"
#include "route/spread.h"

static const struct route_spread_rules rules = {
    .choose = route_spread_choose_next,
};

static void open(void *state, const struct route_limits *limits, const struct route_config *config)
{
    route_spread_open(state, limits, config, &rules);
}

const struct route_policy route_spread_rr = {
    .name = "rr",
    .summary = "engines in turn",
    .does = "sends to the engines in turn",
    .source = "6.14",
    .when = "as a baseline",
    .thresholds = "n_inflight_max",
    .open = open,
    ROUTE_SPREAD_MECHANISM,
};
