/* token-jsq, as Splitwise joins the shortest queue (docs/ALGORITHMS.md 6.14): the engine with the
 * fewest pending tokens. */
#include "route/policies.h"
#include "route/spread.h"

/* Returns the tokens to compute and to generate, as predicted when it was sent. */
static int64_t pending_tokens(const struct route_view *view, int32_t engine,
                              const struct route_request *request)
{
    (void)engine;
    return request->n_prompt + route_sent_predicted(view, request);
}

static const struct route_spread_rules rules = {
    .choose = route_spread_choose_least,
    .load = pending_tokens,
};

static void open(void *state, const struct route_limits *limits, const struct route_config *config)
{
    route_spread_open(state, limits, config, &rules);
}

const struct route_policy route_spread_token_jsq = {
    .name = "token-jsq",
    .summary = "the engine with the fewest pending tokens (Splitwise)",
    .does = "sends to the engine with the fewest tokens: prompts and predicted outputs, counted "
            "when they were sent",
    .source = "Splitwise (6.14)",
    .when = "requests of unlike size",
    .thresholds = "n_inflight_max",
    .open = open,
    ROUTE_SPREAD_MECHANISM,
};
