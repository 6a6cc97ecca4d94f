/* p2c, the power of two choices (docs/ALGORITHMS.md 6.13): of two engines at random, the one with
 * less to come. */
#include "route/policies.h"
#include "route/spread.h"

/* Returns the tokens that the requests of an engine will still generate, as predicted. */
static int64_t remaining_tokens(const struct route_spread *spread, const struct route_view *view,
                                int32_t engine)
{
    int64_t n = 0;
    for (uint32_t at = spread->sent.first[engine]; at != ROUTE_NONE;
         at = spread->sent.links[at].next) {
        const struct route_request *r = &view->requests[at];
        n += route_sent_predicted(view, r) - (r->n_tokens - r->n_prompt);
    }
    const struct route_others *others = view->engines[engine].others;
    for (int s = 0; others != NULL && s < view->n_services; s++)
        n += others[s].n_expected - others[s].n_new;
    return n;
}

static int32_t n_there(const struct route_view *view, int32_t engine)
{
    return view->engines[engine].n_sent + view->engines[engine].n_others;
}

static int32_t choose(const struct route_spread *spread, const struct route_view *view,
                      uint32_t slot)
{
    int service = view->requests[slot].service;
    int32_t a = route_spread_draw(spread, view, service, 0, -1);
    int32_t b = a < 0 ? -1 : route_spread_draw(spread, view, service, 1, a);
    if (b < 0)
        return a;
    int32_t low = min_i32(a, b), high = max_i32(a, b);
    if (spread->config.p2c_counts)
        return n_there(view, high) < n_there(view, low) ? high : low;
    return remaining_tokens(spread, view, high) < remaining_tokens(spread, view, low) ? high : low;
}

static const struct route_spread_rules rules = {
    .choose = choose,
    .has_lists = true,
};

static void open(void *state, const struct route_limits *limits, const struct route_config *config)
{
    route_spread_open(state, limits, config, &rules);
}

const struct route_policy route_spread_p2c = {
    .name = "p2c",
    .summary = "of two engines at random the one with less predicted to generate",
    .does = "draws two engines, and sends to the one with fewer predicted tokens to come, or with "
            "fewer requests (`p2c_counts`)",
    .source = "6.13",
    .when = "many engines, whose reports are old",
    .thresholds = "n_inflight_max seed p2c_counts",
    .open = open,
    ROUTE_SPREAD_MECHANISM,
    .sees_tokens = true,
};
