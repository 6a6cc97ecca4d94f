/* SLO-DBS (UELLM, docs/ALGORITHMS.md 5.2): as slo-odbs, by deadline alone. The weight of
 * lengths in the cost of a batch is 0. */
#include "route/policies.h"
#include "route/pool.h"

static int64_t by_deadline(const struct route_config *config, const struct route_item *item,
                           int64_t now_ns)
{
    (void)config;
    return route_pool_key(1e6 * route_pool_slo_s(item, now_ns));
}

static const struct route_pool_rules rules = {
    .compose = route_compose_odbs,
    .key = by_deadline,
    .lease = route_pool_lease_batch,
};

static void open(void *state, const struct route_limits *limits, const struct route_config *config)
{
    struct route_config own = *config;
    own.cost_w2 = 0;
    route_pool_open(state, limits, &own, &rules);
}

const struct route_policy route_pool_slo_dbs = {
    .name = "slo-dbs",
    .summary = "slo-odbs by deadline alone (UELLM)",
    .does = "as `slo-odbs`, by deadline alone: in the order and in the cost (`cost_w2` is 0)",
    .source = "UELLM (5.2)",
    .when = "to compare; with `cohort`",
    .thresholds = "n_inflight_max cost cost_w1 cost_l1 cost_max waste_max n_odbs_batch n_margin "
                  "spreads_small memory zeta block_tokens kv_bytes",
    .open = open,
    ROUTE_POOL_MECHANISM,
};
