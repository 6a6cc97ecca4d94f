/* The routers that decide one request at a time: a table of rows that differ in whom they choose.
 *
 * Each sends the first held request, in order over all services, that an engine has room for; what
 * has no engine stands in nobody's way. Engines stand in a tournament by load (route/pick.h), so a
 * decision costs O(log engines). least and jsq are one row: SeaLLM's dispatcher and join the
 * shortest queue both count a request from when it is sent until it ends, waiting and running alike
 * (docs/ALGORITHMS.md 1.5, 6.12). Sources of the others: 6.13 to 6.15, 7.2. */
#include "base/rng.h"
#include "base/time.h"
#include "route/pick.h"
#include "route/policies.h"
#include "route/sent.h"

enum { DRAWS = 32, CANDIDATES = 8 };
#define WORK_NS_MAX (INT64_C(1) << 42)

struct spread;
struct spread_row {
    /* The engine for this request, of those that take its service now; -1 = none. */
    int32_t (*choose)(const struct spread *spread, const struct route_view *view, uint32_t slot);
    /* What a request adds to its engine's load while it is there; NULL = one, or nothing. */
    int64_t (*load)(const struct route_view *view, int32_t engine,
                    const struct route_request *request);
    bool counts;     /* a request adds one */
    bool has_lists;  /* keeps who is where */
    bool has_slices; /* a request comes home after n_slice tokens */
    bool has_map;    /* a closed engine is waited for, for a while */
};
struct spread {
    const struct spread_row *row;
    struct route_config config;
    int32_t n_engines;
    int32_t cursor;   /* rr: the engine after the last */
    uint64_t n_drawn; /* random, p2c */
    struct route_pick pick;
    struct route_sent sent;
    int64_t *loads;     /* (n_engines) */
    int64_t *load_of;   /* (n_requests) what each added, where they differ */
    int64_t *closed_ns; /* (n_engines) since when it takes nothing; TIME_NEVER = it is open */
};

/* ---- Whom to choose. ---- */

static int32_t choose_least(const struct spread *spread, const struct route_view *view,
                            uint32_t slot)
{
    return route_pick_first(&spread->pick, view->requests[slot].service);
}

static int32_t choose_next(const struct spread *spread, const struct route_view *view,
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

/* Uniform among the engines that take the service, other than `but`: a few draws, then a count. */
static int32_t draw(const struct spread *spread, const struct route_view *view, int service,
                    uint64_t stream, int32_t but)
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

static int32_t choose_random(const struct spread *spread, const struct route_view *view,
                             uint32_t slot)
{
    return draw(spread, view, view->requests[slot].service, 0, -1);
}

/* Tokens that the requests of an engine will still generate, as predicted. */
static int64_t remaining_tokens(const struct spread *spread, const struct route_view *view,
                                int32_t engine)
{
    int64_t n = 0;
    for (uint32_t at = spread->sent.first[engine]; at != ROUTE_NONE;
         at = spread->sent.links[at].next) {
        const struct route_request *r = &view->requests[at];
        n += route_sent_predicted(view, r) - (r->n_tokens - r->n_prompt);
    }
    return n;
}

static int32_t choose_of_two(const struct spread *spread, const struct route_view *view,
                             uint32_t slot)
{
    int service = view->requests[slot].service;
    int32_t a = draw(spread, view, service, 0, -1);
    int32_t b = a < 0 ? -1 : draw(spread, view, service, 1, a);
    if (b < 0)
        return a;
    int32_t low = min_i32(a, b), high = max_i32(a, b);
    if (spread->config.p2c_counts)
        return view->engines[high].n_sent < view->engines[low].n_sent ? high : low;
    return remaining_tokens(spread, view, high) < remaining_tokens(spread, view, low) ? high : low;
}

/* Tokens to compute and to generate, as predicted when it was sent. */
static int64_t pending_tokens(const struct route_view *view, int32_t engine,
                              const struct route_request *request)
{
    (void)engine;
    return request->n_prompt + route_sent_predicted(view, request);
}

static bool has(const struct route_view *view, int32_t engine, int service)
{
    return set_has(&view->engines[engine].services, service);
}

/* It is waited for while it is closed, but not for ever. */
static bool is_given_up(const struct spread *spread, const struct route_view *view, int32_t engine)
{
    return !view->engines[engine].is_open && spread->closed_ns[engine] != TIME_NEVER &&
           view->now_ns - spread->closed_ns[engine] >= spread->config.static_ns_wait;
}

/* The mapped engine, else the first that has the model. One that lacks the model or has been closed
 * for static_ns_wait is as none: who is mapped there would wait for ever. */
static int32_t choose_mapped(const struct spread *spread, const struct route_view *view,
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
static int64_t patience_ns(const struct spread *spread, const struct route_view *view)
{
    int64_t wake_ns = TIME_NEVER;
    for (int32_t e = 0; e < view->n_engines; e++) {
        int64_t ns = spread->closed_ns[e];
        if (ns != TIME_NEVER && ns + spread->config.static_ns_wait > view->now_ns)
            wake_ns = min_i64(wake_ns, ns + spread->config.static_ns_wait);
    }
    return wake_ns;
}

/* Of its prompt, and of its share of n_left decode steps, in picoseconds. In double: what a million
 * tokens of context cost a slow machine is more than 64 bits hold, and below 2^53 it is exact. */
static double prompt_ps(const struct perf *perf, const struct route_request *r)
{
    return (double)perf->k1_ps * r->n_tokens;
}

static double decodes_ps(const struct perf *perf, const struct route_request *r, int64_t n_left)
{
    double context = (double)(r->n_tokens + n_left / 2);
    return (double)n_left * ((double)perf->c2_ps[0] + (double)perf->k2_ps[0] * context);
}

/* Device time that a request adds to its engine, in nanoseconds: its prompt, and its share of the
 * decode steps. 1 where the service's performance is not known yet: then engines are counted. At
 * most 73 minutes, so that the sum over an engine's requests, two million at most, does not wrap.
 */
static int64_t work(const struct route_view *view, int32_t engine, const struct route_request *r)
{
    const struct perf *perf = route_sent_perf(view, engine, r->service);
    int64_t n_left = route_sent_predicted(view, r) - (r->n_tokens - r->n_prompt);
    double ns = (prompt_ps(perf, r) + decodes_ps(perf, r, n_left)) / 1000 + 1;
    return ns < (double)WORK_NS_MAX ? (int64_t)ns : WORK_NS_MAX;
}

/* When would it end there, from now, in picoseconds: all prompts that are not computed yet, its own
 * too, then its decode steps, each beside those of the others that still run. */
static double finish_ps(const struct spread *spread, const struct route_view *view, int32_t engine,
                        const struct route_request *r)
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

/* The earliest predicted finish among the engines with the least work. */
static int32_t choose_earliest(const struct spread *spread, const struct route_view *view,
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

static const struct spread_row least = { .choose = choose_least, .counts = true };
static const struct spread_row in_turn = { .choose = choose_next };
static const struct spread_row slices = { .choose = choose_next, .has_slices = true };
static const struct spread_row at_random = { .choose = choose_random };
static const struct spread_row of_two = { .choose = choose_of_two, .has_lists = true };
static const struct spread_row by_tokens = { .choose = choose_least, .load = pending_tokens };
static const struct spread_row mapped = { .choose = choose_mapped, .has_map = true };
static const struct spread_row earliest = { .choose = choose_earliest,
                                            .load = work,
                                            .has_lists = true };

/* ---- What all rows share. ---- */

static size_t state_bytes(const struct route_limits *limits)
{
    return align_up_u64(sizeof(struct spread), 8) +
           route_pick_bytes(limits->n_engines_max, limits->n_services_max) +
           align_up_u64(route_sent_bytes(limits), 8) +
           sizeof(int64_t) * (size_t)(2 * limits->n_engines_max + limits->n_requests_max);
}

static void open_row(void *state, const struct route_limits *limits,
                     const struct route_config *config, const struct spread_row *row)
{
    struct spread *spread = state;
    unsigned char *at = (unsigned char *)state + align_up_u64(sizeof *spread, 8);
    *spread = (struct spread){ .row = row, .config = *config, .n_engines = limits->n_engines_max };
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

/* The first held request of these services. */
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

/* One choice: the first held request that someone takes. The host asks again. */
static void plan(const void *state, const struct route_view *view, struct route_plan *plan)
{
    const struct spread *spread = state;
    struct set services;
    uint32_t best;
    route_pick_meet(&spread->pick, view->services_held, &services);
    plan->n_choices = 0;
    plan->wake_ns = TIME_NEVER;
    plan->n_engines_wanted = 0;
    while ((best = first_of(view, &services)) != ROUTE_NONE) {
        int32_t engine = spread->row->choose(spread, view, best);
        if (engine >= 0) {
            plan->choices[plan->n_choices++] =
                (struct route_choice){ .slot = best,
                                       .engine = (uint16_t)engine,
                                       .n_lease =
                                           spread->row->has_slices ? spread->config.n_slice : 0 };
            return;
        }
        set_remove(&services, view->requests[best].service);
    }
    if (spread->row->has_map)
        plan->wake_ns = patience_ns(spread, view);
}

/* What the engine takes and how loaded it is, as the view has it now. */
static void refresh(struct spread *spread, const struct route_view *view, int32_t e)
{
    const struct route_engine *engine = &view->engines[e];
    bool takes = engine->is_open && engine->n_sent < route_sent_limit(&spread->config, engine);
    static const struct set none = { { 0 } };
    const struct set *services = takes ? &engine->services : &none;
    if (!route_pick_is(&spread->pick, e, services) || spread->loads[e] != spread->pick.loads[e])
        route_pick_set(&spread->pick, e, services, spread->loads[e]);
}

static void saw(void *state, const struct route_view *view, const struct route_event *event)
{
    struct spread *spread = state;
    const struct spread_row *row = spread->row;
    switch (event->what) {
    case ROUTE_SENT:
        spread->cursor = (event->engine + 1) % view->n_engines;
        spread->n_drawn++;
        if (row->has_lists)
            route_sent_add(&spread->sent, event->engine, event->slot);
        if (row->counts)
            spread->loads[event->engine]++;
        if (row->load) {
            spread->load_of[event->slot] =
                row->load(view, event->engine, &view->requests[event->slot]);
            spread->loads[event->engine] += spread->load_of[event->slot];
        }
        break;
    case ROUTE_RETURNED:
    case ROUTE_ENDED:
        if (row->has_lists)
            route_sent_remove(&spread->sent, event->engine, event->slot);
        if (row->counts)
            spread->loads[event->engine]--;
        if (row->load)
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

#define ROW(id, row)                                                                               \
    static void id##_open(void *state, const struct route_limits *limits,                          \
                          const struct route_config *config)                                       \
    {                                                                                              \
        open_row(state, limits, config, &(row));                                                   \
    }
#define POLICY(id, text, what, looks)                                                              \
    const struct route_policy route_spread_##id = { .name = text,                                  \
                                                    .summary = what,                               \
                                                    .state_bytes = state_bytes,                    \
                                                    .open = id##_open,                             \
                                                    .plan = plan,                                  \
                                                    .saw = saw,                                    \
                                                    .fits = route_sent_fits,                       \
                                                    .sees_tokens = looks }
ROW(least, least)
ROW(jsq, least)
ROW(rr, in_turn)
ROW(so, slices)
ROW(random, at_random)
ROW(p2c, of_two)
ROW(token_jsq, by_tokens)
ROW(static, mapped)
ROW(least_finish, earliest)
POLICY(least, "least", "the engine with the fewest requests (SeaLLM's dispatcher)", false);
POLICY(jsq, "jsq", "join the shortest queue, waiting and running counted: the same as least",
       false);
POLICY(rr, "rr", "engines in turn", false);
POLICY(so, "so", "engines in turn, home again after a slice (SCLS's ladder)", false);
POLICY(random, "random", "any engine, seeded", false);
POLICY(p2c, "p2c", "of two engines at random the one with less predicted to generate", true);
POLICY(token_jsq, "token-jsq", "the engine with the fewest pending tokens (Splitwise)", false);
POLICY(static, "static", "a fixed engine per model (MuxServe)", false);
POLICY(least_finish, "least-finish", "the engine where it is predicted to finish first", true);
