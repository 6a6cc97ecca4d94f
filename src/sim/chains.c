/* Simulates chains of unlike devices that hold a model by layers. */
#include "sim/chains.h"

#include "sim/state.h"

#include "base/mem.h"
#include "base/time.h"
#include "place/watch.h"
#include "sim/chain_weigh.h"
#include <string.h>

enum chain_state { SERVING, CLOSING, LOADING, DOWN };

struct span { /* layers that a device has the weights of */
    int32_t first, n;
};
struct chain {
    const struct sim_chain *is;
    int32_t engine;
    enum chain_state state;
    struct layers_plan plan, next; /* the engine's now, and next; without parts: no map */
    struct span spans[LAYERS_DEVICES_MAX];
    bool is_here[LAYERS_DEVICES_MAX];
    int32_t n_events;   /* that have happened */
    bool has_crashed;   /* and nothing was planned since */
    int64_t n_reserved; /* tokens of KV that maps keep room for */
    int64_t n_wanted;   /* tokens that all present requests will have in the end */
    struct watch watch;
    struct sim_chain_window window;
    int64_t n_plans, again_ns;  /* it is weighed again then */
    int64_t since_ns, ready_ns; /* since when it serves no request; when it is loaded */
    struct sim_engine_spec spec;
    struct sim_chain_map map;
    struct perf perfs[LIMIT_SERVICES];
    struct perf_truth truths[LIMIT_SERVICES];
};
struct sim_chains {
    int32_t n;
    struct chain at[];
};

static bool is_same(const struct layers_plan *a, const struct layers_plan *b)
{
    bool is_equal = a->n_parts == b->n_parts;
    for (int32_t i = 0; i < a->n_parts && is_equal; i++)
        is_equal = a->parts[i].device == b->parts[i].device &&
                   a->parts[i].n_layers == b->parts[i].n_layers;
    return is_equal;
}

/* ---- The engine of a map. ---- */

/* Times and memory as the map has them. */
static void set_plan(struct chain *chain, const struct layers_plan *plan)
{
    const struct sim_chain *c = chain->is;
    bool has_map = plan->n_parts > 0;
    int64_t n_tokens = has_map ? sim_chain_tokens(c, plan) : 0;
    chain->plan = *plan;
    chain->spec.services = (struct set){ { 0 } };
    if (has_map)
        set_add(&chain->spec.services, c->service);
    chain->spec.memory_bytes =
        c->weights_bytes + c->activation_bytes + n_tokens * c->kv_bytes_per_token;
    chain->spec.n_deep = sim_chain_deep(plan);
    chain->spec.deep_part = sim_chain_slowest(c, plan);
    chain->map = (struct sim_chain_map){ c, &chain->plan };
    chain->truths[c->service] = sim_chain_truth(&chain->map);
    if (has_map)
        sim_chain_perf(c, plan, &chain->perfs[c->service]);
}

static void set_spans(struct chain *chain)
{
    int32_t first = 0;
    memset(chain->spans, 0, sizeof(chain->spans));
    for (int32_t i = 0; i < chain->plan.n_parts; i++) {
        struct layers_part part = chain->plan.parts[i];
        chain->spans[part.device] = (struct span){ first, part.n_layers };
        first += part.n_layers;
    }
}

/* Returns the bytes of layers that the devices of a plan lack: the maximum over devices. Sets *sum
 * to the sum. */
static int64_t bytes_to_load(const struct chain *chain, const struct layers_plan *plan,
                             int64_t *sum)
{
    const struct sim_chain *c = chain->is;
    int64_t most_bytes = 0;
    int32_t first = 0;
    *sum = 0;
    for (int32_t i = 0; i < plan->n_parts; i++) {
        struct layers_part part = plan->parts[i];
        struct span has = chain->spans[part.device];
        int32_t end = min_i32(first + part.n_layers, has.first + has.n);
        int32_t n_kept = max_i32(0, end - max_i32(first, has.first));
        int64_t n_bytes = (part.n_layers - n_kept) * c->layer_bytes;
        *sum += n_bytes;
        most_bytes = max_i64(most_bytes, n_bytes);
        first += part.n_layers;
    }
    return most_bytes;
}

/* Returns the time until every device has the layers of its part that it lacked. */
static int64_t load_ns(const struct chain *chain, struct sim_chains_report *report)
{
    int64_t sum, most_bytes = bytes_to_load(chain, &chain->plan, &sum);
    report->loaded_bytes += sum;
    return chain->is->settle_ns + (int64_t)((double)most_bytes / chain->is->host_bytes_per_s * 1e9);
}

/* Installs the new map's engine in place of the old one, which is empty. */
static void install(struct sim *sim, struct chain *chain)
{
    sim_engines_count(sim, chain->engine);
    sim_engines_close_one(sim, chain->engine);
    set_plan(chain, &chain->next);
    sim_engines_open_one(sim, chain->engine);
    sim_wakes_set(&sim->wakes, (uint32_t)chain->engine, TIME_NEVER);
    chain->state = chain->plan.n_parts > 0 ? LOADING : DOWN;
    chain->ready_ns = TIME_NEVER;
    if (chain->state == LOADING)
        chain->ready_ns = sim->clock_ns + load_ns(chain, &sim->report->chains);
}

/* At once, or after the step that runs. */
static bool close_engine(struct sim *sim, struct chain *chain)
{
    struct engine *engine = sim->engines[chain->engine].engine;
    bool is_empty = engine_close_service(engine, chain->is->service, sim->clock_ns);
    if (is_empty)
        install(sim, chain);
    return is_empty;
}

static void begin(struct sim *sim, struct chain *chain)
{
    if (chain->state == SERVING) {
        chain->state = CLOSING;
        chain->since_ns = sim->clock_ns;
        sim_engines_show(sim, chain->engine, &(struct set){ { 0 } });
        if (!close_engine(sim, chain)) /* its hold is cut */
            sim_wakes_set(&sim->wakes, (uint32_t)chain->engine, sim->clock_ns);
    } else if (chain->state != CLOSING) {
        install(sim, chain);
    }
}

static void serve(struct sim *sim, struct chain *chain)
{
    CHECK(sim_engines_load(sim, chain->engine, chain->is->service));
    set_spans(chain);
    chain->state = SERVING;
    chain->ready_ns = TIME_NEVER;
    sim->report->chains.away_ns += sim->clock_ns - chain->since_ns;
    sim_engines_show(sim, chain->engine, &chain->spec.services);
}

/* ---- When to plan anew. ---- */

static struct watch_seen seen_of(const struct sim *sim, const struct chain *chain, uint64_t *ids)
{
    struct watch_seen seen = { .now_ns = sim->clock_ns, .device_ids = ids };
    for (int32_t d = 0; d < chain->is->n_devices; d++)
        if (chain->is_here[d])
            ids[seen.n_devices++] = (uint64_t)d;
    if (chain->state != SERVING) /* it has no pool */
        return seen;
    seen.kv_bytes = chain->n_wanted * chain->is->kv_bytes_per_token;
    seen.kv_reserve_bytes =
        sim_chain_tokens(chain->is, &chain->plan) * chain->is->kv_bytes_per_token;
    return seen;
}

static void remember(const struct sim *sim, struct chain *chain)
{
    uint64_t ids[LAYERS_DEVICES_MAX];
    const struct watch_seen seen = seen_of(sim, chain, ids);
    watch_planned(&chain->watch, &seen);
}

/* Makes the map for the present devices. It prefers one with room for the KV that is wanted, if
 * such a map exists, and keeps this amount from then on. A chain that `stays` has its first map or
 * none. */
static void plan_next(struct chain *chain, enum watch_why why, struct layers_plan *next)
{
    const struct sim_chain *c = chain->is;
    bool is_there[LAYERS_DEVICES_MAX];
    const bool *is_here = chain->is_here;
    if (why == WATCH_KV && sim_chain_plan(c, is_here, chain->n_wanted, next, NULL) == STATUS_OK) {
        chain->n_reserved = chain->n_wanted;
        return;
    }
    if (c->stays) {
        sim_chain_first(c, is_there);
        is_here = is_there;
    }
    if (sim_chain_plan(c, is_here, chain->n_reserved, next, NULL) != STATUS_OK)
        next->n_parts = 0;
    for (int32_t i = 0; i < next->n_parts; i++)
        if (!chain->is_here[next->parts[i].device])
            next->n_parts = 0;
}

static enum watch_why see(const struct sim *sim, struct chain *chain)
{
    const struct watch_config config = { WATCH_OVER_NS };
    uint64_t ids[LAYERS_DEVICES_MAX];
    const struct watch_seen seen = seen_of(sim, chain, ids);
    enum watch_why why = watch_saw(&chain->watch, &config, &seen);
    return chain->has_crashed ? WATCH_LEFT : why; /* it may be back already, but empty */
}

/* Returns the plan of now. A map that is about to be installed counts already. */
static const struct layers_plan *plan_now(const struct chain *chain)
{
    return chain->state == CLOSING ? &chain->next : &chain->plan;
}

static bool is_whole(const struct chain *chain, const struct layers_plan *plan)
{
    bool is_there = plan->n_parts > 0;
    for (int32_t i = 0; i < plan->n_parts; i++)
        is_there = is_there && chain->is_here[plan->parts[i].device];
    return is_there;
}

/* Returns the tokens whose KV is there. */
static int64_t n_held(const struct sim *sim, const struct chain *chain)
{
    const struct sim_engine *e = &sim->engines[chain->engine];
    struct engine_report *report = mem_take(engine_report_bytes(e->n_services));
    engine_report(e->engine, report, sim->clock_ns);
    int64_t n_bytes = report->kv_pool_bytes - report->kv_free_bytes;
    mem_give(report);
    return n_bytes / chain->is->kv_bytes_per_token;
}

static bool pays(struct sim *sim, struct chain *chain, const struct layers_plan *next)
{
    int64_t sum;
    const struct sim_chain_move move = {
        .kept = plan_now(chain),
        .planned = next,
        .weights_bytes = bytes_to_load(chain, next, &sum),
        .n_tokens = chain->state == SERVING ? n_held(sim, chain) : 0,
        .interval_ns = sim_chain_weigh_interval_ns(sim->clock_ns, chain->n_plans),
    };
    enum replace_verdict verdict = sim_chain_weigh(chain->is, &chain->window, &move);
    if (verdict == REPLACE_NOT_WORTH) /* more may be there by then */
        chain->again_ns = sim->clock_ns + move.interval_ns;
    return verdict == REPLACE_INSTALL;
}

static void look(struct sim *sim, struct chain *chain)
{
    struct sim_chains_report *report = &sim->report->chains;
    enum watch_why why = see(sim, chain);
    bool is_again = chain->again_ns <= sim->clock_ns;
    struct layers_plan next;
    if (why == WATCH_NOTHING && !is_again)
        return;
    remember(sim, chain);
    chain->has_crashed = false;
    chain->again_ns = TIME_NEVER;
    if (why == WATCH_KV && chain->is->stays)
        return;
    plan_next(chain, why, &next);
    sim_chain_weigh_note(&chain->window, sim->clock_ns, 0);
    chain->n_plans += why != WATCH_NOTHING;
    report->n_reruns[why]++;
    report->n_none += next.n_parts == 0;
    bool is_other = !is_same(&next, plan_now(chain));
    bool is_free = why != WATCH_KV && is_whole(chain, plan_now(chain)); /* to stay */
    if (is_other && is_free && !pays(sim, chain, &next)) {
        report->n_kept++;
    } else if (is_other) {
        report->n_maps += next.n_parts > 0;
        chain->next = next;
        begin(sim, chain);
    } else {
        report->n_same += next.n_parts > 0;
    }
    sim_chain_weigh_close(&chain->window, sim->clock_ns);
}

void sim_chains_saw(struct sim *sim, int32_t service, int64_t n_tokens)
{
    for (int32_t i = 0; i < sim->chains->n; i++) {
        struct chain *chain = &sim->chains->at[i];
        if (chain->is->service != service)
            continue;
        chain->n_wanted += n_tokens;
        sim_chain_weigh_note(&chain->window, sim->clock_ns, n_tokens > 0 ? 1 : -1);
        if (n_tokens > 0)
            look(sim, chain);
        else /* in the middle of a step, so it only checks whether KV is still over its reserve */
            (void)see(sim, chain);
    }
}

void sim_chains_stepped(struct sim *sim, int32_t engine)
{
    for (int32_t i = 0; i < sim->chains->n; i++)
        if (sim->chains->at[i].engine == engine && sim->chains->at[i].state == CLOSING)
            (void)close_engine(sim, &sim->chains->at[i]);
}

/* ---- Time. ---- */

int64_t sim_chains_wake_ns(const struct sim_chains *chains, bool *is_waiting)
{
    int64_t wake_ns = TIME_NEVER;
    *is_waiting = false;
    for (int32_t i = 0; chains != NULL && i < chains->n; i++) {
        const struct chain *chain = &chains->at[i];
        bool has_event = chain->n_events < chain->is->n_events;
        wake_ns = min_i64(wake_ns, min_i64(chain->ready_ns, chain->again_ns));
        if (has_event)
            wake_ns = min_i64(wake_ns, chain->is->events[chain->n_events].at_ns);
        *is_waiting = *is_waiting || chain->state == LOADING || (chain->state == DOWN && has_event);
    }
    return wake_ns;
}

bool sim_chains_is_down(const struct sim_chains *chains)
{
    bool is_down = false;
    for (int32_t i = 0; chains != NULL && i < chains->n; i++)
        is_down = is_down || chains->at[i].state == DOWN;
    return is_down;
}

static bool is_in(const struct layers_plan *plan, int32_t device)
{
    bool is_part = false;
    for (int32_t i = 0; i < plan->n_parts; i++)
        is_part = is_part || plan->parts[i].device == device;
    return is_part;
}

/* Handles the loss of a device in the middle of a step: all present requests come back, and nothing
 * of the engine remains. */
static void crash(struct sim *sim, struct chain *chain)
{
    struct sim_chains_report *report = &sim->report->chains;
    struct sim_engine *e = &sim->engines[chain->engine];
    int64_t n_before = report->n_returned;
    if (chain->state == SERVING) {
        chain->since_ns = sim->clock_ns;
        sim_engines_show(sim, chain->engine, &(struct set){ { 0 } });
    }
    if (chain->state == SERVING || chain->state == CLOSING) {
        sim_model_exec_crash(e->exec);
        (void)engine_close_service(e->engine, chain->is->service, sim->clock_ns);
        (void)engine_step(e->engine, sim->clock_ns); /* those of the step that is lost, too */
        CHECK(engine_is_idle(e->engine));
    }
    report->n_crashes++;
    report->n_crashed += report->n_returned - n_before;
    chain->has_crashed = true;
    chain->next.n_parts = 0;
    install(sim, chain);
}

static void happen(struct sim *sim, struct chain *chain, const struct sim_chain_event *event)
{
    chain->is_here[event->device] = event->what == SIM_CHAIN_JOINS;
    if (event->what != SIM_CHAIN_JOINS)
        chain->spans[event->device].n = 0;
    if (event->what == SIM_CHAIN_CRASHES && is_in(&chain->plan, event->device))
        crash(sim, chain);
}

static void tick_one(struct sim *sim, struct chain *chain)
{
    const struct sim_chain *c = chain->is;
    if (chain->ready_ns <= sim->clock_ns)
        serve(sim, chain);
    for (; chain->n_events < c->n_events && c->events[chain->n_events].at_ns <= sim->clock_ns;
         chain->n_events++)
        happen(sim, chain, &c->events[chain->n_events]);
    look(sim, chain);
}

void sim_chains_tick(struct sim *sim)
{
    for (int32_t i = 0; i < sim->chains->n; i++)
        tick_one(sim, &sim->chains->at[i]);
    sim_door_send(sim);
}

/* ---- Opening. ---- */

static void open_one(struct chain *chain, const struct sim_chain *is, int32_t engine,
                     const struct sim_engine_spec *spec)
{
    struct layers_plan plan;
    chain->is = is;
    chain->engine = engine;
    chain->spec = *spec;
    chain->spec.perfs = chain->perfs;
    chain->spec.truths = chain->truths;
    chain->ready_ns = chain->again_ns = TIME_NEVER;
    chain->n_reserved = (int64_t)is->n_batch * is->n_context;
    chain->perfs[is->service] = is->devices[0].perf;
    sim_chain_first(is, chain->is_here);
    if (sim_chain_plan(is, chain->is_here, chain->n_reserved, &plan, NULL) != STATUS_OK)
        plan.n_parts = 0;
    set_plan(chain, &plan);
    set_spans(chain);
    chain->state = plan.n_parts > 0 ? SERVING : DOWN;
}

struct sim_chains *sim_chains_open(struct sim *sim)
{
    const struct sim_options *o = sim->options;
    int32_t n = 0;
    for (int32_t e = 0; e < o->n_engines && o->engines != NULL; e++)
        n += o->engines[e].chain != NULL;
    if (n == 0)
        return NULL;
    struct sim_chains *chains = mem_take(sizeof(*chains) + (size_t)n * sizeof(chains->at[0]));
    for (int32_t e = 0; e < o->n_engines; e++) {
        if (o->engines[e].chain == NULL)
            continue;
        struct chain *chain = &chains->at[chains->n++];
        open_one(chain, o->engines[e].chain, e, &o->engines[e]);
        remember(sim, chain);
    }
    return chains;
}

void sim_chains_close(struct sim_chains *chains)
{
    mem_give(chains);
}

static const struct chain *chain_of(const struct sim_chains *chains, int32_t engine)
{
    for (int32_t i = 0; chains != NULL && i < chains->n; i++)
        if (chains->at[i].engine == engine)
            return &chains->at[i];
    return NULL;
}

const struct sim_engine_spec *sim_chains_spec(const struct sim_chains *chains, int32_t engine)
{
    const struct chain *chain = chain_of(chains, engine);
    return chain != NULL ? &chain->spec : NULL;
}

const struct sim_chain_map *sim_chains_map(const struct sim_chains *chains, int32_t engine)
{
    const struct chain *chain = chain_of(chains, engine);
    return chain != NULL ? &chain->map : NULL;
}

void sim_chains_end(struct sim *sim)
{
    for (int32_t i = 0; sim->chains != NULL && i < sim->chains->n; i++)
        if (sim->chains->at[i].state != SERVING)
            sim->report->chains.away_ns += sim->clock_ns - sim->chains->at[i].since_ns;
}
