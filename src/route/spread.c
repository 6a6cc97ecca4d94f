/* The mechanism of the routers that decide one request at a time (spread.h), and the choices that
 * several of them share. */
#include "route/spread.h"

#include "base/rng.h"
#include "base/time.h"

enum { DRAWS = 32 };

size_t route_spread_state_bytes(const struct route_limits *limits)
{
    return align_up_u64(sizeof(struct route_spread), 8) +
           route_pick_bytes(limits->n_engines_max, limits->n_services_max) +
           align_up_u64(route_sent_bytes(limits), 8) +
           sizeof(int64_t) * (size_t)(2 * limits->n_engines_max + limits->n_requests_max);
}

void route_spread_open(void *state, const struct route_limits *limits,
                       const struct route_config *config, const struct route_spread_rules *rules)
{
    struct route_spread *spread = state;
    unsigned char *at = (unsigned char *)state + align_up_u64(sizeof *spread, 8);
    *spread = (struct route_spread){ .rules = rules,
                                     .config = *config,
                                     .n_engines = limits->n_engines_max };
    route_pick_init(&spread->pick, limits->n_engines_max, limits->n_services_max, at);
    at += route_pick_bytes(limits->n_engines_max, limits->n_services_max);
    route_sent_init(&spread->sent, limits, at);
    at += align_up_u64(route_sent_bytes(limits), 8);
    spread->loads = (void *)at;
    spread->load_of = spread->loads + limits->n_engines_max;
    spread->closed_ns = spread->load_of + limits->n_requests_max;
    for (int32_t e = 0; e < limits->n_engines_max; e++) {
        spread->loads[e] = 0;
        spread->closed_ns[e] = TIME_NEVER;
    }
}

/* Returns the first held request of these services. */
static uint32_t first_of(const struct route_view *view, const struct set *services)
{
    uint32_t best = ROUTE_NONE;
    for (int s = 0; (s = set_next(services, s, view->n_services)) >= 0; s++) {
        uint32_t slot = view->services[s].first_held;
        if (best == ROUTE_NONE ||
            route_sent_is_before(&view->requests[slot], &view->requests[best]))
            best = slot;
    }
    return best;
}

/* Makes one choice: the first held request that an engine takes. The host then calls it again. */
void route_spread_plan(const void *state, const struct route_view *view, struct route_plan *plan)
{
    const struct route_spread *spread = state;
    struct set services;
    uint32_t best;
    route_pick_meet(&spread->pick, view->services_held, &services);
    plan->n_choices = 0;
    plan->wake_ns = TIME_NEVER;
    plan->n_engines_wanted = 0;
    while ((best = first_of(view, &services)) != ROUTE_NONE) {
        int32_t engine = spread->rules->choose(spread, view, best);
        if (engine >= 0) {
            const struct route_request *r = &view->requests[best];
            plan->choices[plan->n_choices++] = (struct route_choice){
                .slot = best,
                .engine = (uint16_t)engine,
                .load = spread->rules->load != NULL ? spread->rules->load(view, engine, r) : 0,
                .n_lease = spread->rules->has_slices ? spread->config.n_slice : 0
            };
            return;
        }
        set_remove(&services, view->requests[best].service);
    }
    if (spread->rules->wake_ns != NULL)
        plan->wake_ns = spread->rules->wake_ns(spread, view);
}

/* Returns what is on the engine, from this gateway and the others. */
static int64_t load_of(const struct route_spread *spread, const struct route_view *view, int32_t e)
{
    const struct route_engine *engine = &view->engines[e];
    if (spread->rules->load != NULL)
        return spread->loads[e] + engine->load_others;
    return spread->loads[e] + (spread->rules->counts ? engine->n_others : 0);
}

/* Updates the engine's services and load from the view. */
static void refresh(struct route_spread *spread, const struct route_view *view, int32_t e)
{
    const struct route_engine *engine = &view->engines[e];
    bool takes = engine->is_open && engine->n_sent < route_sent_limit(&spread->config, engine);
    static const struct set none = { { 0 } };
    const struct set *services = takes ? &engine->services : &none;
    int64_t load = load_of(spread, view, e);
    if (!route_pick_is(&spread->pick, e, services) || load != spread->pick.loads[e])
        route_pick_set(&spread->pick, e, services, load);
}

void route_spread_saw(void *state, const struct route_view *view, const struct route_event *event)
{
    struct route_spread *spread = state;
    const struct route_spread_rules *rules = spread->rules;
    switch (event->what) {
    case ROUTE_SENT:
        spread->cursor = (event->engine + 1) % view->n_engines;
        spread->n_drawn++;
        if (rules->has_lists)
            route_sent_add(&spread->sent, event->engine, event->slot);
        if (rules->counts)
            spread->loads[event->engine]++;
        if (rules->load) {
            spread->load_of[event->slot] =
                rules->load(view, event->engine, &view->requests[event->slot]);
            spread->loads[event->engine] += spread->load_of[event->slot];
        }
        break;
    case ROUTE_RETURNED:
    case ROUTE_ENDED:
        if (rules->has_lists)
            route_sent_remove(&spread->sent, event->engine, event->slot);
        if (rules->counts)
            spread->loads[event->engine]--;
        if (rules->load)
            spread->loads[event->engine] -= spread->load_of[event->slot];
        break;
    case ROUTE_ENGINE:
        if (view->engines[event->engine].is_open)
            spread->closed_ns[event->engine] = TIME_NEVER;
        else if (spread->closed_ns[event->engine] == TIME_NEVER)
            spread->closed_ns[event->engine] = view->now_ns;
        break;
    default:
        return;
    }
    refresh(spread, view, event->engine);
}

/* ---- Choices that several policies share. ---- */

int32_t route_spread_choose_least(const struct route_spread *spread, const struct route_view *view,
                                  uint32_t slot)
{
    return route_pick_first(&spread->pick, view->requests[slot].service);
}

int32_t route_spread_choose_next(const struct route_spread *spread, const struct route_view *view,
                                 uint32_t slot)
{
    int service = view->requests[slot].service;
    for (int32_t i = 0; i < view->n_engines; i++) {
        int32_t engine = (spread->cursor + i) % view->n_engines;
        if (route_pick_takes(&spread->pick, engine, service))
            return engine;
    }
    return -1;
}

int32_t route_spread_draw(const struct route_spread *spread, const struct route_view *view,
                          int service, uint64_t stream, int32_t but)
{
    uint32_t n = 0, n_engines = (uint32_t)view->n_engines;
    uint64_t bits = 0;
    for (uint64_t i = 0; i < DRAWS; i++) {
        bits = rng_at(spread->config.seed, stream, spread->n_drawn * DRAWS + i);
        int32_t engine = (int32_t)(bits % n_engines);
        if (engine != but && route_pick_takes(&spread->pick, engine, service))
            return engine;
    }
    for (int32_t e = 0; e < view->n_engines; e++)
        n += e != but && route_pick_takes(&spread->pick, e, service);
    uint32_t nth = n > 0 ? (uint32_t)(bits % n) : 0;
    for (int32_t e = 0; e < view->n_engines && n > 0; e++) {
        if (e != but && route_pick_takes(&spread->pick, e, service) && nth-- == 0)
            return e;
    }
    return -1;
}
