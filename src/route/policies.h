/* The routers of this room, for its table. */
#pragma once
#include "route/policy.h"

extern const struct route_policy route_least, route_jsq, route_rr, route_random, route_p2c,
    route_token_jsq, route_static, route_least_finish;
