/* An engine as its node sees it: the real one behind a ring. Its models take time to load, and
 * after a crash it starts anew. */
#include "sim/bus_engine.h"

#include "base/mem.h"
#include "base/rng.h"
#include "base/time.h"
#include <string.h>

#define EVENTS_BYTES (1 << 20)
#define RESTART_NS   (5 * TIME_NS_PER_S)
enum { DICE_HOLE = 127, DICE_CRASH = 128 }; /* crashes: and one for every engine */

static struct engine *engine_of(const struct sim_bus_engine *e)
{
    return e->host->sim.engines[e->index].engine;
}

static int64_t now_of(const struct sim_bus_engine *e)
{
    return e->host->sim.clock_ns;
}

static int n_services_of(const struct sim_bus_engine *e)
{
    return e->host->sim.options->n_services;
}

/* Returns the engine's own number of one of its services. */
static int own_of(const struct sim_bus_engine *e, int service)
{
    return sim_engine_own(&e->host->sim.engines[e->index], n_services_of(e), service);
}

/* ---- Requests that lie here. ---- */

static void end_life(struct sim_bus_engine *e, uint64_t id, uint32_t epoch)
{
    uint32_t at = map_find(&e->by_id, id);
    if (at == MAP_NONE || e->lives[at].epoch != epoch)
        return;
    e->lives[at].is_there = false;
    map_remove(&e->by_id, id);
    e->free_lives[e->n_free_lives++] = at;
}

/* Returns whether this piece of an answer is lost before the node gets it. */
static bool is_hole(struct sim_bus_engine *e, const struct service_event *event)
{
    double part = e->host->faults->hole;
    if (part == 0 || event->what != SERVICE_TOKENS || e->host->is_over)
        return false;
    uint64_t bits = rng_at(e->host->sim.options->workload->seed, DICE_HOLE, e->n_emitted++);
    bool is_one = (double)(bits >> 32) * 0x1p-32 < part;
    e->host->sim.report->bus.n_holes += is_one;
    return is_one;
}

bool sim_bus_engine_emit(void *self, const struct service_event *event, const void *payload)
{
    const struct sim_engine *engine = self;
    struct sim_bus_host *host = (struct sim_bus_host *)(void *)engine->sim;
    struct sim_bus_engine *e = &host->engines[engine->index];
    if (is_hole(e, event)) {
        uint32_t at = map_find(&e->by_id, event->id);
        if (at != MAP_NONE)
            e->lives[at].n_tokens = event->position + event->n_tokens;
        return true;
    }
    if (!ring_put(e->events, event, sizeof(*event), payload, (size_t)event->n_bytes))
        return false;
    if (event->what == SERVICE_TOKENS) {
        uint32_t at = map_find(&e->by_id, event->id);
        if (at != MAP_NONE)
            e->lives[at].n_tokens = event->position + event->n_tokens;
        return true;
    }
    host->ended(host->self, event);
    end_life(e, event->id, event->epoch);
    return true;
}

static bool submit(void *self, const struct request *request, const struct request_body *from)
{
    struct sim_bus_engine *e = self;
    struct sim_bus_host *host = e->host;
    struct request_body *body = host->sim.body;
    if (e->up_ns > 0 || e->n_free_lives == 0)
        return false;
    *body = (struct request_body){ .n_tokens = (uint32_t)request->n_tokens_max };
    if (!host->fill(host->self, request, from, request_body_tokens(body)) &&
        host->sim.report->wrong == NULL)
        host->sim.report->wrong = "a request that came to an engine with other tokens";
    bool is_known = map_find(&e->by_id, request->id) != MAP_NONE;
    if (!is_known) {
        uint32_t at = e->free_lives[--e->n_free_lives];
        e->lives[at] =
            (struct sim_bus_life){ request->id, request->epoch, request->n_tokens, true };
        CHECK(map_put(&e->by_id, request->id, at));
        host->taken(host->self, e->index, request);
    }
    e->has_mail = true;
    struct request own = *request;
    own.service = (uint16_t)own_of(e, request->service);
    if (engine_submit(engine_of(e), &own, body, now_of(e)))
        return true;
    if (!is_known)
        end_life(e, request->id, request->epoch);
    return false;
}

static void cancel(void *self, uint64_t id, uint32_t epoch)
{
    struct sim_bus_engine *e = self;
    if (e->up_ns > 0)
        return;
    engine_cancel(engine_of(e), id, epoch, now_of(e));
    e->has_mail = true;
}

static bool next(void *self, struct service_event *event, const void **payload)
{
    struct sim_bus_engine *e = self;
    const void *record;
    size_t n_bytes;
    if (e->is_popping)
        ring_pop(e->events);
    e->is_popping = ring_peek(e->events, &record, &n_bytes);
    if (e->is_popping) {
        memcpy(event, record, sizeof(*event));
        *payload = (const struct service_event *)record + 1;
        return true;
    }
    if (e->n_told == e->n_returned)
        return false;
    *event = e->returned[e->n_told++];
    *payload = NULL;
    return true;
}

static int wait_fd(void *self)
{
    (void)self;
    return -1;
}

/* ---- Models come and go. ---- */

static void tell(struct sim_bus_engine *e, int service, enum service_status status,
                 enum status cause)
{
    const struct sim_service *s = &e->host->sim.options->services[service];
    CHECK(e->n_changes < e->n_changes_max);
    e->changes[(e->first_change + e->n_changes++) % e->n_changes_max] =
        (struct service_change){ .engine = (uint16_t)e->index,
                                 .service = (uint16_t)service,
                                 .status = (uint8_t)status,
                                 .cause = (uint8_t)cause,
                                 .weights_bytes = s->size.weights_bytes,
                                 .activation_bytes = s->size.activation_bytes };
    e->report_ns = -1; /* at once */
}

static bool next_change(void *self, struct service_change *change)
{
    struct sim_bus_engine *e = self;
    if (e->n_changes == 0)
        return false;
    *change = e->changes[e->first_change++ % e->n_changes_max];
    e->n_changes--;
    return true;
}

static void begin_load(struct sim_bus_engine *e, int service)
{
    int64_t rate = e->host->faults->load_bytes_per_s;
    double n_bytes = (double)e->host->sim.options->services[service].size.weights_bytes;
    e->ready_ns[service] = now_of(e);
    if (rate > 0)
        e->ready_ns[service] += (int64_t)(n_bytes / (double)rate * 1e9);
    tell(e, service, SERVICE_LOADING, STATUS_OK);
}

static void load(void *self, int service)
{
    struct sim_bus_engine *e = self;
    if (set_has(&e->wanted, service))
        return;
    set_add(&e->wanted, service);
    if (e->up_ns == 0)
        begin_load(e, service);
}

/* A model that has requests is not unloaded, unless they are to be returned. */
static void unload(void *self, int service, bool even_busy)
{
    struct sim_bus_engine *e = self;
    if (set_has(&e->wanted, service) && !set_has(&e->there, service)) { /* the load is cancelled */
        set_remove(&e->wanted, service);
        tell(e, service, SERVICE_UNLOADED, STATUS_CANCELLED);
        return;
    }
    if (!set_has(&e->there, service) || set_has(&e->leaving, service))
        return;
    if (!even_busy && engine_is_service_busy(engine_of(e), own_of(e, service))) {
        tell(e, service, SERVICE_LOADED, STATUS_BUSY);
        return;
    }
    set_add(&e->leaving, service);
    set_remove(&e->wanted, service);
    tell(e, service, SERVICE_DRAINING_OUT, STATUS_OK);
}

static void drain(void *self)
{
    struct sim_bus_engine *e = self;
    if (e->up_ns == 0)
        engine_drain(engine_of(e));
}

/* Returns when to look again. */
static int64_t move_models(struct sim_bus_engine *e)
{
    int64_t wake_ns = TIME_NEVER;
    int n = n_services_of(e), service = -1;
    while ((service = set_next(&e->wanted, service + 1, n)) >= 0) {
        if (set_has(&e->there, service))
            continue;
        if (e->ready_ns[service] > now_of(e)) {
            wake_ns = min_i64(wake_ns, e->ready_ns[service]);
        } else if (sim_engines_load(&e->host->sim, e->index, service)) {
            set_add(&e->there, service);
            e->has_mail = e->has_mail || !engine_is_idle(engine_of(e));
            tell(e, service, SERVICE_LOADED, STATUS_OK);
        } else if (set_is_empty(&e->leaving)) { /* a model that was to leave stays */
            set_remove(&e->wanted, service);
            tell(e, service, SERVICE_UNLOADED, STATUS_BUSY);
        }
    }
    while ((service = set_next(&e->leaving, service + 1, n)) >= 0) {
        e->has_mail = true;
        if (!engine_close_service(engine_of(e), own_of(e, service), now_of(e)))
            continue;
        set_remove(&e->leaving, service);
        set_remove(&e->there, service);
        tell(e, service, SERVICE_UNLOADED, STATUS_OK);
    }
    return wake_ns;
}

/* ---- Crashes. ---- */

static void draw_crash(struct sim_bus_engine *e)
{
    struct rng rng = { e->host->sim.options->workload->seed, DICE_CRASH + (uint64_t)e->index,
                       e->n_crashes << 8 };
    int64_t mean_ns = e->host->faults->crash_ns;
    e->crash_ns = TIME_NEVER;
    if (mean_ns > 0)
        e->crash_ns = now_of(e) + 1 + (int64_t)(rng_exponential(&rng) * (double)mean_ns);
}

/* Crashes. Events before it are still delivered, its requests come back, and it is gone until
 * up_ns. */
static void crash(struct sim_bus_engine *e)
{
    struct sim *sim = &e->host->sim;
    const struct sim_faults *f = e->host->faults;
    sim_model_exec_stop(sim->engines[e->index].exec);
    (void)engine_step(engine_of(e), now_of(e)); /* emits what was drawn until now */
    memmove(e->returned, e->returned + e->n_told,
            (e->n_returned - e->n_told) * sizeof(*e->returned));
    e->n_returned -= e->n_told;
    e->n_told = 0;
    for (uint32_t i = 0; i < sim->options->n_requests_max; i++) {
        const struct sim_bus_life *life = &e->lives[i];
        if (!life->is_there)
            continue;
        e->returned[e->n_returned++] = (struct service_event){ .id = life->id,
                                                               .epoch = life->epoch,
                                                               .what = SERVICE_RETURNED,
                                                               .why = SERVICE_CRASHED,
                                                               .engine = (uint16_t)e->index,
                                                               .position = life->n_tokens };
        end_life(e, life->id, life->epoch);
        sim->report->bus.n_crashed++;
    }
    for (int s = 0; (s = set_next(&e->there, s, n_services_of(e))) >= 0; s++)
        tell(e, s, SERVICE_UNLOADED, STATUS_OK);
    sim_engines_count(sim, e->index);
    sim_engines_close_one(sim, e->index);
    sim_engines_open_one(sim, e->index);
    e->there = e->leaving = (struct set){ { 0 } };
    e->has_mail = false;
    e->wake_ns = TIME_NEVER;
    e->up_ns = now_of(e) + (f->restart_ns > 0 ? f->restart_ns : RESTART_NS);
    e->n_crashes++;
    sim->report->bus.n_crashes++;
}

static void come_up(struct sim_bus_engine *e)
{
    e->up_ns = 0;
    for (int s = 0; (s = set_next(&e->wanted, s, n_services_of(e))) >= 0; s++)
        begin_load(e, s);
    draw_crash(e);
}

/* ---- The step. ---- */

/* Reports the engine's state, with our numbers of its services. */
static void report_engine(struct sim_bus_engine *e)
{
    const struct sim_engine *engine = &e->host->sim.engines[e->index];
    const struct engine_report *own = e->host->own;
    struct engine_report *report = &e->report;
    struct set gone = report->listed;
    engine_report(engine->engine, e->host->own, now_of(e));
    memcpy(report, own, engine_report_bytes(0));
    report->n_services = n_services_of(e);
    report->listed = (struct set){ { 0 } };
    for (int i = 0; (i = set_next(&own->listed, i, engine->n_services)) >= 0; i++) {
        set_add(&report->listed, engine->ours[i]);
        report->services[engine->ours[i]] = own->services[i];
    }
    gone = set_without(&gone, &report->listed);
    for (int s = 0; (s = set_next(&gone, s, n_services_of(e))) >= 0; s++)
        report->services[s] = (struct service_report){ 0 };
}

static void refresh(struct sim_bus_engine *e)
{
    report_engine(e);
    e->report.is_healthy = e->report.is_healthy && e->up_ns == 0;
    const struct set loading = set_without(&e->wanted, &e->there);
    int n = e->up_ns == 0 ? n_services_of(e) : 0;
    for (int s = 0; (s = set_next(&loading, s, n)) >= 0; s++)
        e->report.services[s].status = SERVICE_LOADING;
    set_add_all(&e->report.listed, &loading);
    e->report_ns = now_of(e);
}

static int64_t step(void *self, int64_t now_ns)
{
    struct sim_bus_engine *e = self;
    struct sim *sim = &e->host->sim;
    /* Returned requests of an earlier crash are reported first, so that there is room for the next
     * ones. */
    if (e->up_ns == 0 && e->crash_ns <= now_ns && e->n_told == e->n_returned && !e->host->is_over)
        crash(e);
    if (e->up_ns > 0 && e->up_ns <= now_ns)
        come_up(e);
    if (e->up_ns > 0) {
        if (e->report_ns < 0 || now_ns - e->report_ns >= e->host->report_ns)
            refresh(e);
        return e->up_ns;
    }
    int64_t wake_ns = move_models(e);
    if (e->has_mail || e->wake_ns <= now_ns) {
        e->has_mail = false;
        e->wake_ns = engine_step(sim->engines[e->index].engine, now_ns);
        sim->report->n_steps++;
        if (sim->options->checks_steps)
            sim_check_step(sim, &sim->engines[e->index]);
    }
    if (e->report_ns < 0 || now_ns - e->report_ns >= e->host->report_ns)
        refresh(e);
    e->report.n_requests = (int32_t)(sim->options->n_requests_max - e->n_free_lives);
    if (!e->host->is_over)
        wake_ns = min_i64(wake_ns, max_i64(e->crash_ns, now_ns + 1));
    return min_i64(wake_ns, e->wake_ns);
}

bool sim_bus_engine_rests(const struct sim_bus_engine *e)
{
    const void *record;
    size_t n_bytes;
    return !e->has_mail && e->wake_ns == TIME_NEVER && e->crash_ns == TIME_NEVER && e->up_ns == 0 &&
           e->report_ns >= 0 && e->n_changes == 0 && e->n_told == e->n_returned &&
           engine_is_idle(engine_of(e)) && !ring_peek(e->events, &record, &n_bytes) &&
           set_equals(&e->wanted, &e->there) && set_is_empty(&e->leaving);
}

bool sim_bus_engine_is_down(const struct sim_bus_engine *e)
{
    return e->up_ns > 0;
}

static const struct engine_report *report(void *self)
{
    return &((struct sim_bus_engine *)self)->report;
}

struct cluster_engine sim_bus_engine_face(struct sim_bus_engine *e)
{
    return (struct cluster_engine){ .self = e,
                                    .service = { e, submit, cancel, next, wait_fd },
                                    .load = load,
                                    .unload = unload,
                                    .drain = drain,
                                    .step = step,
                                    .next_change = next_change,
                                    .report = report };
}

void sim_bus_engine_open(struct sim_bus_host *host, int32_t index)
{
    struct sim_bus_engine *e = &host->engines[index];
    uint32_t n = host->sim.options->n_requests_max;
    e->host = host;
    e->index = index;
    e->wake_ns = TIME_NEVER;
    e->events = mem_take(ring_bytes(EVENTS_BYTES));
    ring_init(e->events, EVENTS_BYTES);
    e->n_changes_max = SIM_BUS_CHANGES * (uint32_t)n_services_of(e);
    e->changes = mem_take(e->n_changes_max * sizeof(*e->changes));
    e->ready_ns = mem_take((size_t)n_services_of(e) * sizeof(*e->ready_ns));
    e->lives = mem_take(n * sizeof(*e->lives));
    e->free_lives = mem_take(n * sizeof(*e->free_lives));
    e->returned = mem_take(n * sizeof(*e->returned));
    for (uint32_t i = n; i-- > 0;)
        e->free_lives[e->n_free_lives++] = i;
    map_init(&e->by_id, n);
    refresh(e);
    draw_crash(e);
}

void sim_bus_engine_close(struct sim_bus_engine *e)
{
    mem_give(e->events);
    mem_give(e->changes);
    mem_give(e->ready_ns);
    mem_give(e->lives);
    mem_give(e->free_lives);
    mem_give(e->returned);
    map_free(&e->by_id);
}
