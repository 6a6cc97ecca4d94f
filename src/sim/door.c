/* The door of a simulation: what a gateway is in the cluster. It holds requests, shows the router
 * its view, sends what is chosen to the engines, and tells the router what becomes of them. */
#include "sim/state.h"

#include "base/mem.h"
#include "base/time.h"

static struct route_view door_view(const struct sim *sim)
{
    const struct sim_door *door = &sim->door;
    return (struct route_view){ .now_ns = sim->clock_ns,
                                .n_engines = sim->options->n_engines,
                                .n_services = sim->options->n_services,
                                .engines = door->engines,
                                .services = door->services,
                                .requests = door->requests,
                                .services_held = door->held.services_held,
                                .n_held = door->held.n };
}

static void tell(struct sim *sim, const struct route_event *event)
{
    const struct route_view view = door_view(sim);
    sim->door.router->saw(sim->door.state, &view, event);
}

/* ---- Opening. ---- */

static void open_services(struct sim *sim)
{
    const struct sim_options *o = sim->options;
    for (int32_t s = 0; s < o->n_services; s++)
        sim->door.services[s] =
            (struct route_service){ .perf = o->services[s].perf,
                                    .kv_bytes_per_token = o->services[s].bytes_per_token,
                                    .slo = o->slo };
}

static void open_engines(struct sim *sim)
{
    const struct sim_options *o = sim->options;
    struct engine_report *report = mem_take(sizeof *report);
    uint64_t all = o->n_services == 64 ? UINT64_MAX : (UINT64_C(1) << o->n_services) - 1;
    for (int32_t e = 0; e < o->n_engines; e++) {
        engine_report(sim->engines[e].engine, report, 0);
        sim->door.engines[e] =
            (struct route_engine){ .is_open = true,
                                   .services = sim->engines[e].services & all,
                                   .n_requests_max = (int32_t)o->n_requests_max,
                                   .kv_bytes = report->kv_pool_bytes,
                                   .kv_free_bytes = report->kv_free_bytes,
                                   .perfs = o->engines ? o->engines[e].perfs : NULL };
    }
    mem_give(report);
    for (int32_t e = 0; e < o->n_engines; e++)
        tell(sim, &(struct route_event){ .what = ROUTE_ENGINE, .engine = (uint16_t)e });
}

void sim_door_open(struct sim *sim)
{
    const struct sim_options *o = sim->options;
    struct sim_door *door = &sim->door;
    struct route_config config;
    const struct route_limits limits = { o->n_engines, (int32_t)sim->n_clients_max, o->n_services };
    route_config_init(&config);
    if (o->router_config)
        config = *o->router_config;
    CHECK(o->n_engines < SIM_NO_ENGINE);
    *door = (struct sim_door){ .router = o->router ? o->router : route_find("least"),
                               .wake_ns = TIME_NEVER };
    door->requests = mem_take(sizeof *door->requests * sim->n_clients_max);
    door->nodes = mem_take(sizeof *door->nodes * sim->n_clients_max);
    door->choices = mem_take(sizeof *door->choices * sim->n_clients_max);
    door->engines = mem_take(sizeof *door->engines * (size_t)o->n_engines);
    if (o->checks_steps)
        door->marks = mem_take(sim->n_clients_max);
    route_held_init(&door->held, door->requests, door->services, door->nodes);
    door->state = mem_take(door->router->state_bytes(&limits));
    door->scratch =
        mem_take(door->router->scratch_bytes ? door->router->scratch_bytes(&limits) : 0);
    open_services(sim);
    door->router->open(door->state, &limits, &config);
    open_engines(sim);
}

void sim_door_close(struct sim *sim)
{
    mem_give(sim->door.requests);
    mem_give(sim->door.nodes);
    mem_give(sim->door.choices);
    mem_give(sim->door.engines);
    mem_give(sim->door.marks);
    mem_give(sim->door.state);
    mem_give(sim->door.scratch);
}

/* ---- Coming and going. ---- */

void sim_door_hold(struct sim *sim, uint32_t index, enum route_what what, uint8_t why)
{
    struct sim_client *client = &sim->clients[index];
    uint16_t engine = what == ROUTE_RETURNED ? client->engine : 0;
    if (what == ROUTE_RETURNED) {
        sim->door.engines[engine].n_sent--;
        sim_scaled_left(sim, engine);
        sim->report->replace.n_returned += sim->replacing != NULL && why == SERVICE_DRAINING;
    } else {
        sim_scaled_arrived(sim, sim->door.requests[index].service);
        if (sim->replacing != NULL)
            sim_replan_arrived(sim->replacing, sim, index);
    }
    client->engine = SIM_NO_ENGINE;
    route_held_add(&sim->door.held, index);
    tell(sim, &(struct route_event){ .what = what, .engine = engine, .why = why, .slot = index });
    sim->report->n_held_max = max_i64(sim->report->n_held_max, sim->door.held.n);
    sim->door.is_dirty = true;
}

void sim_door_changed(struct sim *sim, uint16_t engine)
{
    tell(sim, &(struct route_event){ .what = ROUTE_ENGINE, .engine = engine });
    sim->door.is_dirty = true;
}

void sim_door_gone(struct sim *sim, uint32_t index)
{
    route_held_remove(&sim->door.held, index);
    tell(sim, &(struct route_event){ .what = ROUTE_GONE, .why = SERVICE_CANCELLED, .slot = index });
    sim->door.is_dirty = true;
}

void sim_door_ended(struct sim *sim, uint32_t index, uint8_t why)
{
    uint16_t engine = sim->clients[index].engine;
    struct route_service *service = &sim->door.services[sim->door.requests[index].service];
    const struct request *r = &sim->door.requests[index];
    bool is_first = service->n_output_mean <= 0;
    double rate = is_first ? 1 : 0.05;
    service->n_output_mean += rate * ((double)(r->n_tokens - r->n_prompt) - service->n_output_mean);
    service->n_prompt_mean += rate * ((double)r->n_prompt - service->n_prompt_mean);
    sim->door.engines[engine].n_sent--;
    sim_scaled_left(sim, engine);
    tell(sim,
         &(struct route_event){ .what = ROUTE_ENDED, .engine = engine, .why = why, .slot = index });
    sim->door.is_dirty = true;
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

static void send_choice(struct sim *sim, const struct route_choice *choice)
{
    struct sim_engine *e = &sim->engines[choice->engine];
    struct request request = sim->door.requests[choice->slot];
    if (sim->fetches)
        mem_fetch(e->spans, e->n_spans);
    route_held_remove(&sim->door.held, choice->slot);
    request.cohort = choice->cohort;
    request.n_cohort = choice->n_cohort;
    request.n_lease = choice->n_lease;
    if (sim->options->has_soft_deadlines)
        request.deadline_ns = TIME_NEVER;
    sim->clients[choice->slot].engine = choice->engine;
    sim->report->n_forced += choice->is_forced;
    sim->door.engines[choice->engine].n_sent++;
    CHECK(engine_submit(e->engine, &request, body_of(sim, choice->slot, &request), sim->clock_ns));
    sim_wakes_set(&sim->wakes, e->index, sim->clock_ns);
    tell(sim, &(struct route_event){ .what = ROUTE_SENT,
                                     .engine = choice->engine,
                                     .slot = choice->slot,
                                     .choice = choice });
}

void sim_door_send(struct sim *sim)
{
    struct sim_door *door = &sim->door;
    if (!door->is_dirty && door->wake_ns > sim->clock_ns)
        return;
    door->is_dirty = false;
    door->wake_ns = TIME_NEVER;
    while (door->held.n > 0) {
        const struct route_view view = door_view(sim);
        struct route_plan plan = { .choices = door->choices,
                                   .n_choices_max = (int32_t)sim->n_clients_max,
                                   .scratch = door->scratch };
        door->router->plan(door->state, &view, &plan);
        if (door->marks && !sim->report->wrong)
            sim->report->wrong =
                route_check(&view, &plan, door->marks, (int32_t)sim->n_clients_max);
        for (int32_t i = 0; i < plan.n_choices; i++)
            send_choice(sim, &door->choices[i]);
        if (plan.n_choices > 0)
            continue;
        door->wake_ns = plan.wake_ns;
        tell(sim, &(struct route_event){ .what = ROUTE_ASKED });
        return;
    }
}
