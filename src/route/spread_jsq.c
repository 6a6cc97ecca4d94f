/* jsq, join the shortest queue (docs/ALGORITHMS.md 6.12). It is least under another name, because
 * that counts waiting and running requests, too. */
#include "route/policies.h"
#include "route/spread.h"

static const struct route_spread_rules rules = {
    .choose = route_spread_choose_least,
    .counts = true,
};

static void open(void *state, const struct route_limits *limits, const struct route_config *config)
{
    route_spread_open(state, limits, config, &rules);
}

const struct route_policy route_spread_jsq = {
    .name = "jsq",
    .summary = "join the shortest queue, waiting and running counted: the same as least",
    .does = "the same as `least`, under the name that papers use",
    .source = "6.12",
    .when = "a fixed pool of engines, and requests alike",
    .thresholds = "n_inflight_max",
    .open = open,
    ROUTE_SPREAD_MECHANISM,
};
