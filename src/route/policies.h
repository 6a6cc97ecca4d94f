/* The routers of this room, for its table. */
#pragma once
#include "route/policy.h"

extern const struct route_policy route_best_fit, route_spread_least, route_spread_jsq,
    route_spread_rr, route_spread_random, route_spread_p2c, route_spread_token_jsq,
    route_spread_static, route_spread_least_finish;
