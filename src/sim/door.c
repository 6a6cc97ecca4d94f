/* The door of a simulation: what a gateway is in the cluster. It holds requests, shows the router
 * its view, sends what is chosen to the engines, and tells the router what becomes of them. */
#include "sim/state.h"

#include "base/mem.h"
#include "base/time.h"

#define KV_BYTES_PER_S_USUAL INT64_C(25000000000)

static struct route_view door_view(const struct sim *sim, const struct sim_door *door)
{
    return (struct route_view){ .now_ns = sim->clock_ns,
                                .n_engines = sim->options->n_engines,
                                .n_services = sim->options->n_services,
                                .engines = door->engines,
                                .services = door->services,
                                .requests = door->requests,
                                .services_held = &door->held.services_held,
                                .n_held = door->held.n };
}

static void tell(struct sim *sim, struct sim_door *door, const struct route_event *event)
{
    const struct route_view view = door_view(sim, door);
    door->router->saw(door->state, &view, event);
}

/* ---- Opening. ---- */

static void open_services(struct sim *sim, struct sim_door *door)
{
    const struct sim_options *o = sim->options;
    for (int32_t s = 0; s < o->n_services; s++)
        door->services[s] =
            (struct route_service){ .perf = o->services[s].perf,
                                    .kv_bytes_per_token = o->services[s].bytes_per_token,
                                    .slo = o->slo };
}

static void open_engines(struct sim *sim, struct sim_door *door)
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
        tell(sim, door, &(struct route_event){ .what = ROUTE_ENGINE, .engine = (uint16_t)e });
}

static void open_door(struct sim *sim, struct sim_door *door, const struct route_config *config)
{
    const struct sim_options *o = sim->options;
    const struct route_limits limits = { o->n_engines, (int32_t)sim->n_clients_max, o->n_services };
    door->wake_ns = TIME_NEVER;
    door->engines = mem_take(sizeof *door->engines * (size_t)o->n_engines);
    door->services = mem_take(sizeof *door->services * (size_t)o->n_services);
    door->trees = mem_take(sizeof *door->trees * (size_t)o->n_services);
    route_held_init(&door->held, door->requests, door->services, door->nodes, door->trees,
                    o->n_services);
    door->state = mem_take(door->router->state_bytes(&limits));
    door->scratch =
        mem_take(door->router->scratch_bytes ? door->router->scratch_bytes(&limits) : 0);
    open_services(sim, door);
    door->router->open(door->state, &limits, config);
    open_engines(sim, door);
}

/* A request is held at one of the two at most, so they share what is by request. */
static void open_second(struct sim *sim, struct route_config config)
{
    struct sim_door *door = &sim->decode_door;
    *door = (struct sim_door){ .is_second = true,
                               .router = sim->options->decode_router != NULL
                                             ? sim->options->decode_router
                                             : sim->door.router,
                               .requests = sim->door.requests,
                               .nodes = sim->door.nodes,
                               .choices = sim->door.choices,
                               .marks = sim->door.marks };
    config.phase = ROUTE_PHASE_DECODE;
    open_door(sim, door, &config);
}

/* The same for the groups beside the first. */
static void open_groups(struct sim *sim, const struct route_config *config)
{
    if (sim->n_groups > 1)
        sim->more_doors = mem_take((sim->n_groups - 1) * sizeof(*sim->more_doors));
    for (uint32_t k = 0; k + 1 < sim->n_groups; k++) {
        sim->more_doors[k] = (struct sim_door){ .router = sim->door.router,
                                                .requests = sim->door.requests,
                                                .nodes = sim->door.nodes,
                                                .choices = sim->door.choices,
                                                .marks = sim->door.marks };
        open_door(sim, &sim->more_doors[k], config);
    }
}

void sim_door_open(struct sim *sim)
{
    const struct sim_options *o = sim->options;
    struct sim_door *door = &sim->door;
    struct route_config config;
    bool has_mixed = false;
    route_config_init(&config);
    if (o->router_config)
        config = *o->router_config;
    CHECK(o->n_engines < SIM_NO_ENGINE);
    for (int32_t e = 0; e < o->n_engines && o->engines != NULL; e++) {
        sim->has_roles = sim->has_roles || o->engines[e].role != SIM_MIXED;
        has_mixed = has_mixed || o->engines[e].role == SIM_MIXED;
    }
    *door = (struct sim_door){ .router = o->router ? o->router : route_find("least") };
    door->requests = mem_take(sizeof *door->requests * sim->n_clients_max);
    door->nodes = mem_take(sizeof *door->nodes * sim->n_clients_max);
    door->choices = mem_take(sizeof *door->choices * sim->n_clients_max);
    if (o->checks_steps)
        door->marks = mem_take(sim->n_clients_max);
    sim->decode_door.wake_ns = TIME_NEVER;
    sim->n_groups = (uint32_t)max_i32(o->n_router_groups, 1);
    CHECK(sim->n_groups == 1 || (!sim->has_roles && o->replace == NULL));
    if (sim->has_roles) {
        sim->n_kv = mem_take(sim->n_clients_max * sizeof(*sim->n_kv));
        open_second(sim, config);
    }
    if (sim->has_roles && !has_mixed)
        config.phase = ROUTE_PHASE_PREFILL;
    open_door(sim, door, &config);
    open_groups(sim, &config);
}

static void close_door(struct sim_door *door)
{
    mem_give(door->services);
    mem_give(door->trees);
    mem_give(door->engines);
    mem_give(door->state);
    mem_give(door->scratch);
}

void sim_door_close(struct sim *sim)
{
    close_door(&sim->door);
    close_door(&sim->decode_door);
    for (uint32_t k = 0; k + 1 < sim->n_groups; k++)
        close_door(&sim->more_doors[k]);
    mem_give(sim->more_doors);
    mem_give(sim->door.requests);
    mem_give(sim->n_kv);
    mem_give(sim->door.nodes);
    mem_give(sim->door.choices);
    mem_give(sim->door.marks);
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

/* The door that a request came to. */
static struct sim_door *first_door(struct sim *sim, uint32_t index)
{
    return sim_door_group(sim, sim->door.requests[index].id >> SIM_LIVE_BITS);
}

static void hold(struct sim *sim, struct sim_door *door, uint32_t index,
                 const struct route_event *event)
{
    sim->clients[index].engine = SIM_NO_ENGINE;
    route_held_add(&door->held, index);
    tell(sim, door, event);
    sim->report->n_held_max = max_i64(sim->report->n_held_max, sim_door_n_held(sim));
    door->is_dirty = true;
}

/* It is over for the first router: its KV goes on to where it decodes. */
static void hand_over(struct sim *sim, uint32_t index, uint16_t engine)
{
    const struct sim_options *o = sim->options;
    struct sim_client *client = &sim->clients[index];
    const struct route_request *r = &sim->door.requests[index];
    int64_t rate = o->kv_bytes_per_s > 0 ? o->kv_bytes_per_s : KV_BYTES_PER_S_USUAL;
    client->engine = SIM_NO_ENGINE;
    client->is_on_its_way = true;
    sim->n_kv[index] = r->n_tokens - 1; /* the last token's is computed when it is read */
    int64_t n_bytes = sim->n_kv[index] * o->services[r->service].bytes_per_token;
    int64_t ns = (int64_t)((double)n_bytes / (double)rate * 1e9);
    tell(sim, &sim->door,
         &(struct route_event){
             .what = ROUTE_ENDED, .engine = engine, .why = SERVICE_LEASE_OVER, .slot = index });
    sim->door.is_dirty = true;
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
    if (!client->is_live || !client->is_on_its_way || sim->door.requests[index].id != id)
        return; /* its client has left */
    client->is_on_its_way = false;
    client->is_decoding = true;
    hold(sim, &sim->decode_door, index,
         &(struct route_event){ .what = ROUTE_ARRIVED, .slot = index });
    sim_door_send(sim);
}

static void come_back(struct sim *sim, uint32_t index, uint8_t why)
{
    struct sim_client *client = &sim->clients[index];
    uint16_t engine = client->engine;
    struct sim_door *door = sim_door_of(sim, engine);
    door->engines[engine].n_sent--;
    sim_scaled_left(sim, engine);
    sim->report->replace.n_returned += sim->replacing != NULL && why == SERVICE_DRAINING;
    sim->report->chains.n_returned +=
        sim->chains != NULL && (why == SERVICE_DRAINING || why == SERVICE_CRASHED);
    if (why == SERVICE_LEASE_OVER && sim->has_roles &&
        sim->options->engines[engine].role == SIM_PREFILL) {
        hand_over(sim, index, engine);
        return;
    }
    if (sim->n_kv != NULL && why != SERVICE_FULL && why != SERVICE_NO_SPACE)
        sim->n_kv[index] = 0; /* it lay there */
    hold(sim, door, index,
         &(struct route_event){
             .what = ROUTE_RETURNED, .engine = engine, .why = why, .slot = index });
}

void sim_door_hold(struct sim *sim, uint32_t index, enum route_what what, uint8_t why)
{
    if (what == ROUTE_RETURNED) {
        come_back(sim, index, why);
        return;
    }
    sim_scaled_arrived(sim, sim->door.requests[index].service);
    if (sim->replacing != NULL)
        sim_replan_arrived(sim->replacing, sim, index);
    hold(sim, first_door(sim, index), index,
         &(struct route_event){ .what = what, .why = why, .slot = index });
}

void sim_door_changed(struct sim *sim, uint16_t engine)
{
    struct sim_door *door = sim_door_of(sim, engine);
    tell(sim, door, &(struct route_event){ .what = ROUTE_ENGINE, .engine = engine });
    door->is_dirty = true;
}

void sim_door_gone(struct sim *sim, uint32_t index)
{
    struct sim_door *door =
        sim->clients[index].is_decoding ? &sim->decode_door : first_door(sim, index);
    route_held_remove(&door->held, index);
    tell(sim, door,
         &(struct route_event){ .what = ROUTE_GONE, .why = SERVICE_CANCELLED, .slot = index });
    door->is_dirty = true;
}

void sim_door_ended(struct sim *sim, uint32_t index, uint8_t why)
{
    uint16_t engine = sim->clients[index].engine;
    struct sim_door *door = sim_door_of(sim, engine);
    struct route_service *service = &door->services[sim->door.requests[index].service];
    const struct route_request *r = &sim->door.requests[index];
    bool is_first = service->n_output_mean <= 0;
    double rate = is_first ? 1 : 0.05;
    service->n_output_mean += rate * ((double)(r->n_tokens - r->n_prompt) - service->n_output_mean);
    service->n_prompt_mean += rate * ((double)r->n_prompt - service->n_prompt_mean);
    door->engines[engine].n_sent--;
    sim_scaled_left(sim, engine);
    tell(sim, door,
         &(struct route_event){ .what = ROUTE_ENDED, .engine = engine, .why = why, .slot = index });
    door->is_dirty = true;
}

/* All tokens that the request will ever have, drawn as its workload says; NULL without a prefix
 * cache, which alone looks at them. */
static const struct request_body *body_of(struct sim *sim, uint32_t index,
                                          const struct request *request)
{
    struct request_body *body = sim->body;
    if (body == NULL)
        return NULL;
    *body = (struct request_body){ .n_tokens = (uint32_t)request->n_tokens_max };
    sim_workload_tokens(sim->options->workload, &sim->asks[index], 0, request->n_tokens_max,
                        request_body_tokens(body));
    return body;
}

/* What the router chose is on its way. */
static void book(struct sim *sim, struct sim_door *door, const struct route_choice *choice)
{
    route_held_remove(&door->held, choice->slot);
    sim->clients[choice->slot].engine = choice->engine;
    sim->report->n_forced += choice->is_forced;
    door->engines[choice->engine].n_sent++;
}

static void tell_sent(struct sim *sim, struct sim_door *door, const struct route_choice *choice)
{
    tell(
        sim, door,
        &(struct route_event){
            .what = ROUTE_SENT, .engine = choice->engine, .slot = choice->slot, .choice = choice });
}

static void send_choice(struct sim *sim, struct sim_door *door, const struct route_choice *choice)
{
    struct sim_engine *e = &sim->engines[choice->engine];
    struct request request;
    if (sim->fetches) {
        mem_fetch(e->spans, e->n_spans);
        engine_fetch_for(e->engine, sim->door.requests[choice->slot].id);
    }
    sim_request_whole(sim, choice->slot, &request);
    book(sim, door, choice);
    request.service = sim_engine_own(e, sim->options->n_services, request.service);
    request.cohort = choice->cohort;
    request.n_cohort = choice->n_cohort;
    request.n_lease = choice->n_lease;
    if (sim->has_roles && sim->options->engines[choice->engine].role == SIM_PREFILL)
        request.n_lease = 1; /* the first token, and home */
    if (sim->n_kv != NULL)
        request.n_host = sim->n_kv[choice->slot];
    tell_sent(sim, door, choice); /* before it may end: what can never fit ends at once */
    CHECK(engine_submit(e->engine, &request, body_of(sim, choice->slot, &request), sim->clock_ns));
    sim_wakes_set(&sim->wakes, e->index, sim->clock_ns);
}

static void send_all(struct sim *sim, struct sim_door *door)
{
    if (!door->is_dirty && door->wake_ns > sim->clock_ns)
        return;
    door->is_dirty = false;
    door->wake_ns = TIME_NEVER;
    while (door->held.n > 0) {
        const struct route_view view = door_view(sim, door);
        struct route_plan plan = { .choices = door->choices,
                                   .n_choices_max = (int32_t)sim->n_clients_max,
                                   .scratch = door->scratch };
        door->router->plan(door->state, &view, &plan);
        if (door->marks && !sim->report->wrong)
            sim->report->wrong =
                route_check(&view, &plan, door->marks, (int32_t)sim->n_clients_max);
        for (int32_t i = 0; i < plan.n_choices; i++)
            send_choice(sim, door, &door->choices[i]);
        if (plan.n_choices > 0)
            continue;
        door->wake_ns = plan.wake_ns;
        tell(sim, door, &(struct route_event){ .what = ROUTE_ASKED });
        return;
    }
}

void sim_door_send(struct sim *sim)
{
    send_all(sim, &sim->door);
    if (sim->has_roles)
        send_all(sim, &sim->decode_door);
    for (uint32_t k = 0; k + 1 < sim->n_groups; k++)
        send_all(sim, &sim->more_doors[k]);
}
