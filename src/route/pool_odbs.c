/* ODBS (UELLM, docs/ALGORITHMS.md 5.2): as slo-odbs, by length alone. The weight of deadlines in
 * the cost of a batch is 0. */
#include "route/policies.h"
#include "route/pool.h"

static int64_t by_length(const struct route_config *config, const struct route_item *item,
                         int64_t now_ns)
{
    (void)config, (void)now_ns;
    return item->n_output;
}

static const struct route_pool_rules rules = {
    .compose = route_compose_odbs,
    .key = by_length,
    .lease = route_pool_lease_batch,
};

static void open(void *state, const struct route_limits *limits, const struct route_config *config)
{
    struct route_config own = *config;
    own.cost_w1 = 0;
    route_pool_open(state, limits, &own, &rules);
}

const struct route_policy route_pool_odbs = {
    .name = "odbs",
    .summary = "slo-odbs by length alone (UELLM)",
    .does = "as `slo-odbs`, by length alone: in the order and in the cost (`cost_w1` is 0)",
    .source = "UELLM (5.2)",
    .when = "to compare; with `cohort`",
    .thresholds = "n_inflight_max cost cost_w2 cost_l2 cost_max waste_max n_odbs_batch n_margin "
                  "spreads_small memory zeta block_tokens kv_bytes",
    .open = open,
    ROUTE_POOL_MECHANISM,
};
