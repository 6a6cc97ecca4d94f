/* Deals, lets the engines go through their parts, tells. See window.h. */
#include "sim/window.h"

#include "base/mem.h"
#include "base/team.h"
#include "base/time.h"
#include "sim/state.h"
#include <stdlib.h>

/* A window is long enough that an engine's state is fetched once for many requests. */
enum {
    ASKS_AN_ENGINE = 64,
    ASKS_MAX = 65536,
    ASKS_MIN = 256,
    PAUSE = 4,
    THREADS_MAX = 64,
    BUCKET_USUAL = 32
};

struct ended { /* a request, in the window */
    uint32_t index;
    struct service_event event;
};
struct order { /* by time; at one instant requests that come, by number, then engines, by index */
    int64_t time_ns;
    uint64_t tie;
    uint32_t at, bucket;
};
struct shard { /* engines that one thread steps */
    _Alignas(64) int64_t clock_ns;
    struct engine_scratch *scratch;
    int32_t first, end;
    bool submits; /* what ends now ends because it came */
    struct ended *ended;
    struct order *orders, *sorted;
    uint32_t *counts; /* (n_ended_max + 1) of the buckets */
    uint32_t n_ended, n_ended_max;
    int64_t n_steps;
};
struct dealt { /* to an engine: the first and last of a list through request.next */
    uint32_t first, last;
    int64_t wake_ns;
};
struct sim_windows {
    struct sim *sim; /* while a window is open */
    struct team *team;
    int32_t n_shards, n_engines;
    struct shard *shards;
    struct dealt *dealt; /* (n_engines) */
    uint32_t n_asks_max;
    int64_t until_ns;   /* what happens at engines before this is in the window */
    uint32_t n_pause;   /* events until it is worth another look */
    bool is_impossible; /* from now on */
};

/* ---- Opening. ---- */

/* Nothing but requests, engines, and a router that is blind. */
static bool is_possible(const struct sim_options *o)
{
    bool is_simple = o->router != NULL && o->router->is_blind && o->n_services == 1 &&
                     o->n_router_groups <= 1 && o->faults == NULL && o->replace == NULL &&
                     o->predictor == NULL && o->trace == NULL && o->logs == NULL &&
                     !o->has_prefix_cache && !o->checks_steps;
    for (int32_t i = 0; i < o->n_engines && o->engines != NULL; i++)
        is_simple = is_simple && o->engines[i].role == SIM_MIXED && o->engines[i].scale == NULL &&
                    o->engines[i].chain == NULL;
    return is_simple;
}

static struct shard *shard_of(struct sim_windows *w, uint32_t engine)
{
    return &w->shards[(uint64_t)engine * (uint64_t)w->n_shards / (uint64_t)w->n_engines];
}

struct sim_windows *sim_window_open(const struct sim *sim)
{
    const struct sim_options *o = sim->options;
    if (!is_possible(o))
        return NULL;
    struct sim_windows *w = mem_take(sizeof(*w));
    int32_t n_asks = min_i32(o->n_engines, ASKS_MAX) * ASKS_AN_ENGINE;
    w->n_asks_max = (uint32_t)max_i32(min_i32(n_asks, ASKS_MAX), ASKS_MIN);
    w->n_engines = o->n_engines;
    w->n_shards = max_i32(min_i32(min_i32(o->n_threads, o->n_engines), THREADS_MAX), 1);
    w->shards = mem_take((size_t)w->n_shards * sizeof(*w->shards));
    w->dealt = mem_take((size_t)w->n_engines * sizeof(*w->dealt));
    for (int32_t e = w->n_engines; e-- > 0;) {
        struct shard *shard = shard_of(w, (uint32_t)e);
        shard->first = e;
        shard->end = max_i32(shard->end, e + 1);
        w->dealt[e] = (struct dealt){ .first = ROUTE_NONE };
    }
    for (int32_t i = 0; i < w->n_shards; i++)
        w->shards[i].scratch = engine_scratch_open(o->n_requests_max);
    if (w->n_shards > 1)
        w->team = team_open(w->n_shards, NULL, false);
    return w;
}

void sim_window_close(struct sim_windows *w)
{
    if (w == NULL)
        return;
    if (w->team != NULL)
        team_close(w->team);
    for (int32_t i = 0; i < w->n_shards; i++) {
        engine_scratch_close(w->shards[i].scratch);
        mem_give(w->shards[i].ended);
        mem_give(w->shards[i].orders);
        mem_give(w->shards[i].sorted);
        mem_give(w->shards[i].counts);
    }
    mem_give(w->shards);
    mem_give(w->dealt);
    mem_give(w);
}

int64_t *sim_window_clock(struct sim_windows *w, uint32_t engine)
{
    return &shard_of(w, engine)->clock_ns;
}

struct engine_scratch *sim_window_scratch(struct sim_windows *w, uint32_t engine)
{
    return shard_of(w, engine)->scratch;
}

void sim_window_set_clocks(struct sim_windows *w, int64_t clock_ns)
{
    for (int32_t i = 0; i < w->n_shards; i++)
        w->shards[i].clock_ns = clock_ns;
}

/* ---- Dealing. ---- */

/* One more request and the engine may be full: the router would pass it by, or not. */
static bool is_nearly_full(const struct sim *sim, uint32_t engine)
{
    return sim->door.engines[engine].n_sent + 2 > sim->door.n_sent_max;
}

static bool is_open_for_window(const struct sim *sim)
{
    bool is_quiet = sim->door.held.n == 0 && sim_events_first(&sim->events) == NULL;
    for (uint32_t e = 0; e < (uint32_t)sim->options->n_engines && is_quiet; e++)
        is_quiet = !is_nearly_full(sim, e);
    return is_quiet;
}

/* To its engine. False: it is the last that can be dealt. */
static bool deal_one(struct sim *sim, struct sim_windows *w)
{
    sim->clock_ns = sim->ask.arrived_ns;
    uint32_t index = sim_client_come(sim, &sim->ask);
    uint16_t engine = sim_door_deal(sim, index);
    struct dealt *dealt = &w->dealt[engine];
    struct route_request *requests = sim->door.requests;
    requests[index].next = ROUTE_NONE;
    if (dealt->first == ROUTE_NONE)
        dealt->first = index;
    else
        requests[dealt->last].next = index;
    dealt->last = index;
    sim->has_ask = sim_workload_next(&sim->stream, &sim->ask);
    return !is_nearly_full(sim, engine);
}

/* Returns how many. What comes next, dealt or not, ends the window. */
static uint32_t deal(struct sim *sim, struct sim_windows *w)
{
    int64_t last_ns = sim->options->until_ns > 0 ? sim->options->until_ns : TIME_NEVER - 1;
    uint32_t n = 0;
    bool goes_on = true;
    while (goes_on && n < w->n_asks_max && sim->has_ask && sim->n_free_clients > 0 &&
           sim->ask.arrived_ns <= last_ns) {
        w->is_impossible = w->is_impossible || sim->ask.cancel_ns != TIME_NEVER;
        if (w->is_impossible)
            break;
        goes_on = deal_one(sim, w);
        n++;
    }
    w->until_ns = min_i64(sim->has_ask ? sim->ask.arrived_ns : TIME_NEVER, last_ns + 1);
    return n;
}

/* ---- The engines' parts. ---- */

bool sim_window_keep(struct sim *sim, struct sim_engine *engine, const struct service_event *event)
{
    struct sim_windows *w = sim->windows;
    if (w == NULL || w->sim == NULL || event->what == SERVICE_TOKENS)
        return false;
    struct shard *shard = shard_of(w, engine->index);
    CHECK(event->what == SERVICE_ENDED); /* nothing closes, and no lease ends */
    if (shard->n_ended == shard->n_ended_max) {
        size_t n = shard->n_ended_max, n_more = n > 0 ? 2 * n : 1024;
        shard->ended =
            mem_grow(shard->ended, n * sizeof(*shard->ended), n_more * sizeof(*shard->ended));
        shard->orders =
            mem_grow(shard->orders, n * sizeof(*shard->orders), n_more * sizeof(*shard->orders));
        mem_give(shard->sorted);
        mem_give(shard->counts);
        shard->sorted = mem_take(n_more * sizeof(*shard->sorted));
        shard->counts = mem_take((n_more + 1) * sizeof(*shard->counts));
        shard->n_ended_max = (uint32_t)n_more;
    }
    uint32_t at = shard->n_ended++;
    uint64_t by_engine = UINT64_C(1) << 63 | engine->index;
    uint32_t index = (uint32_t)(event->id & ((1u << SIM_LIVE_BITS) - 1));
    shard->ended[at] = (struct ended){ index, *event };
    shard->orders[at] =
        (struct order){ shard->clock_ns, shard->submits ? event->id >> SIM_LIVE_BITS : by_engine,
                        at, 0 };
    return true;
}

static void go_through(struct sim *sim, struct shard *shard, uint32_t index)
{
    struct sim_engine *e = &sim->engines[index];
    struct dealt *dealt = &sim->windows->dealt[index];
    uint32_t slot = dealt->first;
    int64_t wake_ns = sim->wakes.wake_ns[index], until_ns = sim->windows->until_ns;
    for (;;) {
        const struct route_request *next = slot != ROUTE_NONE ? &sim->door.requests[slot] : NULL;
        if (next != NULL && next->arrived_ns <= wake_ns) {
            uint32_t after = next->next;
            shard->clock_ns = wake_ns = next->arrived_ns;
            shard->submits = true;
            sim_door_submit(sim, slot, shard->clock_ns);
            shard->submits = false;
            slot = after;
        } else if (wake_ns < until_ns) {
            shard->clock_ns = wake_ns;
            shard->n_steps++;
            wake_ns = engine_step(e->engine, wake_ns);
        } else {
            break;
        }
    }
    dealt->first = ROUTE_NONE;
    dealt->wake_ns = wake_ns;
}

static bool is_before(const struct order *a, const struct order *b)
{
    if (a->time_ns != b->time_ns)
        return a->time_ns < b->time_ns;
    return a->tie != b->tie ? a->tie < b->tie : a->at < b->at;
}

static int by_order(const void *a, const void *b)
{
    return is_before(b, a) - is_before(a, b);
}

/* Ends are spread over the window's time nearly evenly: as many buckets as there are put nearly
 * each where it belongs. Where many fall into one they are sorted among themselves. */
static void sort(struct shard *s)
{
    uint32_t n = s->n_ended;
    int64_t first_ns = INT64_MAX, last_ns = INT64_MIN;
    for (uint32_t i = 0; i < n; i++) {
        first_ns = min_i64(first_ns, s->orders[i].time_ns);
        last_ns = max_i64(last_ns, s->orders[i].time_ns);
        s->counts[i] = 0;
    }
    double buckets_a_ns = n > 0 ? (double)n / ((double)(last_ns - first_ns) + 1) : 0;
    for (uint32_t i = 0; i < n; i++) {
        double bucket = (double)(s->orders[i].time_ns - first_ns) * buckets_a_ns;
        s->orders[i].bucket = bucket < n ? (uint32_t)bucket : n - 1;
        s->counts[s->orders[i].bucket]++;
    }
    for (uint32_t i = 0, sum = 0; i < n; i++) {
        uint32_t count = s->counts[i];
        s->counts[i] = sum;
        sum += count;
    }
    for (uint32_t i = 0; i < n; i++)
        s->sorted[s->counts[s->orders[i].bucket]++] = s->orders[i];
    for (uint32_t i = 0, first = 0; i < n; first = s->counts[i++])
        if (s->counts[i] - first > BUCKET_USUAL)
            qsort(&s->sorted[first], s->counts[i] - first, sizeof(*s->sorted), by_order);
    for (uint32_t i = 1; i < n; i++) {
        struct order order = s->sorted[i];
        uint32_t at = i;
        for (; at > 0 && is_before(&order, &s->sorted[at - 1]); at--)
            s->sorted[at] = s->sorted[at - 1];
        s->sorted[at] = order;
    }
}

static void run_shard(void *arg, int rank, int n)
{
    struct sim *sim = arg;
    for (int i = rank; i < sim->windows->n_shards; i += n) {
        struct shard *shard = &sim->windows->shards[i];
        for (int32_t e = shard->first; e < shard->end; e++) {
            if (sim->fetches && e + 1 < shard->end)
                mem_fetch(sim->engines[e + 1].spans, sim->engines[e + 1].n_spans);
            go_through(sim, shard, (uint32_t)e);
        }
        sort(shard);
    }
}

/* ---- Telling. ---- */

/* What ended, in the order in which it would have been told. */
static void tell(struct sim *sim, struct sim_windows *w)
{
    uint32_t at[THREADS_MAX] = { 0 };
    for (;;) {
        int32_t first = -1;
        for (int32_t i = 0; i < w->n_shards; i++) {
            const struct shard *s = &w->shards[i];
            if (at[i] < s->n_ended &&
                (first < 0 || is_before(&s->sorted[at[i]], &w->shards[first].sorted[at[first]])))
                first = i;
        }
        if (first < 0)
            return;
        const struct shard *s = &w->shards[first];
        const struct order *order = &s->sorted[at[first]++];
        const struct ended *ended = &s->ended[order->at];
        if (at[first] + 4 < s->n_ended)
            __builtin_prefetch(&s->ended[s->sorted[at[first] + 4].at]);
        sim->clock_ns = order->time_ns;
        sim_client_over(sim, ended->index, &ended->event);
    }
}

bool sim_window_pass(struct sim *sim)
{
    struct sim_windows *w = sim->windows;
    if (w == NULL || w->is_impossible)
        return false;
    if (w->n_pause > 0) {
        w->n_pause--;
        return false;
    }
    uint32_t n = is_open_for_window(sim) ? deal(sim, w) : 0;
    if (n == 0) {
        w->n_pause = PAUSE * (uint32_t)w->n_engines;
        return false;
    }
    int64_t end_ns = sim->clock_ns;
    w->sim = sim;
    if (w->team != NULL)
        team_run(w->team, run_shard, sim);
    else
        run_shard(sim, 0, 1);
    w->sim = NULL;
    tell(sim, w);
    sim->clock_ns = max_i64(sim->clock_ns, end_ns);
    sim->report->n_windows++;
    for (int32_t i = 0; i < w->n_shards; i++) {
        sim->report->n_steps += w->shards[i].n_steps;
        w->shards[i].n_steps = 0;
        w->shards[i].n_ended = 0;
    }
    for (uint32_t e = 0; e < (uint32_t)w->n_engines; e++)
        sim_wakes_set(&sim->wakes, e, w->dealt[e].wake_ns);
    return true;
}
