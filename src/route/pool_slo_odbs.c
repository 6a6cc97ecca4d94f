/* SLO-ODBS (UELLM, docs/ALGORITHMS.md 5.2, 5.5): batches of like deadline and length. */
#include "route/policies.h"
#include "route/pool.h"

static int64_t by_deadline_and_length(const struct route_config *config,
                                      const struct route_item *item, int64_t now_ns)
{
    return route_pool_key(1e6 * (config->slo_weight * route_pool_slo_s(item, now_ns) +
                                 config->length_weight * item->n_output));
}

static const struct route_pool_rules rules = {
    .compose = route_compose_odbs,
    .key = by_deadline_and_length,
    .lease = route_pool_lease_batch,
};

static void open(void *state, const struct route_limits *limits, const struct route_config *config)
{
    route_pool_open(state, limits, config, &rules);
}

const struct route_policy route_pool_slo_odbs = {
    .name = "slo-odbs",
    .summary = "batches of like deadline and length (UELLM)",
    .does = "sends batches of requests whose deadlines and lengths are alike; `cost` is the test "
            "whether a batch may grow. A batch may run for its longest prediction and `n_margin` "
            "tokens more; a request that is cut off returns",
    .source = "UELLM (5.2, 5.5)",
    .when = "offline work with deadlines; with `cohort`",
    .thresholds =
        "n_inflight_max slo_weight length_weight cost cost_w1 cost_w2 cost_l1 cost_l2 cost_max "
        "waste_max n_odbs_batch n_margin spreads_small memory zeta block_tokens kv_bytes",
    .open = open,
    ROUTE_POOL_MECHANISM,
};
