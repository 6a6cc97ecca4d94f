/* least, the dispatcher of SeaLLM (docs/ALGORITHMS.md 1.5): the engine with the fewest requests. A
 * request counts from when it is sent until it ends, whether it waits or runs. */
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

const struct route_policy route_spread_least = {
    .name = "least",
    .summary = "the engine with the fewest requests (SeaLLM's dispatcher)",
    .does = "sends to the engine with the fewest requests, waiting or running; the lower number "
            "wins a tie",
    .source = "SeaLLM's dispatcher (1.5)",
    .when = "a fixed pool of engines, and requests alike",
    .thresholds = "n_inflight_max",
    .open = open,
    ROUTE_SPREAD_MECHANISM,
};
