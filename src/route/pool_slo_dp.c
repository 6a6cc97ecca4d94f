/* slo-dp, our own composer (docs/ALGORITHMS.md 5.2): sorted by deadline, and cut where time and
 * predicted lateness are least. */
#include "route/policies.h"
#include "route/pool.h"

static int64_t by_deadline(const struct route_config *config, const struct route_item *item,
                           int64_t now_ns)
{
    (void)config, (void)now_ns;
    return item->deadline_ns;
}

static const struct route_pool_rules rules = {
    .compose = route_compose_deadlines,
    .key = by_deadline,
    .lease = route_pool_lease_batch,
};

static void open(void *state, const struct route_limits *limits, const struct route_config *config)
{
    route_pool_open(state, limits, config, &rules);
}

const struct route_policy route_pool_slo_dp = {
    .name = "slo-dp",
    .summary = "by deadline, cut where time and lateness are least",
    .does = "sorts requests by deadline, and cuts them into batches so that time and predicted "
            "lateness are least",
    .source = "ours (5.2)",
    .when = "instead of `slo-odbs`",
    .thresholds =
        "n_inflight_max late_penalty_s n_margin spreads_small memory zeta block_tokens kv_bytes",
    .open = open,
    ROUTE_POOL_MECHANISM,
};
