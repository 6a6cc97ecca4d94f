/* random, any engine (docs/ALGORITHMS.md 6.14). The seed decides every draw. */
#include "route/policies.h"
#include "route/spread.h"

static int32_t choose(const struct route_spread *spread, const struct route_view *view,
                      uint32_t slot)
{
    return route_spread_draw(spread, view, view->requests[slot].service, 0, -1);
}

static const struct route_spread_rules rules = {
    .choose = choose,
};

static void open(void *state, const struct route_limits *limits, const struct route_config *config)
{
    route_spread_open(state, limits, config, &rules);
}

const struct route_policy route_spread_random = {
    .name = "random",
    .summary = "any engine, seeded",
    .does = "sends to any engine, drawn by `seed`",
    .source = "6.14",
    .when = "as a baseline",
    .thresholds = "n_inflight_max seed",
    .open = open,
    ROUTE_SPREAD_MECHANISM,
};
