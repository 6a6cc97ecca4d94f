/* The least-loaded router: each request goes to the engine with the fewest requests that serves it,
 * ties to the lower number (SeaLLM's dispatcher, section 4.3). */
#include "route/policy.h"

#include "base/time.h"

extern const struct route_policy route_least;

static size_t least_state_bytes(const struct route_limits *limits)
{
    (void)limits;
    return sizeof(struct route_config);
}

static void least_open(void *state, const struct route_limits *limits,
                       const struct route_config *config)
{
    (void)limits;
    *(struct route_config *)state = *config;
}

static bool is_open_for(const struct route_engine *engine, const struct request *request,
                        int64_t now_ns)
{
    return engine->is_open && (engine->services >> request->service & 1) &&
           engine->full_until_ns <= now_ns;
}

/* Requests that an engine holds: what was sent and, from its report, nothing more (every request
 * passes a gateway). */
static int32_t room_of(const struct route_config *config, const struct route_engine *engine,
                       int32_t n_sent)
{
    int32_t limit = engine->n_requests_max;
    if (config->n_inflight_max > 0)
        limit = min_i32(limit, config->n_inflight_max);
    return limit - n_sent;
}

static void least_plan(const void *state, const struct route_view *view, struct route_plan *plan)
{
    const struct route_config *config = state;
    int32_t n_sent[LIMIT_ENGINES];
    plan->n_choices = 0;
    plan->wake_ns = TIME_NEVER;
    for (int32_t e = 0; e < view->n_engines; e++) {
        n_sent[e] = view->engines[e].n_sent;
        if (view->engines[e].full_until_ns > view->now_ns)
            plan->wake_ns = min_i64(plan->wake_ns, view->engines[e].full_until_ns);
    }
    for (int32_t i = 0; i < view->n_held && plan->n_choices < plan->n_choices_max; i++) {
        int32_t best = -1;
        for (int32_t e = 0; e < view->n_engines; e++) {
            const struct route_engine *engine = &view->engines[e];
            if (!is_open_for(engine, view->held[i], view->now_ns) ||
                room_of(config, engine, n_sent[e]) <= 0)
                continue;
            if (best < 0 || n_sent[e] < n_sent[best])
                best = e;
        }
        if (best < 0)
            continue;
        n_sent[best]++;
        plan->choices[plan->n_choices++] =
            (struct route_choice){ .index = (uint32_t)i, .engine = (uint16_t)best };
    }
}

static void least_saw(void *state, const struct route_view *view, const struct route_event *event)
{
    (void)state;
    (void)view;
    (void)event;
}

static bool least_fits(const struct engine_report *report, const struct request *request)
{
    (void)request;
    return !report->is_draining && report->n_requests < report->n_requests_max;
}

const struct route_policy route_least = {
    .name = "least",
    .summary = "the engine with the fewest requests (SeaLLM's dispatcher)",
    .state_bytes = least_state_bytes,
    .open = least_open,
    .plan = least_plan,
    .saw = least_saw,
    .fits = least_fits,
};
