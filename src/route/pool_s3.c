/* S^3 (docs/ALGORITHMS.md 6.8): first fit by decreasing predicted size. A request that outruns its
 * prediction returns, and the prediction doubles. */
#include "route/policies.h"
#include "route/pool.h"

static int64_t by_size(const struct route_config *config, const struct route_item *item,
                       int64_t now_ns)
{
    (void)config, (void)now_ns;
    return -((int64_t)item->n_input + item->n_output);
}

/* Each request reserves its own prediction. */
static int32_t lease(const struct route_config *config, const struct route_batch *batch,
                     const struct route_item *item)
{
    (void)config, (void)batch;
    return item->n_output;
}

/* Doubles the prediction until it exceeds the present length. */
static int32_t doubled(int32_t n, int32_t n_new)
{
    for (n = max_i32(n, 1); n <= n_new && n < INT32_MAX / 2;)
        n *= 2;
    return max_i32(n - n_new, 1);
}

static const struct route_pool_rules rules = {
    .compose = route_compose_bins,
    .key = by_size,
    .lease = lease,
    .correct = doubled,
};

static void open(void *state, const struct route_limits *limits, const struct route_config *config)
{
    route_pool_open(state, limits, config, &rules);
}

const struct route_policy route_pool_s3 = {
    .name = "s3",
    .summary = "first fit by decreasing predicted size (S^3)",
    .does = "packs batches first fit, by decreasing predicted size. A request that outruns its "
            "prediction returns, and the prediction doubles",
    .source = "S^3 (6.8)",
    .when = "to compare; with `cohort`",
    .thresholds = "n_inflight_max n_margin spreads_small memory zeta block_tokens kv_bytes",
    .open = open,
    ROUTE_POOL_MECHANISM,
};
