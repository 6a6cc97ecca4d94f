/* The engines of a simulation: real ones, each with a modelled executor, on virtual time. */
#include "sim/chains.h"
#include "sim/state.h"

#include "base/mem.h"
#include "kv/kv.h"
#include "schedule/lanes.h"
#include "sim/pipes.h"
#include <stdio.h>
#include <string.h>

#define SIM_UNIT_BYTES_MAX (16 << 20)
#define TABLE_BYTES_PER_S  25e9 /* PCIe 4.0 x16 */

/* Sets the measured time of a lane with this many whole cores. Its engine expects that time is
 * inverse to the cores. */
static void set_lane(struct sim_model_exec *exec, int32_t lane, int32_t service,
                     const struct sim_cores *cores, struct schedule_lane *lanes)
{
    if (cores == NULL)
        return;
    int32_t n_cores = (int32_t)((double)lanes[lane].share * cores->n_cores + 0.5);
    lanes[lane].n_gpus = 0;
    for (int32_t i = 0; i < cores->n_groups; i++)
        if (cores->groups[i].n_cores == n_cores)
            sim_model_exec_set_lane(exec, lane, service, &cores->groups[i].perf);
}

/* Makes lanes shares of the engine's devices. */
static void share_device(const struct sim_options *o, const struct sim_engine_spec *own,
                         const struct sim_engine *e, struct schedule_lane *lanes, int32_t n_lanes)
{
    struct sim_model_sharer *sharers = mem_take((size_t)e->n_services * sizeof(*sharers));
    struct sim_model_device device = { .tp = own->n_devices,
                                       .bytes_per_s = own->bytes_per_s,
                                       .services = sharers };
    for (int32_t i = 0; i < n_lanes; i++) {
        device.shares[i] = (double)lanes[i].share;
        lanes[i].n_gpus = (uint8_t)own->n_devices;
    }
    for (int32_t i = 0; i < e->n_services; i++) {
        const struct sim_service *service = &o->services[e->ours[i]];
        sharers[i] = (struct sim_model_sharer){ .weights_bytes = service->size.weights_bytes,
                                                .token_bytes = service->size.kv_bytes_per_token };
        if (service->cores != NULL)
            memcpy(sharers[i].beside, service->cores->beside, sizeof(sharers[i].beside));
    }
    sim_model_exec_set_device(e->exec, &device);
    mem_give(sharers);
    for (int32_t i = 1; i < n_lanes; i++)
        for (int32_t s = 0; s < e->n_services; s++)
            set_lane(e->exec, i, s, o->services[e->ours[s]].cores, lanes);
}

/* Returns the room for a body of every request that an engine may hold, as its allocator cuts
 * it. */
static int64_t body_bytes(const struct sim_options *o)
{
    int64_t n_bytes = 512;
    while (n_bytes < 512 + 4 * (int64_t)o->n_tokens_max)
        n_bytes *= 2;
    return n_bytes * o->n_requests_max;
}

/* Returns the memory that the weights leave. Usually models never leave, so what does not fit there
 * never will. The pool is unbounded where models come and go: on the bus, with re-placement, and
 * where services join and leave. */
static int64_t pool_bytes(const struct sim_options *o, const struct sim_engine *e,
                          int64_t memory_bytes)
{
    int64_t left = memory_bytes;
    for (int32_t i = 0; i < o->n_services; i++) {
        if (o->services[i].joins_ns > 0 || o->services[i].leaves_ns > 0)
            return 0;
        if (set_has(&e->services, i))
            left -= o->services[i].size.weights_bytes + o->services[i].size.activation_bytes;
    }
    return o->faults == NULL && o->replace == NULL && left > 0 ? left : 0;
}

/* Returns the config, without holds if a router must see the same with and without them. */
static struct schedule_config config_of(const struct sim_options *o)
{
    struct schedule_config config;
    schedule_config_init(&config);
    if (o->config != NULL)
        config = *o->config;
    if (o->router != NULL && o->router->sees_tokens)
        config.n_rounds_max = 1;
    return config;
}

static bool has_own_lanes(const struct sim_options *o, const struct sim_engine_spec *own)
{
    return own != NULL && own->n_lanes > 0 && o->policy->n_lanes_wanted > 0;
}

/* Sets the lanes of an engine: from the shares of its services if it has any, else its own lanes,
 * else those of all engines. */
static int32_t lanes_of(const struct sim_options *o, const struct sim_engine_spec *own,
                        struct schedule_lane *lanes)
{
    int32_t shares[LIMIT_SERVICES], n = 0;
    for (int32_t i = 0; i < o->n_lanes; i++)
        lanes[i] = (struct schedule_lane){ .share = 1 };
    if (own != NULL && own->parts != NULL && own->bytes_per_s > 0 && o->policy->uses_shares) {
        for (int32_t i = 0; i < o->n_services; i++)
            shares[i] = set_has(&own->services, i) ? own->parts[i].share_percent : 0;
        n = schedule_lanes_of_shares(shares, o->n_services, lanes);
    }
    const struct schedule_lane *from = has_own_lanes(o, own) ? own->lanes : o->lanes;
    int32_t n_from = has_own_lanes(o, own) ? own->n_lanes : o->n_lanes;
    if (n > 0 || from == NULL)
        return max_i32(n, o->n_lanes);
    for (int32_t i = 0; i < n_from; i++) {
        lanes[i] = from[i];
        if (own != NULL && own->chain != NULL) /* a part of a chain is one GPU */
            lanes[i].n_gpus = 1;
    }
    return n_from;
}

static const struct perf *perf_of(const struct sim_options *o, const struct sim_engine_spec *own,
                                  int32_t service)
{
    return own != NULL && own->perfs != NULL ? &own->perfs[service] : &o->services[service].perf;
}

/* Returns the times of a service on an engine. A head-wise pool has a table entry for each head of
 * each layer of a block, and a step takes the tables of its requests from the host
 * (docs/ALGORITHMS.md 6.11). Kernels that gather small blocks are not charged. */
static struct perf perf_with_tables(const struct sim *sim, const struct sim_engine_spec *own,
                                    int32_t service)
{
    const struct kv_layout *layout = &sim->layouts[service];
    struct perf perf = *perf_of(sim->options, own, service);
    if (sim->options->kv != KV_HEADS || layout->block_tokens <= 0)
        return perf;
    int32_t n_devices = own != NULL ? max_i32(own->n_devices, 1) : 1; /* each takes its heads' */
    double entries = (double)layout->units_per_block / (layout->block_tokens * n_devices);
    int64_t token_ps = (int64_t)(entries * sizeof(uint32_t) * 1e12 / TABLE_BYTES_PER_S + 0.5);
    perf.k1_ps += token_ps;
    perf.k2_ps[0] += token_ps;
    perf.k2_ps[1] += token_ps;
    return perf;
}

static void fill_spec(const struct sim_options *o, const struct sim_engine_spec *own, int32_t index,
                      struct service_spec *spec)
{
    const struct sim_service *service = &o->services[index];
    const struct sim_engine_part *part =
        own != NULL && own->parts != NULL ? &own->parts[index] : NULL;
    snprintf(spec->name, sizeof(spec->name), "%s", service->name);
    spec->kv_bytes_min = service->size.kv_bytes_min;
    spec->kv_bytes_max = service->size.kv_bytes_max;
    spec->share_percent = part != NULL ? part->share_percent : 0;
    spec->kv_quota_bytes = part != NULL ? part->kv_bytes : 0;
}

static uint32_t n_requests_of(const struct sim_options *o, const struct sim_engine_spec *own)
{
    bool has_own = own != NULL && own->n_requests_max > 0;
    return has_own ? (uint32_t)min_i64(own->n_requests_max, o->n_requests_max) : o->n_requests_max;
}

/* Returns whether no engine ever gets other services than its own. Without the bus models stay. The
 * bus loads a service on the engines that list it, and on any engine if none lists it. */
static bool are_fixed(const struct sim_options *o)
{
    struct set placed = { { 0 } };
    for (int32_t e = 0; e < o->n_engines && o->engines != NULL; e++)
        set_add_all(&placed, &o->engines[e].services);
    return o->replace == NULL && (o->faults == NULL || set_count(&placed) == o->n_services);
}

/* Numbers the engine's services. It uses our numbers if other services may come, or if its log is
 * read. */
static void number_services(const struct sim *sim, const struct sim_engine_spec *own,
                            struct sim_engine *e)
{
    const struct sim_options *o = sim->options;
    size_t n = (size_t)o->n_services;
    bool is_fixed = sim->are_fixed && o->logs == NULL && o->trace == NULL;
    e->services = own != NULL ? own->services : set_of_first(o->n_services);
    bool has_none = set_next(&e->services, 0, o->n_services) < 0;
    e->ours = mem_take(2 * n * sizeof(*e->ours));
    e->own = e->ours + n;
    e->n_services = 0;
    for (int32_t i = 0; i < o->n_services; i++) {
        e->own[i] = (uint16_t)e->n_services;
        if (!is_fixed || has_none || set_has(&e->services, i))
            e->ours[e->n_services++] = (uint16_t)i;
    }
}

const struct sim_engine_spec *sim_engines_spec(const struct sim *sim, int32_t index)
{
    const struct sim_options *o = sim->options;
    const struct sim_engine_spec *own = sim_chains_spec(sim->chains, index);
    return own == NULL && o->engines != NULL ? &o->engines[index] : own;
}

/* Returns the batches in flight on each lane: all of a chain's batches together fit into the
 * engine. */
static int32_t deep_of(const struct sim_engine_spec *own, int32_t n_lanes)
{
    int32_t n_deep = own != NULL ? own->n_deep : 0;
    return max_i32(min_i32(n_deep, LIMIT_BATCHES / n_lanes), 1);
}

static void open_exec(const struct sim *sim, const struct sim_engine_spec *own,
                      struct sim_engine *e, const struct perf *perfs,
                      const struct schedule_lane *lanes, int32_t n_lanes)
{
    const struct sim_chain_map *map = sim_chains_map(sim->chains, e->index);
    int32_t n_deep = deep_of(own, n_lanes);
    e->exec = sim_model_exec_open(e->n_services, perfs, n_lanes * n_deep, &sim->clock_ns);
    if (map != NULL)
        sim_model_exec_set_pipes(e->exec, sim_pipes_open(map, lanes, n_lanes, n_deep));
    if (own != NULL && own->role == SIM_DECODE) /* KV has come over the wire already */
        sim_model_exec_set_copies(e->exec, INT64_C(1) << 60);
    else if (sim->options->swap_bytes_per_s > 0)
        sim_model_exec_set_copies(e->exec, sim->options->swap_bytes_per_s);
}

void sim_engines_open_one(struct sim *sim, int32_t index)
{
    const struct sim_options *o = sim->options;
    struct sim_engine *e = &sim->engines[index];
    struct perf *perfs = mem_take((size_t)o->n_services * sizeof(*perfs));
    struct kv_layout *layouts = mem_take((size_t)o->n_services * sizeof(*layouts));
    struct schedule_lane lanes[LIMIT_LANES];
    struct service_spec *specs = mem_take((size_t)o->n_services * sizeof(*specs));
    const struct sim_engine_spec *own = sim_engines_spec(sim, index);
    int64_t memory_bytes = own != NULL ? own->memory_bytes : o->memory_bytes;
    bool sees_tokens = o->router != NULL && o->router->sees_tokens;
    bool says_little = o->faults == NULL && !sees_tokens;
    int32_t n_lanes = lanes_of(o, own, lanes);
    bool has_lanes = o->lanes != NULL || n_lanes > o->n_lanes || has_own_lanes(o, own);
    bool has_shares =
        n_lanes > 1 && has_lanes && own != NULL && own->bytes_per_s > 0 && own->chain == NULL;
    const struct schedule_config config = config_of(o);
    number_services(sim, own, e);
    for (int32_t i = 0; i < e->n_services; i++) {
        perfs[i] = perf_with_tables(sim, own, e->ours[i]);
        layouts[i] = sim->layouts[e->ours[i]];
        fill_spec(o, own, e->ours[i], &specs[i]);
    }
    e->sim = sim;
    e->index = (uint16_t)index;
    e->tells_waits = says_little && o->take != NULL && !o->takes_ends;
    open_exec(sim, own, e, perfs, lanes, n_lanes);
    if (has_shares)
        share_device(o, own, e, lanes, n_lanes);
    bool decodes = own != NULL && own->role == SIM_DECODE;
    e->engine = engine_open(&(struct engine_options){
        /* KV that has arrived waits here until it is needed, and nothing is preempted for it. */
        .swap_bytes = decodes ? own->memory_bytes : o->swap_bytes,
        .swap_bytes_per_s = decodes ? 1 : o->swap_bytes_per_s,
        .id = (uint16_t)index,
        .memory_bytes = memory_bytes,
        .kv_bytes_max = pool_bytes(o, e, memory_bytes),
        .n_requests_max = n_requests_of(o, own),
        .n_tokens_max = o->n_tokens_max,
        .n_lanes = n_lanes,
        .n_deep = deep_of(own, n_lanes),
        .deep_part = own != NULL ? own->deep_part : 0,
        .lanes = has_lanes ? lanes : NULL,
        .n_services = e->n_services,
        .services = specs,
        .layouts = layouts,
        .kv_kind = o->kv,
        .kv_unit_bytes = sim->unit_bytes,
        .is_virtual = true,
        .has_prefix_cache = o->has_prefix_cache,
        .body_bytes = o->has_prefix_cache || o->faults != NULL ? body_bytes(o) : 0,
        .scratch = sim->scratch,
        .policy = o->policy,
        .config = &config,
        .exec = sim_model_exec_face(e->exec),
        .says_little = says_little,
        .tells_waits = e->tells_waits,
        .log = o->logs != NULL ? o->logs[index] : NULL,
        .trace = o->trace,
        .emit = sim->emit,
        .emit_self = e,
    });
    mem_give(specs);
    mem_give(perfs);
    mem_give(layouts);
}

void sim_engines_show(struct sim *sim, int32_t index, const struct set *services)
{
    struct engine_report *report = mem_take(engine_report_bytes(sim->engines[index].n_services));
    struct route_engine *to = &sim->door.engines[index];
    engine_report(sim->engines[index].engine, report, sim->clock_ns);
    to->services = *services;
    to->kv_bytes = report->kv_pool_bytes;
    to->kv_free_bytes = report->kv_free_bytes;
    mem_give(report);
    sim_door_changed(sim, (uint16_t)index);
}

void sim_engines_ready(struct sim *sim, int32_t index, int32_t service)
{
    const struct sim_options *o = sim->options;
    struct sim_engine *e = &sim->engines[index];
    const struct sim_service *s = &o->services[service];
    const struct sim_engine_spec *own = sim_engines_spec(sim, index);
    bool has_perfs = own != NULL && own->perfs != NULL;
    int32_t place = e->own[service];
    const struct perf perf = perf_with_tables(sim, own, service);
    engine_open_service(e->engine, place, &perf, sim->clock_ns);
    if (own != NULL && own->truths != NULL && own->truths[service].step_ps != NULL)
        sim_model_exec_set_truth(e->exec, place, own->truths[service]);
    else if (s->truth != NULL && !has_perfs)
        sim_model_exec_set_truth(e->exec, place, *s->truth);
}

bool sim_engines_load(struct sim *sim, int32_t index, int32_t service)
{
    const struct sim_service *s = &sim->options->services[service];
    const struct sim_engine *e = &sim->engines[index];
    struct engine_room room;
    if (!engine_make_room(e->engine, e->own[service], s->size.weights_bytes,
                          s->size.activation_bytes, sim->clock_ns, &room))
        return false;
    sim_engines_ready(sim, index, service);
    return true;
}

void sim_engines_add(struct sim *sim, int32_t index, int32_t service)
{
    struct sim_engine *e = &sim->engines[index];
    struct service_spec spec = { { 0 } };
    fill_spec(sim->options, sim_engines_spec(sim, index), service, &spec);
    const char *why =
        engine_add_service(e->engine, sim_engine_own(e, sim->options->n_services, service), &spec,
                           &sim->layouts[service], sim->clock_ns);
    CHECK(why == NULL); /* the pool is laid out for all services */
}

int64_t sim_layouts(const struct sim_options *o, struct kv_layout *layouts)
{
    struct kv_shape shapes[LIMIT_SERVICES];
    int64_t unit_bytes = 0;
    double waste;
    for (int32_t i = 0; i < o->n_services; i++)
        shapes[i] = (struct kv_shape){ o->services[i].size.kv_bytes_per_token,
                                       o->services[i].size.n_heads };
    if (o->block_tokens == 0 || o->kv == KV_HEADS)
        return kv_choose(o->kv, o->n_services, shapes, SIM_UNIT_BYTES_MAX, layouts, &waste);
    for (int32_t i = 0; i < o->n_services; i++)
        unit_bytes = max_i64(unit_bytes, shapes[i].bytes_per_token * o->block_tokens);
    for (int32_t i = 0; i < o->n_services; i++) {
        int64_t block_bytes = shapes[i].bytes_per_token * o->block_tokens;
        int64_t n_blocks = min_i64(unit_bytes / block_bytes, KV_UNIT_BLOCKS_MAX);
        layouts[i] = (struct kv_layout){ shapes[i].bytes_per_token, o->block_tokens,
                                         (int32_t)n_blocks, block_bytes };
    }
    return unit_bytes;
}

void sim_engines_open(struct sim *sim, bool (*emit)(void *self, const struct service_event *event,
                                                    const void *payload))
{
    sim->emit = emit;
    sim->layouts = mem_take((size_t)sim->options->n_services * sizeof(*sim->layouts));
    sim->unit_bytes = sim_layouts(sim->options, sim->layouts);
    sim->scratch = engine_scratch_open(sim->options->n_requests_max);
    sim->are_fixed = are_fixed(sim->options);
    sim->engines = mem_take((size_t)sim->options->n_engines * sizeof(*sim->engines));
    for (int32_t i = 0; i < sim->options->n_engines; i++)
        sim_engines_open_one(sim, i);
}

void sim_engines_close_one(struct sim *sim, int32_t index)
{
    engine_close(sim->engines[index].engine);
    sim_model_exec_close(sim->engines[index].exec);
    mem_give(sim->engines[index].ours);
}

static void count_service(struct sim_report *report, const struct service_report *from, int32_t s)
{
    report->n_static_batches += from->n_static_batches;
    report->n_static_seats += from->n_static_seats;
    report->n_static_early += from->n_static_early;
    report->services[s].n_swapped += from->n_swapped;
    report->services[s].n_forced += from->n_forced;
    report->services[s].n_batches += from->n_batches;
    report->services[s].n_batch_rows += from->n_batch_rows;
}

void sim_engines_count_service(struct sim *sim, int32_t index, int32_t service)
{
    const struct sim_engine *e = &sim->engines[index];
    struct engine_report *r = mem_take(engine_report_bytes(e->n_services));
    engine_report(e->engine, r, sim->clock_ns);
    count_service(sim->report, &r->services[sim_engine_own(e, sim->options->n_services, service)],
                  service);
    mem_give(r);
}

/* Adds the counts of engine and executor. */
void sim_engines_count(struct sim *sim, int32_t index)
{
    struct sim_report *report = sim->report;
    struct engine_report *r = mem_take(engine_report_bytes(sim->engines[index].n_services));
    const struct sim_engine *e = &sim->engines[index];
    engine_report(e->engine, r, sim->clock_ns);
    report->n_rounds += r->n_steps;
    for (int32_t i = 0; i < e->n_services; i++)
        count_service(report, &r->services[i], e->ours[i]);
    report->busy_ns += sim_model_exec_busy_ns(e->exec);
    mem_give(r);
}

void sim_engines_close(struct sim *sim)
{
    for (int32_t i = 0; i < sim->options->n_engines; i++)
        sim_engines_close_one(sim, i);
    mem_give(sim->engines);
    mem_give(sim->layouts);
    engine_scratch_close(sim->scratch);
}
