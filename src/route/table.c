/* The room's table: every router by name, and the thresholds' defaults. */
#include "route/policies.h"

#include "base/time.h"
#include <string.h>

static const struct route_policy *const routers[] = {
    &route_spread_least, &route_spread_jsq,       &route_spread_rr,     &route_spread_random,
    &route_spread_p2c,   &route_spread_token_jsq, &route_spread_static, &route_spread_least_finish,
    &route_best_fit,     &route_spread_so,        &route_pool_pm,       &route_pool_ab,
    &route_pool_lb,      &route_pool_scls,        &route_pool_fifo,     &route_pool_slo_odbs,
    &route_pool_slo_dbs, &route_pool_odbs,        &route_pool_slo_dp,   &route_pool_s3,
};

const struct route_policy *route_find(const char *name)
{
    for (size_t i = 0; i < COUNT_OF(routers); i++) {
        if (strcmp(routers[i]->name, name) == 0)
            return routers[i];
    }
    return NULL;
}

const struct route_policy *const *route_all(int *n)
{
    *n = (int)COUNT_OF(routers);
    return routers;
}

void route_config_init(struct route_config *config)
{
    *config = (struct route_config){
        .seed = 1,
        .static_ns_wait = 5 * TIME_NS_PER_S,
        .heartbeat_ns = 50 * TIME_NS_PER_MS,
        .gamma = 0.5,
        .theta = 1,
        .force_fraction = 0.3,
        .ttft_ns = 600 * TIME_NS_PER_MS,
        .tpot_ns = 30 * TIME_NS_PER_MS,
        .has_rebalance = true,
        .n_slice = 128,
        .n_batch = 12,
        .interval_factor = 0.5,
        .interval_ns_min = 3 * TIME_NS_PER_S,
        .memory = MEMORY_PAGED,
        .zeta = 0.9,
        .block_tokens = 16,
        .cost = ROUTE_COST_WASTE,
        .slo_weight = 1,
        .length_weight = 0.5,
        .cost_w1 = 1,
        .cost_w2 = 1,
        .cost_l1 = 1,
        .cost_l2 = 1.2,
        .cost_max = 15000,
        .waste_max = 0.25,
        .n_odbs_batch = 10,
        .n_margin = 50,
        .late_penalty_s = 1,
    };
    for (int s = 0; s < LIMIT_SERVICES; s++)
        config->engine_of[s] = -1;
}
