/* The routers of this room, for its table. */
#pragma once
#include "route/policy.h"

extern const struct route_policy route_best_fit, route_pool_pm, route_pool_ab, route_pool_lb,
    route_pool_scls, route_pool_fifo, route_pool_slo_odbs, route_pool_slo_dbs, route_pool_odbs,
    route_pool_slo_dp, route_pool_s3, route_spread_so, route_spread_least, route_spread_jsq,
    route_spread_rr, route_spread_random, route_spread_p2c, route_spread_token_jsq,
    route_spread_static, route_spread_least_finish;
