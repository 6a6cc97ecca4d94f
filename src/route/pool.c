/* The mechanism of the central pools (pool.h): when to compose, where batches go, and what each
 * engine is expected to still do. */
#include "route/pool.h"

#include "base/rng.h"
#include "base/time.h"
#include "route/sort.h"

struct pool_cohort { /* a batch on its engine, while any of its requests is there */
    int32_t n_left, n_input, n_output;
    int64_t estimate_ps; /* 0 until all of it was sent */
    uint32_t next;       /* the free ones */
};
struct pool {
    const struct route_pool_rules *rules;
    struct route_config config;
    struct route_limits limits;
    int64_t fetch_ns, interval_ns;
    int32_t cursor;     /* in turn: the engine after the last one */
    uint32_t n_cohorts; /* the id of the last */
    uint32_t filling;   /* index of the last one sent, which may get more requests; or none */
    uint32_t first_free;
    struct pool_cohort *cohorts; /* (n_requests) */
    uint32_t *cohort_of;         /* (n_requests) index, by slot */
    int32_t *n_predicted;        /* (n_requests) when it came: S^3 doubles that */
    int64_t *loads;              /* (n_engines) ps */
};

static int32_t n_steps(const struct pool *pool, int32_t n_output)
{
    return pool->rules->has_slices ? pool->config.n_slice : n_output;
}

/* ---- Opening. ---- */

size_t route_pool_state_bytes(const struct route_limits *limits)
{
    size_t n = (size_t)limits->n_requests_max;
    return align_up_u64(sizeof(struct pool), 8) + sizeof(struct pool_cohort) * n +
           sizeof(int64_t) * (size_t)limits->n_engines_max + 2 * sizeof(uint32_t) * n;
}

size_t route_pool_scratch_bytes(const struct route_limits *limits)
{
    size_t n = (size_t)limits->n_requests_max;
    return n * (2 * sizeof(struct route_item) + sizeof(struct route_batch)) +
           (4 * n + 4 + n + 1) * sizeof(int64_t) +
           (size_t)limits->n_engines_max * (sizeof(int64_t) + sizeof(int32_t)) +
           (2 * n + 2) * sizeof(int32_t);
}

void route_pool_open(void *state, const struct route_limits *limits,
                     const struct route_config *config, const struct route_pool_rules *rules)
{
    struct pool *pool = state;
    *pool = (struct pool){ .rules = rules,
                           .config = *config,
                           .limits = *limits,
                           .interval_ns = config->interval_ns_min,
                           .filling = ROUTE_NONE,
                           .first_free = ROUTE_NONE };
    pool->cohorts = (void *)((unsigned char *)state + align_up_u64(sizeof *pool, 8));
    pool->loads = (void *)(pool->cohorts + limits->n_requests_max);
    pool->cohort_of = (void *)(pool->loads + limits->n_engines_max);
    pool->n_predicted = (void *)(pool->cohort_of + limits->n_requests_max);
    for (uint32_t i = (uint32_t)limits->n_requests_max; i-- > 0;) {
        pool->cohorts[i].next = pool->first_free;
        pool->first_free = i;
        pool->cohort_of[i] = ROUTE_NONE;
    }
    for (int32_t e = 0; e < limits->n_engines_max; e++)
        pool->loads[e] = 0;
}

/* ---- Composing. ---- */

struct round { /* in the plan's scratch */
    const struct pool *pool;
    const struct route_view *view;
    struct route_compose c; /* of the service at hand */
    struct route_item *items;
    struct route_batch *batches;
    int32_t n_items, n_batches;
    int64_t *loads;  /* (n_engines) */
    int32_t *n_room; /* (n_engines) */
    int32_t *order;  /* (n_batches) */
    int32_t cursor;
    bool is_shared; /* other gateways send to these engines, too */
};

static int64_t deadline_of(const struct route_view *view, const struct route_request *r)
{
    int64_t e2e_ns = view->services[r->service].slo.e2e_ns;
    if (r->deadline_ns != TIME_NEVER)
        return r->deadline_ns;
    return e2e_ns > 0 ? r->arrived_ns + e2e_ns : TIME_NEVER;
}

static struct route_item item_of(const struct round *round, uint32_t slot)
{
    const struct pool *pool = round->pool;
    const struct route_request *r = &round->view->requests[slot];
    int32_t n_new = r->n_tokens - r->n_prompt;
    struct route_item item = { .slot = slot,
                               .n_input = r->n_tokens,
                               .n_output = route_sent_predicted(round->view, r) - n_new,
                               .deadline_ns = deadline_of(round->view, r) };
    if (pool->rules->correct != NULL && r->n_predicted > 0)
        item.n_output = pool->rules->correct(pool->n_predicted[slot], n_new);
    if (pool->rules->key != NULL)
        item.key = pool->rules->key(&pool->config, &item, round->view->now_ns);
    return item;
}

/* Returns the memory of one engine, in the form that the config sets: the least of the engines that
 * serve the service. */
static struct memory_model memory_of(const struct round *round, int service)
{
    const struct route_config *config = &round->pool->config;
    struct memory_model m = { .kind = config->memory,
                              .bytes_per_token = round->view->services[service].kv_bytes_per_token,
                              .zeta = config->zeta,
                              .block_tokens = max_i32(config->block_tokens, 1) };
    if (config->memory == MEMORY_RULES)
        return predict_memory_deepspeed_13b;
    for (int32_t e = 0; e < round->view->n_engines; e++) {
        const struct route_engine *engine = &round->view->engines[e];
        int64_t bytes = engine->kv_bytes > 0 ? engine->kv_bytes : config->kv_bytes;
        if (set_has(&engine->services, service) && bytes > 0)
            m.available_bytes = m.available_bytes > 0 ? min_i64(m.available_bytes, bytes) : bytes;
    }
    if (m.bytes_per_token <= 0) /* the size of a token is unknown */
        m = (struct memory_model){ .kind = MEMORY_PADDED, .bytes_per_token = 1 };
    return m;
}

static bool is_idle(const struct round *round, int32_t e)
{
    return round->view->engines[e].is_open && round->view->engines[e].n_sent == 0;
}

/* Returns the most requests in a batch: the row's cap, D-20's, or what an engine may take at
 * once. */
static int32_t n_max_of(const struct round *round, int service, int32_t n, int32_t *n_idle)
{
    const struct route_config *config = &round->pool->config;
    int32_t n_max = LIMIT_BATCH_ITEMS, n_most = 0;
    *n_idle = 0;
    for (int32_t e = 0; e < round->view->n_engines; e++) {
        const struct route_engine *engine = &round->view->engines[e];
        if (!set_has(&engine->services, service))
            continue;
        *n_idle += is_idle(round, e);
        n_most = max_i32(n_most, route_sent_limit(config, engine));
    }
    n_max = min_i32(n_max, max_i32(n_most, 1));
    if (round->pool->rules->is_capped)
        n_max = min_i32(n_max, max_i32(config->n_batch, 1));
    if (config->spreads_small && *n_idle > 0)
        n_max = min_i32(n_max, (int32_t)div_up_i64(n, *n_idle));
    return n_max;
}

static void compose_service(struct round *round, int service)
{
    const struct route_view *view = round->view;
    struct route_compose *c = &round->c;
    c->items = round->items + round->n_items;
    c->batches = round->batches + round->n_batches;
    c->n = c->n_batches = 0;
    for (uint32_t at = view->services[service].first_held; at != ROUTE_NONE;
         at = view->requests[at].next)
        c->items[c->n++] = item_of(round, at);
    c->config = &round->pool->config;
    c->perf = &view->services[service].perf;
    c->memory = memory_of(round, service);
    c->now_ns = view->now_ns;
    c->n_steps = n_steps(round->pool, 0);
    c->n_max = n_max_of(round, service, c->n, &c->n_idle);
    if (round->pool->rules->key != NULL)
        route_compose_sort(c);
    round->pool->rules->compose(c);
    for (int32_t i = 0; i < c->n_batches; i++) {
        c->batches[i].first += round->n_items;
        c->batches[i].service = (uint16_t)service;
    }
    round->n_items += c->n;
    round->n_batches += c->n_batches;
}

/* ---- Offloading. ---- */

/* Orders the longest first for max-min; as composed for turns; otherwise the earliest deadline
 * first. */
static bool is_before(const void *self, int32_t a, int32_t b)
{
    const struct round *round = self;
    const struct route_batch *x = &round->batches[a], *y = &round->batches[b];
    if (round->pool->rules->is_max_min && x->serve_ps != y->serve_ps)
        return x->serve_ps > y->serve_ps;
    bool is_by_deadline = round->pool->rules->key != NULL && !round->pool->rules->is_timed;
    if (is_by_deadline && x->deadline_ns != y->deadline_ns)
        return x->deadline_ns < y->deadline_ns;
    return a < b;
}

static void order_batches(struct round *round)
{
    for (int32_t i = 0; i < round->n_batches; i++)
        round->order[i] = i;
    route_sort(round->order, round->n_batches, is_before, round);
}

static bool may_take(const struct round *round, int32_t e, const struct route_batch *batch)
{
    const struct route_engine *engine = &round->view->engines[e];
    if (!engine->is_open || !set_has(&engine->services, batch->service))
        return false;
    /* An idle engine takes a single batch, and its room is whole until then. */
    bool is_fresh = round->n_room[e] == route_sent_limit(&round->pool->config, engine);
    return round->n_room[e] >= batch->n && (round->pool->rules->is_timed || is_fresh);
}

/* Returns the engine that is looked at first. For max-min it only decides ties: gateways that fetch
 * at the same time should not take the same one of equal engines. */
static int32_t first_engine(const struct round *round, const struct route_batch *batch)
{
    if (!round->pool->rules->is_max_min)
        return round->cursor;
    uint64_t id = round->view->requests[round->items[batch->first].slot].id;
    return round->is_shared ? (int32_t)(rng_at(id, 0, 0) % (uint64_t)round->view->n_engines) : 0;
}

static int32_t engine_for(const struct round *round, const struct route_batch *batch)
{
    int32_t n = round->view->n_engines, best = -1, first = first_engine(round, batch);
    for (int32_t i = 0; i < n; i++) {
        int32_t e = (first + i) % n;
        if (!may_take(round, e, batch))
            continue;
        if (!round->pool->rules->is_max_min)
            return e;
        if (best < 0 || round->loads[e] < round->loads[best])
            best = e;
    }
    return best;
}

/* Returns the tokens until a request returns; 0: it runs to its end. */
static int32_t lease_of(const struct round *round, const struct route_batch *batch,
                        const struct route_item *item)
{
    const struct pool *pool = round->pool;
    return pool->rules->lease == NULL ? 0 : pool->rules->lease(&pool->config, batch, item);
}

static void offload(struct round *round, struct route_plan *plan, const struct route_batch *batch,
                    uint32_t *id)
{
    int32_t e = engine_for(round, batch);
    if (e < 0 || plan->n_choices + batch->n > plan->n_choices_max)
        return;
    *id = *id + 1 == 0 ? 1 : *id + 1;
    for (int32_t i = batch->first; i < batch->first + batch->n; i++)
        plan->choices[plan->n_choices++] =
            (struct route_choice){ .slot = round->items[i].slot,
                                   .engine = (uint16_t)e,
                                   .n_cohort = (uint16_t)batch->n,
                                   .cohort = *id,
                                   .load = batch->serve_ps / batch->n,
                                   .n_lease = lease_of(round, batch, &round->items[i]) };
    round->loads[e] += batch->serve_ps;
    round->n_room[e] -= batch->n;
    round->cursor = (e + 1) % round->view->n_engines;
}

/* ---- A round. ---- */

static struct round begin(const struct pool *pool, const struct route_view *view,
                          struct route_plan *plan)
{
    struct round round = { .pool = pool, .view = view, .cursor = pool->cursor };
    size_t n = (size_t)pool->limits.n_requests_max;
    round.items = plan->scratch;
    round.c.spare = round.items + n;
    round.batches = (void *)(round.c.spare + n);
    round.c.cost = (void *)(round.batches + n);
    round.c.time = round.c.cost + 4 * n + 4;
    round.loads = round.c.time + n + 1;
    round.n_room = (void *)(round.loads + pool->limits.n_engines_max);
    round.order = round.n_room + pool->limits.n_engines_max;
    round.c.from = round.order + n + 1;
    for (int32_t e = 0; e < view->n_engines; e++) {
        const struct route_engine *engine = &view->engines[e];
        round.is_shared = round.is_shared || engine->others != NULL;
        round.loads[e] = pool->loads[e] + engine->load_others;
        round.n_room[e] =
            route_sent_limit(&pool->config, engine) - engine->n_sent - engine->n_others;
    }
    return round;
}

static bool is_due(const struct pool *pool, const struct route_view *view, struct route_plan *plan)
{
    if (pool->rules->is_timed) {
        plan->wake_ns = pool->fetch_ns + pool->interval_ns;
        return view->now_ns >= plan->wake_ns;
    }
    plan->wake_ns = TIME_NEVER;
    for (int32_t e = 0; e < view->n_engines; e++) {
        const struct route_engine *engine = &view->engines[e];
        if (engine->is_open && engine->n_sent == 0 &&
            set_meets(&engine->services, view->services_held, view->n_services))
            return true;
    }
    return false;
}

void route_pool_plan(const void *state, const struct route_view *view, struct route_plan *plan)
{
    const struct pool *pool = state;
    uint32_t id = pool->n_cohorts;
    plan->n_choices = plan->n_engines_wanted = 0;
    if (!is_due(pool, view, plan))
        return;
    if (pool->rules->is_timed)
        plan->wake_ns = view->now_ns + pool->interval_ns;
    struct round round = begin(pool, view, plan);
    for (int s = 0; (s = set_next(view->services_held, s, view->n_services)) >= 0; s++)
        compose_service(&round, s);
    order_batches(&round);
    for (int32_t i = 0; i < round.n_batches; i++)
        offload(&round, plan, &round.batches[round.order[i]], &id);
}

/* ---- What happens. ---- */

/* Sets the interval until the next fetch: max(lambda min load, Gamma). */
static void set_interval(struct pool *pool, const struct route_view *view)
{
    int64_t least = INT64_MAX;
    for (int32_t e = 0; e < view->n_engines; e++) {
        if (view->engines[e].is_open)
            least = min_i64(least, pool->loads[e] + view->engines[e].load_others);
    }
    pool->interval_ns = pool->config.interval_ns_min;
    if (least < INT64_MAX)
        pool->interval_ns = max_i64(pool->interval_ns,
                                    (int64_t)(pool->config.interval_factor * (double)least / 1000));
}

static void free_cohort(struct pool *pool, uint32_t index)
{
    pool->cohorts[index].next = pool->first_free;
    pool->first_free = index;
}

static void begin_cohort(struct pool *pool, uint32_t id)
{
    if (pool->filling != ROUTE_NONE && pool->cohorts[pool->filling].n_left == 0)
        free_cohort(pool, pool->filling);
    pool->n_cohorts = id;
    pool->filling = pool->first_free;
    pool->first_free = pool->cohorts[pool->filling].next;
    pool->cohorts[pool->filling] = (struct pool_cohort){ 0 };
}

static void note_sent(struct pool *pool, const struct route_view *view,
                      const struct route_event *event)
{
    const struct route_choice *choice = event->choice;
    const struct route_request *r = &view->requests[event->slot];
    if (choice->cohort != pool->n_cohorts)
        begin_cohort(pool, choice->cohort);
    struct pool_cohort *cohort = &pool->cohorts[pool->filling];
    pool->cohort_of[event->slot] = pool->filling;
    cohort->n_left++;
    cohort->n_input = max_i32(cohort->n_input, r->n_tokens);
    cohort->n_output =
        max_i32(cohort->n_output, route_sent_predicted(view, r) - (r->n_tokens - r->n_prompt));
    pool->fetch_ns = view->now_ns;
    pool->cursor = (event->engine + 1) % view->n_engines;
    /* Each of its requests updates the estimate; the last one makes it that of the batch. */
    pool->loads[event->engine] -= cohort->estimate_ps;
    cohort->estimate_ps = route_compose_serve_ps(&view->services[r->service].perf, cohort->n_left,
                                                 cohort->n_input, n_steps(pool, cohort->n_output));
    pool->loads[event->engine] += cohort->estimate_ps;
    if (pool->rules->is_adaptive)
        set_interval(pool, view);
}

/* Notes that a request of a batch has left its engine. With the last one the engine's load falls by
 * the estimate. The batch that is being sent keeps its place, since others may follow when the bus
 * was full. */
static void note_left(struct pool *pool, const struct route_event *event)
{
    uint32_t index = pool->cohort_of[event->slot];
    struct pool_cohort *cohort = &pool->cohorts[index];
    pool->cohort_of[event->slot] = ROUTE_NONE;
    if (--cohort->n_left > 0)
        return;
    pool->loads[event->engine] -= cohort->estimate_ps;
    cohort->estimate_ps = 0;
    if (index != pool->filling)
        free_cohort(pool, index);
}

/* Skips fetches of an empty pool. They come every interval, whether or not requests wait, so the
 * first request after a pause meets the next one. */
static void pass_empty(struct pool *pool, int64_t now_ns)
{
    int64_t passed_ns = now_ns - pool->fetch_ns;
    if (pool->interval_ns > 0 && passed_ns > pool->interval_ns)
        pool->fetch_ns += passed_ns / pool->interval_ns * pool->interval_ns;
}

void route_pool_saw(void *state, const struct route_view *view, const struct route_event *event)
{
    struct pool *pool = state;
    switch (event->what) {
    case ROUTE_ARRIVED:
        pool->n_predicted[event->slot] = view->requests[event->slot].n_predicted;
        if (view->n_held == 1)
            pass_empty(pool, view->now_ns);
        return;
    case ROUTE_SENT:
        note_sent(pool, view, event);
        return;
    case ROUTE_RETURNED:
    case ROUTE_ENDED:
        note_left(pool, event);
        return;
    case ROUTE_ASKED:
        if (view->now_ns >= pool->fetch_ns + pool->interval_ns)
            pool->fetch_ns = view->now_ns;
        return;
    default:
        return;
    }
}

/* ---- Rules that several policies share. ---- */

int64_t route_pool_key(double key)
{
    return key > 4e18 ? (int64_t)4e18 : key < -4e18 ? -(int64_t)4e18 : (int64_t)key;
}

double route_pool_slo_s(const struct route_item *item, int64_t now_ns)
{
    return item->deadline_ns == TIME_NEVER ? 0 : (double)(item->deadline_ns - now_ns) * 1e-9;
}

int64_t route_pool_by_input(const struct route_config *config, const struct route_item *item,
                            int64_t now_ns)
{
    (void)config, (void)now_ns;
    return item->n_input;
}

int32_t route_pool_lease_slice(const struct route_config *config, const struct route_batch *batch,
                               const struct route_item *item)
{
    (void)batch, (void)item;
    return config->n_slice;
}

int32_t route_pool_lease_batch(const struct route_config *config, const struct route_batch *batch,
                               const struct route_item *item)
{
    (void)item;
    return batch->n_output + config->n_margin;
}
