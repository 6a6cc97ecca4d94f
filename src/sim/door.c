/* The simulated gateway, without a bus. The routing core (route/core.h) is the real gateway's. This
 * file adds what only the simulator has: engines that answer at once, groups of engines with a
 * router each, and the handover from prefill engines to decode engines. */
#include "sim/replan.h"
#include "sim/scaled.h"
#include "sim/state.h"

#include "base/mem.h"
#include "base/time.h"

#define KV_BYTES_PER_S_USUAL INT64_C(25000000000)

/* ---- Opening. ---- */

static void show_engines(struct sim *sim, struct route_core *door)
{
    const struct sim_options *o = sim->options;
    struct engine_report *report = mem_take(engine_report_bytes(o->n_services));
    for (int32_t e = 0; e < o->n_engines; e++) {
        const struct sim_engine_spec *spec = sim_engines_spec(sim, e);
        engine_report(sim->engines[e].engine, report, 0);
        door->engines[e] = (struct route_engine){ .is_open = sim_door_of(sim, (uint32_t)e) == door,
                                                  .services = sim->engines[e].services,
                                                  .n_requests_max = (int32_t)o->n_requests_max,
                                                  .kv_bytes = report->kv_pool_bytes,
                                                  .kv_free_bytes = report->kv_free_bytes,
                                                  .perfs = spec != NULL ? spec->perfs : NULL };
    }
    mem_give(report);
    for (int32_t e = 0; e < o->n_engines; e++)
        route_core_changed(door, (uint16_t)e);
}

/* All routing cores share the memory of the first one, since a request waits in at most one of
 * them. */
static void open_door(struct sim *sim, struct route_core *door, const struct route_policy *router,
                      const struct route_config *config)
{
    const struct sim_options *o = sim->options;
    route_core_open(door,
                    &(struct route_core_options){ .router = router,
                                                  .config = config,
                                                  .n_engines = o->n_engines,
                                                  .n_services = o->n_services,
                                                  .n_slots = sim->n_clients_max,
                                                  .requests = sim->requests,
                                                  .clock_ns = &sim->clock_ns,
                                                  .shares = door != &sim->door ? &sim->door : NULL,
                                                  .checks = o->checks_steps });
    for (int32_t s = 0; s < o->n_services; s++)
        door->services[s] =
            (struct route_service){ .perf = o->services[s].perf,
                                    .kv_bytes_per_token = o->services[s].size.kv_bytes_per_token,
                                    .slo = o->slo };
    show_engines(sim, door);
}

static void open_decode_door(struct sim *sim, struct route_config config)
{
    const struct route_policy *own = sim->options->decode_router;
    config.phase = ROUTE_PHASE_DECODE;
    open_door(sim, &sim->decode_door, own != NULL ? own : sim->door.router, &config);
}

static void open_groups(struct sim *sim, const struct route_config *config)
{
    if (sim->n_groups > 1)
        sim->more_doors = mem_take((sim->n_groups - 1) * sizeof(*sim->more_doors));
    for (uint32_t k = 0; k + 1 < sim->n_groups; k++)
        open_door(sim, &sim->more_doors[k], sim->door.router, config);
}

void sim_door_open(struct sim *sim)
{
    const struct sim_options *o = sim->options;
    struct route_config config, first;
    bool has_mixed = false;
    route_config_init(&config);
    if (o->router_config)
        config = *o->router_config;
    CHECK(o->n_engines < SIM_NO_ENGINE);
    for (int32_t e = 0; e < o->n_engines && o->engines != NULL; e++) {
        sim->has_roles = sim->has_roles || o->engines[e].role != SIM_MIXED;
        has_mixed = has_mixed || o->engines[e].role == SIM_MIXED;
    }
    sim->n_groups = (uint32_t)max_i32(o->n_router_groups, 1);
    CHECK(sim->n_groups == 1 || (!sim->has_roles && o->replace == NULL));
    first = config;
    if (sim->has_roles && !has_mixed)
        first.phase = ROUTE_PHASE_PREFILL;
    open_door(sim, &sim->door, o->router ? o->router : route_find("least"), &first);
    sim->decode_door.wake_ns = TIME_NEVER;
    if (sim->has_roles) {
        sim->n_kv = mem_take(sim->n_clients_max * sizeof(*sim->n_kv));
        open_decode_door(sim, config);
    }
    open_groups(sim, &first);
}

void sim_door_close(struct sim *sim)
{
    if (sim->has_roles)
        route_core_close(&sim->decode_door);
    for (uint32_t k = 0; k + 1 < sim->n_groups; k++)
        route_core_close(&sim->more_doors[k]);
    route_core_close(&sim->door);
    mem_give(sim->more_doors);
    mem_give(sim->n_kv);
}

/* ---- Coming and going. ---- */

int64_t sim_door_n_held(struct sim *sim)
{
    int64_t n = (int64_t)sim->door.held.n + (int64_t)sim->decode_door.held.n;
    for (uint32_t k = 0; k + 1 < sim->n_groups; k++)
        n += (int64_t)sim->more_doors[k].held.n;
    return n;
}

int64_t sim_door_wake_ns(struct sim *sim)
{
    int64_t wake_ns = min_i64(sim->door.wake_ns, sim->decode_door.wake_ns);
    for (uint32_t k = 0; k + 1 < sim->n_groups; k++)
        wake_ns = min_i64(wake_ns, sim->more_doors[k].wake_ns);
    return wake_ns;
}

/* Returns the routing core that a request arrived at. */
static struct route_core *first_door(struct sim *sim, uint32_t index)
{
    return sim_door_group(sim, sim->requests[index].id >> SIM_LIVE_BITS);
}

static void note_held(struct sim *sim, uint32_t index)
{
    sim->clients[index].engine = SIM_NO_ENGINE;
    sim->report->n_held_max = max_i64(sim->report->n_held_max, sim_door_n_held(sim));
}

/* Ends the request for the first router, and sends its KV on to where it decodes. */
static void hand_over(struct sim *sim, uint32_t index, uint16_t engine)
{
    const struct sim_options *o = sim->options;
    struct sim_client *client = &sim->clients[index];
    const struct route_request *r = &sim->requests[index];
    int64_t rate = o->kv_bytes_per_s > 0 ? o->kv_bytes_per_s : KV_BYTES_PER_S_USUAL;
    client->engine = SIM_NO_ENGINE;
    client->is_on_its_way = true;
    sim->n_kv[index] = r->n_tokens - 1; /* the last token's KV is computed when the token is read */
    int64_t n_bytes = sim->n_kv[index] * o->services[r->service].size.kv_bytes_per_token;
    int64_t ns = (int64_t)((double)n_bytes / (double)rate * 1e9);
    route_core_ended(&sim->door, index, engine, SERVICE_LEASE_OVER);
    sim->report->n_handed++;
    sim->report->handed_bytes += n_bytes;
    sim_events_add(&sim->events, &(struct sim_event){ .time_ns = sim->clock_ns + ns,
                                                      .sequence = r->id,
                                                      .what = r->id,
                                                      .kind = SIM_HANDOVER });
}

void sim_door_come(struct sim *sim, uint64_t id)
{
    uint32_t index = (uint32_t)(id & ((1u << SIM_LIVE_BITS) - 1));
    struct sim_client *client = &sim->clients[index];
    if (!client->is_live || !client->is_on_its_way || sim->requests[index].id != id)
        return; /* its client has left */
    client->is_on_its_way = false;
    client->is_decoding = true;
    route_core_arrived(&sim->decode_door, index);
    note_held(sim, index);
    sim_door_send(sim);
}

void sim_door_arrived(struct sim *sim, uint32_t index)
{
    sim_scaled_arrived(sim, sim->requests[index].service);
    if (sim->replacing != NULL)
        sim_replan_arrived(sim->replacing, sim, index);
    route_core_arrived(first_door(sim, index), index);
    note_held(sim, index);
}

void sim_door_returned(struct sim *sim, uint32_t index, uint8_t why)
{
    uint16_t engine = sim->clients[index].engine;
    sim->report->replace.n_returned += sim->replacing != NULL && why == SERVICE_DRAINING;
    sim->report->chains.n_returned +=
        sim->chains != NULL && (why == SERVICE_DRAINING || why == SERVICE_CRASHED);
    if (why == SERVICE_LEASE_OVER && sim->has_roles &&
        sim->options->engines[engine].role == SIM_PREFILL) {
        hand_over(sim, index, engine);
    } else {
        if (sim->n_kv != NULL && why != SERVICE_FULL && why != SERVICE_NO_SPACE)
            sim->n_kv[index] = 0; /* it lay there */
        route_core_returned(sim_door_of(sim, engine), index, engine, why);
        note_held(sim, index);
    }
    sim_scaled_left(sim, engine);
}

void sim_door_changed(struct sim *sim, uint16_t engine)
{
    struct route_core *door = sim_door_of(sim, engine);
    route_core_changed(door, engine);
    door->is_dirty = true;
}

void sim_door_gone(struct sim *sim, uint32_t index)
{
    struct route_core *door =
        sim->clients[index].is_decoding ? &sim->decode_door : first_door(sim, index);
    route_core_gone(door, index, SERVICE_CANCELLED);
    door->is_dirty = true;
}

void sim_door_ended(struct sim *sim, uint32_t index, uint8_t why)
{
    uint16_t engine = sim->clients[index].engine;
    route_core_ended(sim_door_of(sim, engine), index, engine, why);
    sim_scaled_left(sim, engine);
}

/* ---- Sending. ---- */

/* Returns all tokens that the request will ever have, drawn as its workload defines. NULL without a
 * prefix cache, since only that uses them. */
static const struct request_body *body_of(struct sim *sim, uint32_t index,
                                          const struct request *request)
{
    struct request_body *body = sim->body;
    if (body == NULL)
        return NULL;
    *body = (struct request_body){ .n_tokens = (uint32_t)request->n_tokens_max };
    workload_tokens(sim->options->workload, &sim->asks[index], 0, request->n_tokens_max,
                    request_body_tokens(body));
    return body;
}

/* The router counts the request before its engine gets it, because one that can never fit ends at
 * once. */
static void send_choice(struct sim *sim, struct route_core *door, const struct route_choice *choice)
{
    struct sim_engine *e = &sim->engines[choice->engine];
    uint32_t index = choice->slot;
    struct request request;
    sim_request_whole(sim, index, &request);
    sim->clients[index].engine = choice->engine;
    request.service = sim_engine_own(e, sim->options->n_services, request.service);
    request.cohort = choice->cohort;
    request.n_cohort = choice->n_cohort;
    request.n_lease = choice->n_lease;
    if (sim->has_roles && sim->options->engines[choice->engine].role == SIM_PREFILL)
        request.n_lease = 1; /* one token, then it returns */
    if (sim->n_kv != NULL)
        request.n_host = sim->n_kv[index];
    route_core_sent(door);
    CHECK(engine_submit(e->engine, &request, body_of(sim, index, &request), sim->clock_ns));
    sim_wakes_set(&sim->wakes, e->index, sim->clock_ns);
}

static void send_all(struct sim *sim, struct route_core *door)
{
    const struct route_choice *choice;
    while ((choice = route_core_next(door)) != NULL)
        send_choice(sim, door, choice);
    if (sim->report->wrong == NULL)
        sim->report->wrong = door->wrong;
}

void sim_door_send(struct sim *sim)
{
    send_all(sim, &sim->door);
    if (sim->has_roles)
        send_all(sim, &sim->decode_door);
    for (uint32_t k = 0; k + 1 < sim->n_groups; k++)
        send_all(sim, &sim->more_doors[k]);
}

int64_t sim_door_n_forced(const struct sim *sim)
{
    int64_t n = sim->door.n_forced + sim->decode_door.n_forced;
    for (uint32_t k = 0; k + 1 < sim->n_groups; k++)
        n += sim->more_doors[k].n_forced;
    return n;
}
