/* Keeps how many requests engines have, the asks that are drawn beforehand, and ends until they are
 * told. See ahead.h. */
#include "sim/ahead.h"

#include "base/mem.h"
#include "base/time.h"
#include "sim/state.h"

enum { BLOCKS = 32 }; /* of engines, neighbours, that are counted together */
enum { ASKS = 1024 }; /* drawn beforehand at most */
static const uint32_t NONE = UINT32_MAX;

struct kept { /* an end that is not told yet */
    int64_t time_ns;
    struct service_event event;
    uint32_t next; /* of its engine, or free */
};
struct ahead_engine {
    int64_t clock_ns;     /* it has come so far */
    int32_t n_sent;       /* as the door counts */
    int32_t n_kept;       /* of them those that have ended */
    uint32_t first, last; /* of these */
    uint32_t first_index; /* of its client */
};
struct sim_ahead {
    struct sim_ask asks[ASKS]; /* a ring: sim.ask, and those after it */
    uint32_t first, n_asks;
    bool is_drawn;               /* there are no others */
    bool is_stepping;            /* an engine is: what ends then is told later */
    bool is_impossible;          /* from now on: somebody may leave before he is served */
    int32_t n_sent_max;          /* of an engine */
    int32_t *n_engines_at;       /* (n_sent_max + 1) engines that have so many */
    int32_t (*n_before)[BLOCKS]; /* the same of the blocks before each */
    uint32_t n_block;            /* engines of a block */
    int32_t n_least;             /* the least that one has, or less */
    struct ahead_engine *engines;
    struct sim_wakes tells; /* each engine's next */
    struct kept *kept;
    uint32_t n_kept_max, free;
};

/* ---- Opening. ---- */

/* Nothing but requests and engines behind one door, and a router that counts. Few engines lie in
 * the cache anyway. */
static bool is_possible(const struct sim *sim)
{
    const struct sim_options *o = sim->options;
    bool is_simple = sim->fetches && sim->door.router->takes_fewest && o->n_services == 1 &&
                     o->n_router_groups <= 1 && o->faults == NULL && o->replace == NULL &&
                     o->trace == NULL && o->logs == NULL && !o->has_prefix_cache &&
                     !o->checks_steps && sim->windows == NULL && sim->chains == NULL;
    for (int32_t i = 0; i < o->n_engines && o->engines != NULL; i++)
        is_simple = is_simple && o->engines[i].role == SIM_MIXED && o->engines[i].scale == NULL &&
                    set_has(&o->engines[i].services, 0);
    return is_simple;
}

/* The engine is one more, or less, of those that have so many. */
static void count_before(struct sim_ahead *a, int32_t n_sent, uint32_t engine, int32_t change)
{
    for (uint32_t b = engine / a->n_block + 1; b < BLOCKS; b++)
        a->n_before[n_sent][b] += change;
}

struct sim_ahead *sim_ahead_open(const struct sim *sim)
{
    if (!is_possible(sim))
        return NULL;
    int32_t n = sim->options->n_engines;
    struct sim_ahead *a = mem_take(sizeof(*a));
    a->n_sent_max = sim->door.n_sent_max;
    a->n_engines_at = mem_take(((size_t)a->n_sent_max + 1) * sizeof(*a->n_engines_at));
    a->n_engines_at[0] = n;
    a->n_before = mem_take(((size_t)a->n_sent_max + 1) * sizeof(*a->n_before));
    a->n_block = (uint32_t)div_up_i64(n, BLOCKS);
    a->engines = mem_take((size_t)n * sizeof(*a->engines));
    for (int32_t e = 0; e < n; e++) {
        a->engines[e].first = NONE;
        count_before(a, 0, (uint32_t)e, 1);
    }
    sim_wakes_init(&a->tells, (uint32_t)n);
    a->free = NONE;
    return a;
}

void sim_ahead_close(struct sim_ahead *a)
{
    if (a == NULL)
        return;
    sim_wakes_free(&a->tells);
    mem_give(a->n_engines_at);
    mem_give(a->n_before);
    mem_give(a->engines);
    mem_give(a->kept);
    mem_give(a);
}

/* ---- Asks. ---- */

void sim_ahead_next_ask(struct sim *sim)
{
    struct sim_ahead *a = sim->ahead;
    if (a == NULL) {
        sim->has_ask = sim_workload_next(&sim->stream, &sim->ask);
        return;
    }
    if (a->n_asks > 0) {
        a->first = (a->first + 1) % ASKS;
        a->n_asks--;
    }
    while (a->n_asks < ASKS && !a->is_drawn) {
        struct sim_ask *ask = &a->asks[(a->first + a->n_asks) % ASKS];
        a->is_drawn = !sim_workload_next(&sim->stream, ask);
        a->n_asks += !a->is_drawn;
        a->is_impossible = a->is_impossible || (!a->is_drawn && ask->cancel_ns != TIME_NEVER);
    }
    sim->has_ask = a->n_asks > 0;
    if (sim->has_ask)
        sim->ask = a->asks[a->first];
}

/* ---- How long. ---- */

void sim_ahead_count(struct sim *sim, uint32_t engine, int32_t change)
{
    struct sim_ahead *a = sim->ahead;
    if (a == NULL)
        return;
    struct ahead_engine *e = &a->engines[engine];
    CHECK(change < 0 || e->clock_ns <= sim->clock_ns); /* or it came too late */
    a->n_engines_at[e->n_sent]--;
    count_before(a, e->n_sent, engine, -1);
    e->n_sent += change;
    a->n_engines_at[e->n_sent]++;
    count_before(a, e->n_sent, engine, 1);
    a->n_least = min_i32(a->n_least, e->n_sent);
    while (a->n_engines_at[a->n_least] == 0)
        a->n_least++;
}

/* Before this time no request comes to the engine. */
static int64_t until_ns(const struct sim *sim, uint32_t engine)
{
    const struct sim_ahead *a = sim->ahead;
    if (a->is_impossible)
        return INT64_MIN;
    const struct ahead_engine *e = &a->engines[engine];
    int32_t n = e->n_sent - e->n_kept;
    int64_t n_before = 0, end_ns = sim->options->until_ns;
    if (e->n_sent + 2 > a->n_sent_max) /* requests may be held that come as soon as one ends */
        return INT64_MIN;
    for (int32_t k = a->n_least; k <= n && n_before < a->n_asks; k++) {
        n_before += (int64_t)a->n_engines_at[k] * (n - k);
        n_before += a->n_before[k][engine / a->n_block];
    }
    int64_t ns = TIME_NEVER;
    if (n_before < a->n_asks)
        ns = a->asks[(a->first + (uint32_t)n_before) % ASKS].arrived_ns;
    else if (!a->is_drawn)
        ns = a->asks[(a->first + a->n_asks - 1) % ASKS].arrived_ns;
    return end_ns > 0 ? min_i64(ns, end_ns + 1) : ns;
}

int64_t sim_ahead_step(struct sim *sim, const struct sim_engine *engine)
{
    struct sim_ahead *a = sim->ahead;
    int64_t now_ns = sim->clock_ns, wake_ns = now_ns;
    a->is_stepping = true;
    do {
        sim->clock_ns = wake_ns;
        sim->report->n_steps++;
        wake_ns = engine_step(engine->engine, wake_ns);
    } while (wake_ns < until_ns(sim, engine->index));
    a->engines[engine->index].clock_ns = sim->clock_ns;
    sim->report->n_ahead += sim->clock_ns > now_ns;
    a->is_stepping = false;
    sim->clock_ns = now_ns;
    return wake_ns;
}

/* ---- Telling. ---- */

static uint32_t index_of(const struct service_event *event)
{
    return (uint32_t)(event->id & ((1u << SIM_LIVE_BITS) - 1));
}

static uint32_t take_kept(struct sim_ahead *a)
{
    if (a->free == NONE) {
        uint32_t n = a->n_kept_max, n_more = n > 0 ? 2 * n : 1024;
        a->kept = mem_grow(a->kept, n * sizeof(*a->kept), n_more * sizeof(*a->kept));
        for (uint32_t i = n_more; i-- > n;) {
            a->kept[i].next = a->free;
            a->free = i;
        }
        a->n_kept_max = n_more;
    }
    uint32_t at = a->free;
    a->free = a->kept[at].next;
    return at;
}

bool sim_ahead_keep(struct sim *sim, const struct sim_engine *engine,
                    const struct service_event *event)
{
    struct sim_ahead *a = sim->ahead;
    if (a == NULL || !a->is_stepping)
        return false;
    CHECK(event->what == SERVICE_ENDED); /* nothing closes, and no lease ends */
    struct ahead_engine *e = &a->engines[engine->index];
    uint32_t at = take_kept(a);
    a->kept[at] = (struct kept){ sim->clock_ns, *event, NONE };
    if (e->first == NONE) {
        e->first = at;
        e->first_index = index_of(event);
        sim_wakes_set(&a->tells, engine->index, sim->clock_ns);
    } else {
        a->kept[e->last].next = at;
    }
    e->last = at;
    e->n_kept++;
    return true;
}

int64_t sim_ahead_tell_ns(const struct sim *sim)
{
    const struct sim_ahead *a = sim->ahead;
    return a != NULL ? a->tells.wake_ns[sim_wakes_first(&a->tells)] : TIME_NEVER;
}

/* What will be read to tell the next end. */
static void fetch_next(const struct sim *sim)
{
    const struct sim_ahead *a = sim->ahead;
    const struct ahead_engine *e = &a->engines[sim_wakes_first(&a->tells)];
    if (e->first == NONE)
        return;
    __builtin_prefetch(&a->kept[e->first]);
    __builtin_prefetch(&sim->clients[e->first_index], 1);
    __builtin_prefetch(&sim->door.requests[e->first_index], 1);
}

/* All that ended in one step, then what was held may be sent. */
void sim_ahead_tell(struct sim *sim)
{
    struct sim_ahead *a = sim->ahead;
    uint32_t engine = sim_wakes_first(&a->tells);
    struct ahead_engine *e = &a->engines[engine];
    int64_t now_ns = a->kept[e->first].time_ns;
    while (e->first != NONE && a->kept[e->first].time_ns == now_ns) {
        uint32_t at = e->first;
        const struct service_event event = a->kept[at].event;
        e->first = a->kept[at].next;
        e->n_kept--;
        a->kept[at].next = a->free;
        a->free = at;
        sim_client_over(sim, index_of(&event), &event);
    }
    if (e->first != NONE)
        e->first_index = index_of(&a->kept[e->first].event);
    sim_wakes_set(&a->tells, engine, e->first != NONE ? a->kept[e->first].time_ns : TIME_NEVER);
    fetch_next(sim);
    sim_door_send(sim);
}
