/* static, a fixed engine per model (MuxServe). A closed engine is waited for, but not without end.
 */
#include "base/time.h"
#include "route/policies.h"
#include "route/spread.h"

static bool has(const struct route_view *view, int32_t engine, int service)
{
    return set_has(&view->engines[engine].services, service);
}

/* Requests wait for it while it is closed, but not without end. */
static bool is_given_up(const struct route_spread *spread, const struct route_view *view,
                        int32_t engine)
{
    return !view->engines[engine].is_open && spread->closed_ns[engine] != TIME_NEVER &&
           view->now_ns - spread->closed_ns[engine] >= spread->config.static_ns_wait;
}

/* Returns the mapped engine, else the first that has the model. A mapped engine that lacks the
 * model, or has been closed for static_ns_wait, does not count, since its requests would wait
 * without end. */
static int32_t choose(const struct route_spread *spread, const struct route_view *view,
                      uint32_t slot)
{
    int service = view->requests[slot].service;
    int32_t engine = spread->config.engine_of[service];
    if (engine >= view->n_engines ||
        (engine >= 0 && (!has(view, engine, service) || is_given_up(spread, view, engine))))
        engine = -1;
    for (int32_t e = 0; engine < 0 && e < view->n_engines; e++) {
        if (has(view, e, service) && !is_given_up(spread, view, e))
            engine = e;
    }
    return engine >= 0 && route_pick_takes(&spread->pick, engine, service) ? engine : -1;
}

/* When the next closed engine is given up. */
static int64_t patience_ns(const struct route_spread *spread, const struct route_view *view)
{
    int64_t wake_ns = TIME_NEVER;
    for (int32_t e = 0; e < view->n_engines; e++) {
        int64_t ns = spread->closed_ns[e];
        if (ns != TIME_NEVER && ns + spread->config.static_ns_wait > view->now_ns)
            wake_ns = min_i64(wake_ns, ns + spread->config.static_ns_wait);
    }
    return wake_ns;
}

static const struct route_spread_rules rules = {
    .choose = choose,
    .wake_ns = patience_ns,
};

static void open(void *state, const struct route_limits *limits, const struct route_config *config)
{
    route_spread_open(state, limits, config, &rules);
}

const struct route_policy route_spread_static = {
    .name = "static",
    .summary = "a fixed engine per model (MuxServe)",
    .does = "sends each model to its fixed engine (`static.SERVICE=ENGINE`). If none is named, if "
            "the named engine lacks the model, or if it has been closed (unhealthy, draining, "
            "refusing) for `static_ns_wait`, the first engine that has the model is used. The "
            "named engine is used again as soon as it is open. When no engine has the model, "
            "requests end after `hold`",
    .source = "MuxServe",
    .when = "placements made by hand",
    .thresholds = "n_inflight_max static_ns_wait",
    .open = open,
    ROUTE_SPREAD_MECHANISM,
};
