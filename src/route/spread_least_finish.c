/* least-finish, our own (docs/ALGORITHMS.md 7.2): of the engines with the least work, the one where
 * the request is predicted to end first. */
#include "route/policies.h"
#include "route/spread.h"

enum { CANDIDATES = 8 };
#define WORK_NS_MAX (INT64_C(1) << 42)

/* Return the time of its prompt, and of its share of n_left decode steps, in picoseconds. They are
 * doubles, because a million tokens of context on a slow machine can exceed 64 bits. Below 2^53 a
 * double is exact. */
static double prompt_ps(const struct perf *perf, const struct route_request *r)
{
    return (double)perf->k1_ps * r->n_tokens;
}

static double decodes_ps(const struct perf *perf, const struct route_request *r, int64_t n_left)
{
    double context = (double)(r->n_tokens + n_left / 2);
    return (double)n_left * ((double)perf->c2_ps[0] + (double)perf->k2_ps[0] * context);
}

/* Returns the device time that a request adds to its engine, in nanoseconds: its prompt, and its
 * share of the decode steps. It is 1 while the service's performance is unknown, so that requests
 * are counted. It is at most 73 minutes, so that the sum over an engine's requests, two million at
 * most, does not wrap. */
static int64_t work(const struct route_view *view, int32_t engine, const struct route_request *r)
{
    const struct perf *perf = route_sent_perf(view, engine, r->service);
    int64_t n_left = route_sent_predicted(view, r) - (r->n_tokens - r->n_prompt);
    double ns = (prompt_ps(perf, r) + decodes_ps(perf, r, n_left)) / 1000 + 1;
    return ns < (double)WORK_NS_MAX ? (int64_t)ns : WORK_NS_MAX;
}

/* Returns when it would end there, from now, in picoseconds. It adds all prompts that are not
 * computed yet, its own included, and then its decode steps, each beside those of the others that
 * still run. */
static double finish_ps(const struct route_spread *spread, const struct route_view *view,
                        int32_t engine, const struct route_request *r)
{
    int64_t n_left = route_sent_predicted(view, r) - (r->n_tokens - r->n_prompt);
    double ps = 0;
    struct set services = { { 0 } };
    for (uint32_t at = spread->sent.first[engine];; at = spread->sent.links[at].next) {
        const struct route_request *q = at == ROUTE_NONE ? r : &view->requests[at];
        const struct perf *perf = route_sent_perf(view, engine, q->service);
        int64_t n_q = route_sent_predicted(view, q) - (q->n_tokens - q->n_prompt);
        if (q->first_ns == 0 || q == r)
            ps += prompt_ps(perf, q);
        ps += decodes_ps(perf, q, min_i64(n_q, n_left));
        set_add(&services, q->service);
        if (at == ROUTE_NONE)
            break;
    }
    for (int s = 0; (s = set_next(&services, s, view->n_services)) >= 0; s++)
        ps += (double)n_left * (double)route_sent_perf(view, engine, s)->c3_ps[0];
    return ps;
}

/* Chooses the earliest predicted finish among the engines with the least work. */
static int32_t choose(const struct route_spread *spread, const struct route_view *view,
                      uint32_t slot)
{
    const struct route_request *r = &view->requests[slot];
    int32_t engines[CANDIDATES], best = -1;
    double best_ps = 0;
    int32_t n = route_pick_some(&spread->pick, r->service, CANDIDATES, engines);
    for (int32_t i = 0; i < n; i++) {
        double ps = finish_ps(spread, view, engines[i], r);
        if (best >= 0 && ps >= best_ps)
            continue;
        best = engines[i];
        best_ps = ps;
    }
    return best;
}

static const struct route_spread_rules rules = {
    .choose = choose,
    .load = work,
    .has_lists = true,
};

static void open(void *state, const struct route_limits *limits, const struct route_config *config)
{
    route_spread_open(state, limits, config, &rules);
}

const struct route_policy route_spread_least_finish = {
    .name = "least-finish",
    .summary = "the engine where it is predicted to finish first",
    .does = "of the 8 engines with the least work, sends to the one where the request is predicted "
            "to end first",
    .source = "7.2",
    .when = "a fixed pool of engines, and unlike requests",
    .thresholds = "n_inflight_max",
    .open = open,
    ROUTE_SPREAD_MECHANISM,
    .sees_tokens = true,
};
