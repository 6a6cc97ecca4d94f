/* The room's table: a row for each router, whose own file has everything else. Help and documents
 * list them in this order. */
#pragma once
#include "route/policy.h"

/* clang-format off */
#define ROUTE_POLICIES(ROW) \
    ROW(spread_least) \
    ROW(spread_jsq) \
    ROW(spread_rr) \
    ROW(spread_random) \
    ROW(spread_p2c) \
    ROW(spread_token_jsq) \
    ROW(spread_static) \
    ROW(spread_least_finish) \
    ROW(best_fit) \
    ROW(spread_so) \
    ROW(pool_pm) \
    ROW(pool_ab) \
    ROW(pool_lb) \
    ROW(pool_scls) \
    ROW(pool_fifo) \
    ROW(pool_slo_odbs) \
    ROW(pool_slo_dbs) \
    ROW(pool_odbs) \
    ROW(pool_slo_dp) \
    ROW(pool_s3)
/* clang-format on */

#define ROW(name) extern const struct route_policy route_##name;
ROUTE_POLICIES(ROW)
#undef ROW
