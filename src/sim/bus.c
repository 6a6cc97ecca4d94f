/* A simulation's loop with the bus: the real gateway, manager and node, with simulated clients, and
 * engines on virtual time.
 *
 * At one instant arrivals come first, then cancels. Then gateway, node and manager take turns until
 * none of them has mail or work. Every token that a client gets is compared with the expected one,
 * so a lost, repeated or mixed-up token is always noticed. */
#include "sim/bus.h"

#include "base/mem.h"
#include "base/time.h"
#include "cluster/message.h"
#include "sim/scaled.h"
#include <stdio.h>
#include <string.h>

enum { ROUNDS_MAX = 1000000 };
#define REPORT_NS (100 * TIME_NS_PER_MS)
/* Without a token or an end for this long, and for several repairs, nothing will ever end: each
 * session with the node ends before its requests get on. */
#define STALL_NS (10 * 60 * TIME_NS_PER_S)

static void wrong(struct sim_bus *bus, const char *what)
{
    if (bus->host.sim.report->wrong == NULL)
        bus->host.sim.report->wrong = what;
}

/* ---- What the engines ask for. ---- */

/* Returns the client of a request, or NULL when its place has another client now. */
static struct sim_bus_client *client_of(struct sim_bus *bus, uint64_t id)
{
    uint32_t index = (uint32_t)(id & ((1u << SIM_LIVE_BITS) - 1));
    const struct sim_client *client = &bus->host.sim.clients[index];
    bool is_same = client->is_live && sim_request(&bus->host.sim, client)->id == id;
    return is_same ? &bus->clients[index] : NULL;
}

static bool fill(void *self, const struct request *request, const struct request_body *from,
                 int32_t *tokens)
{
    const struct sim_bus_client *client = client_of(self, request->id);
    size_t n_known = sizeof(int32_t) * (size_t)request->n_tokens;
    if (client == NULL) { /* a late copy for a client that has left */
        memset(tokens, 0, sizeof(int32_t) * (size_t)request->n_tokens_max);
        memcpy(tokens, request_body_tokens(from), n_known);
        return true;
    }
    memcpy(tokens, client->tokens, sizeof(int32_t) * (size_t)request->n_tokens_max);
    return memcmp(tokens, request_body_tokens(from), n_known) == 0;
}

static void taken(void *self, int32_t engine, const struct request *request)
{
    struct sim_bus *bus = self;
    struct sim_bus_client *client = client_of(bus, request->id);
    if (client == NULL || client->epoch >= request->epoch)
        return;
    client->epoch = request->epoch;
    client->n_slices++;
    bus->host.sim.clients[client - bus->clients].engine = (uint16_t)engine;
}

/* Adds the engine's counts of a finished submission. */
static void ended(void *self, const struct service_event *event)
{
    struct sim_bus *bus = self;
    struct sim_bus_client *own = client_of(bus, event->id);
    if (own == NULL || own->epoch != event->epoch)
        return;
    sim_tell(&bus->host.sim, &bus->host.sim.clients[own - bus->clients], event);
}

/* ---- Opening. ---- */

/* Makes the specs: every service is loaded at start, on the engines that may serve it, and
 * stays. */
static void make_specs(const struct sim_options *o, struct service_spec *specs, int64_t *need_bytes)
{
    for (int32_t s = 0; s < o->n_services; s++) {
        snprintf(specs[s].name, sizeof(specs[s].name), "%s", o->services[s].name);
        specs[s].identity = (uint64_t)s; /* names may be equal */
        specs[s].slo = o->slo;
        specs[s].keep_alive_ns = -1;
        specs[s].is_loaded_at_start = true;
        need_bytes[s] = o->services[s].size.weights_bytes + o->services[s].size.activation_bytes;
        for (int32_t e = 0; e < o->n_engines && o->engines != NULL; e++)
            if (set_has(&o->engines[e].services, s))
                set_add(&specs[s].engines, e);
    }
}

static void open_actors(struct sim_bus *bus)
{
    const struct sim_options *o = bus->host.sim.options;
    const struct route_policy *router = o->router != NULL ? o->router : route_find("least");
    struct service_spec *specs = mem_take((size_t)o->n_services * sizeof(*specs));
    struct cluster_engine *faces = mem_take((size_t)o->n_engines * sizeof(*faces));
    const struct cluster_node_at node = { SIM_BUS_NODE, o->n_engines };
    struct route_config config;
    int64_t need_bytes[LIMIT_SERVICES];
    route_config_init(&config);
    make_specs(o, specs, need_bytes);
    for (int32_t e = 0; e < o->n_engines; e++)
        faces[e] = sim_bus_engine_face(&bus->host.engines[e]);
    bus->gateway = cluster_gateway_open(&(struct cluster_gateway_options){
        .port = sim_channels_port(&bus->channels, SIM_BUS_GATEWAY),
        .nodes = &node,
        .n_nodes = 1,
        .manager = SIM_BUS_MANAGER,
        .seed = o->workload->seed,
        .n_services = o->n_services,
        .services = specs,
        .n_requests_max = bus->host.sim.n_clients_max,
        .router = router,
        .router_config = o->router_config != NULL ? o->router_config : &config,
        .predictor = o->predictor,
        .predictor_config = o->predictor_config });
    bus->manager = cluster_manager_open(&(struct cluster_manager_options){
        .port = sim_channels_port(&bus->channels, SIM_BUS_MANAGER),
        .gateway = SIM_BUS_GATEWAY,
        .nodes = &node,
        .n_nodes = 1,
        .n_services = o->n_services,
        .services = specs,
        .need_bytes = need_bytes });
    bus->node = cluster_node_open(
        &(struct cluster_node_options){ .port = sim_channels_port(&bus->channels, SIM_BUS_NODE),
                                        .manager = SIM_BUS_MANAGER,
                                        .n_engines = o->n_engines,
                                        .n_services = o->n_services,
                                        .services = specs,
                                        .n_requests_max = bus->host.sim.n_clients_max,
                                        .engines = faces,
                                        .report_ns = bus->host.report_ns,
                                        .is_passive = true,
                                        .fits = router->fits });
    bus->door = cluster_gateway_service(bus->gateway);
    mem_give(specs);
    mem_give(faces);
}

static void open_clients(struct sim *sim)
{
    const struct sim_options *o = sim->options;
    sim_clients_open(sim);
    sim->body = mem_take(request_body_bytes((uint32_t)o->n_tokens_max, 0, 0));
}

/* With what a bus keeps beside each. */
static int64_t longest_message(const struct sim_options *o)
{
    size_t body = request_body_bytes((uint32_t)o->n_tokens_max, 0, 0);
    size_t report = cluster_message_report_bytes(o->n_services);
    return (int64_t)(sizeof(struct message_submit) + (body > report ? body : report) + 64);
}

static void open_all(struct sim_bus *bus, const struct sim_options *o, struct sim_report *report)
{
    struct sim *sim = &bus->host.sim;
    CHECK(o->n_engines <= LIMIT_ENGINES);
    *sim = (struct sim){ .options = o, .report = report };
    bus->host.faults = o->faults;
    bus->host.fill = fill;
    bus->host.taken = taken;
    bus->host.ended = ended;
    bus->host.self = bus;
    bus->host.report_ns = o->faults->report_ns > 0 ? o->faults->report_ns : REPORT_NS;
    sim_report_open(sim);
    open_clients(sim);
    bus->clients = mem_take(sim->n_clients_max * sizeof(*bus->clients));
    struct sim_faults faults = *o->faults;
    if (faults.bus_bytes > 0) /* or the longest request would never find room */
        faults.bus_bytes = max_i64(faults.bus_bytes, longest_message(o));
    bus->passes_rest = !o->checks_steps && faults.late_ns == 0 && faults.lost == 0 &&
                       faults.twice == 0 && faults.cut_ns == 0 && faults.drop == 0 &&
                       faults.break_ns == 0;
    sim_channels_open(&bus->channels, &faults, o->workload->seed, &sim->clock_ns, &report->bus);
    sim_channels_link(&bus->channels, SIM_BUS_GATEWAY, SIM_BUS_NODE);
    sim_engines_open(sim, sim_bus_engine_emit);
    bus->host.engines = mem_take((size_t)o->n_engines * sizeof(*bus->host.engines));
    bus->host.own = mem_take(sizeof(*bus->host.own));
    for (int32_t e = 0; e < o->n_engines; e++)
        sim_bus_engine_open(&bus->host, e);
    open_actors(bus);
    sim_lengths_open(sim);
    sim_events_init(&sim->events, 1024);
    workload_begin(&sim->stream, o->workload);
    sim->has_ask = workload_next(&sim->stream, &sim->ask);
}

static void close_all(struct sim_bus *bus)
{
    struct sim *sim = &bus->host.sim;
    cluster_gateway_close(bus->gateway);
    cluster_manager_close(bus->manager);
    cluster_node_close(bus->node);
    for (int32_t e = 0; e < sim->options->n_engines; e++)
        sim_bus_engine_close(&bus->host.engines[e]);
    for (uint32_t i = 0; i < sim->n_clients_max; i++)
        mem_give(bus->clients[i].tokens);
    sim_engines_close(sim);
    sim_channels_close(&bus->channels);
    length_book_close(&sim->lengths);
    sim_events_free(&sim->events);
    workload_end(&sim->stream);
    mem_give(sim->clients);
    mem_give(sim->told);
    mem_give(sim->requests);
    mem_give(sim->body);
    mem_give(bus->host.engines);
    mem_give(bus->host.own);
    mem_give(bus->clients);
}

/* ---- Clients. ---- */

static void go(struct sim_bus *bus, uint32_t index, const struct service_event *event)
{
    struct sim *sim = &bus->host.sim;
    struct sim_client *client = &sim->clients[index];
    sim_request(sim, client)->epoch = (uint32_t)max_i32(bus->clients[index].n_slices - 1, 0);
    sim_lengths_observe(sim, client, event);
    sim_report_add(sim, client, event);
    client->is_live = false;
    mem_give(bus->clients[index].tokens);
    bus->clients[index].tokens = NULL;
    sim->n_over++;
    sim_client_put(sim, index);
}

static void hear(struct sim_bus *bus, const struct service_event *event, const void *payload)
{
    struct sim *sim = &bus->host.sim;
    bus->heard_ns = sim->clock_ns;
    uint32_t index = (uint32_t)(event->id & ((1u << SIM_LIVE_BITS) - 1));
    struct sim_client *client = &sim->clients[index];
    struct route_request *r = sim_request(sim, client);
    sim_check_event(sim, client, event, sim->clock_ns);
    if (sim->report->wrong != NULL)
        return;
    if (event->what != SERVICE_TOKENS) {
        go(bus, index, event);
        return;
    }
    if (memcmp(payload, bus->clients[index].tokens + event->position,
               sizeof(int32_t) * (size_t)event->n_tokens) != 0)
        wrong(bus, "tokens that are not the request's");
    if (r->first_ns == 0)
        r->first_ns = sim->clock_ns;
    sim_tell_tokens(sim, client, sim->clock_ns);
    r->n_tokens += event->n_tokens;
}

static void arrive(struct sim_bus *bus, const struct workload_ask *ask)
{
    struct sim *sim = &bus->host.sim;
    uint32_t index = sim_client_take(sim);
    struct sim_client *client = &sim->clients[index];
    struct route_request *r = sim_request(sim, client);
    *client =
        (struct sim_client){ .is_live = true, .engine = SIM_NO_ENGINE, .tenant = ask->tenant };
    if (sim->told != NULL)
        sim->told[index] = (struct sim_told){ 0 };
    sim_request_make(sim, ask, index, r);
    client->n_first_predicted = r->n_predicted;
    bus->clients[index] = (struct sim_bus_client){ .n_slices = 0 };
    if (r->n_prompt >= r->n_tokens_max) { /* longer than the limit, so engines refuse it too */
        go(bus, index,
           &(struct service_event){ .id = r->id,
                                    .what = SERVICE_ENDED,
                                    .why = SERVICE_FAILED,
                                    .position = r->n_tokens });
        return;
    }
    bus->clients[index].tokens = mem_take(sizeof(int32_t) * (size_t)r->n_tokens_max);
    workload_tokens(sim->options->workload, ask, 0, r->n_tokens_max, bus->clients[index].tokens);
    size_t n_bytes = request_body_bytes((uint32_t)r->n_prompt, 0, 0);
    *sim->body = (struct request_body){
        .n_bytes = (uint32_t)n_bytes,
        .n_tokens = (uint32_t)r->n_prompt,
        .sampling = { .repetition_penalty = 1.0F, .top_p = 1.0F, .n_top_logprobs = -1 }
    };
    memcpy(request_body_tokens(sim->body), bus->clients[index].tokens,
           sizeof(int32_t) * (size_t)r->n_prompt);
    struct request request;
    sim_request_whole(sim, index, &request);
    CHECK(bus->door.submit(bus->door.self, &request, sim->body)); /* it has room for all clients */
    if (ask->cancel_ns != TIME_NEVER)
        sim_events_add(&sim->events, &(struct sim_event){ .time_ns = ask->cancel_ns,
                                                          .sequence = ask->number,
                                                          .what = r->id,
                                                          .kind = SIM_CANCEL });
}

static void cancel(struct sim_bus *bus, uint64_t id)
{
    if (client_of(bus, id) == NULL)
        return; /* it was over before its client lost patience */
    bus->host.sim.clients[id & ((1u << SIM_LIVE_BITS) - 1)].is_cancelled = true;
    bus->door.cancel(bus->door.self, id, 0);
}

/* ---- Time. ---- */

static bool has_mail(struct sim_bus *bus, uint16_t address)
{
    return sim_channels_next_ns(&bus->channels, address) <= bus->host.sim.clock_ns;
}

static bool step_gateway(struct sim_bus *bus)
{
    struct service_event event;
    const void *payload;
    int64_t now_ns = bus->host.sim.clock_ns;
    if (!has_mail(bus, SIM_BUS_GATEWAY) && bus->gateway_ns > now_ns &&
        !cluster_gateway_is_dirty(bus->gateway))
        return false;
    cluster_gateway_hears_at(bus->gateway, now_ns);
    while (bus->host.sim.report->wrong == NULL && bus->door.next(bus->door.self, &event, &payload))
        hear(bus, &event, payload);
    bus->gateway_ns = cluster_gateway_step(bus->gateway, now_ns);
    return true;
}

static bool step_node(struct sim_bus *bus)
{
    if (!has_mail(bus, SIM_BUS_NODE) && bus->node_ns > bus->host.sim.clock_ns)
        return false;
    bus->node_ns = cluster_node_step(bus->node, bus->host.sim.clock_ns);
    return true;
}

static bool step_manager(struct sim_bus *bus)
{
    if (!has_mail(bus, SIM_BUS_MANAGER) && bus->manager_ns > bus->host.sim.clock_ns)
        return false;
    bus->manager_ns = cluster_manager_step(bus->manager, bus->host.sim.clock_ns);
    return true;
}

/* Runs until no part has work left at this instant. */
static void settle(struct sim_bus *bus)
{
    for (int i = 0; bus->host.sim.report->wrong == NULL; i++) {
        bool is_busy = step_gateway(bus);
        is_busy = step_node(bus) || is_busy;
        is_busy = step_manager(bus) || is_busy;
        if (!is_busy)
            return;
        if (i == ROUNDS_MAX)
            wrong(bus, "actors that do not come to rest");
    }
}

/* ---- Rest. ---- */

/* Returns whether no client has a request and no message is in flight. */
static bool rests(struct sim_bus *bus)
{
    bool is_rest = bus->host.sim.n_free_clients == bus->host.sim.n_clients_max &&
                   cluster_gateway_n_requests(bus->gateway) == 0 && bus->gateway_ns == TIME_NEVER &&
                   bus->manager_ns == TIME_NEVER && bus->node_ns > bus->host.sim.clock_ns;
    for (uint16_t end = SIM_BUS_GATEWAY; end <= SIM_BUS_NODE && is_rest; end++)
        is_rest = sim_channels_next_ns(&bus->channels, end) == TIME_NEVER;
    for (int32_t e = 0; e < bus->host.sim.options->n_engines && is_rest; e++)
        is_rest = sim_bus_engine_rests(&bus->host.engines[e]);
    return is_rest;
}

/* Returns the time of the next client event. */
static int64_t next_of_clients(struct sim *sim)
{
    const struct sim_event *cancelled = sim_events_first(&sim->events);
    int64_t at_ns = sim->options->until_ns > 0 ? sim->options->until_ns : TIME_NEVER;
    if (sim->has_ask)
        at_ns = min_i64(at_ns, sim->ask.arrived_ns);
    return cancelled != NULL ? min_i64(at_ns, cancelled->time_ns) : at_ns;
}

/* Skips idle reports. From one rest to the next, a report later, every part reported the same as
 * before, and so it goes on until a client acts. All these reports except the last one are only
 * counted. */
static void pass_rest(struct sim_bus *bus)
{
    struct sim *sim = &bus->host.sim;
    struct sim_faults_report *counts = &sim->report->bus;
    const struct sim_bus_rest last = bus->rest;
    int64_t until_ns = next_of_clients(sim);
    bus->rest = (struct sim_bus_rest){ rests(bus), sim->clock_ns, counts->n_messages,
                                       counts->n_bytes, sim->n_over };
    if (!last.is_one || !bus->rest.is_one || bus->rest.n_over != last.n_over ||
        bus->rest.at_ns - last.at_ns != bus->host.report_ns || until_ns == TIME_NEVER ||
        until_ns <= bus->node_ns)
        return;
    int64_t n = (until_ns - 1 - bus->node_ns) / bus->host.report_ns;
    int64_t n_messages = n * (counts->n_messages - last.n_messages);
    cluster_node_pass(bus->node, n * bus->host.report_ns);
    bus->node_ns += n * bus->host.report_ns;
    bus->channels.n_sent += (uint64_t)n_messages;
    counts->n_messages += n_messages;
    counts->n_bytes += n * (counts->n_bytes - last.n_bytes);
    bus->rest.is_one = false;
}

/* Ends a run in which requests wait and none gets on any more. */
static void check_stall(struct sim_bus *bus)
{
    const struct sim *sim = &bus->host.sim;
    const struct sim_faults *f = &bus->channels.faults;
    int64_t repair_ns = max_i64(f->restart_ns, max_i64(f->break_for_ns, f->cut_for_ns));
    if (sim->n_free_clients == sim->n_clients_max)
        bus->heard_ns = sim->clock_ns; /* no request waits */
    if (sim->clock_ns - bus->heard_ns > STALL_NS + 10 * repair_ns)
        wrong(bus, "faults that let no request get on: each session with the node ends too soon, "
                   "so lower drop, or raise break");
}

/* Does everything of the next instant. Returns false when nothing is left, or when the run ends
 * before. */
static bool advance(struct sim_bus *bus)
{
    struct sim *sim = &bus->host.sim;
    if (bus->passes_rest)
        pass_rest(bus);
    const struct sim_event *cancelled = sim_events_first(&sim->events);
    int64_t at_ns = min_i64(bus->gateway_ns, min_i64(bus->node_ns, bus->manager_ns));
    for (uint16_t end = SIM_BUS_GATEWAY; end <= SIM_BUS_NODE; end++)
        at_ns = min_i64(at_ns, sim_channels_next_ns(&bus->channels, end));
    if (sim->has_ask)
        at_ns = min_i64(at_ns, sim->ask.arrived_ns);
    if (cancelled != NULL)
        at_ns = min_i64(at_ns, cancelled->time_ns);
    if (at_ns == TIME_NEVER)
        return false;
    sim->clock_ns = max_i64(sim->clock_ns, at_ns);
    if (sim->options->until_ns > 0 && sim->clock_ns > sim->options->until_ns) {
        sim->clock_ns = sim->options->until_ns;
        sim->is_cut = true;
        return false;
    }
    while (sim->has_ask && sim->ask.arrived_ns <= sim->clock_ns) {
        arrive(bus, &sim->ask);
        sim->has_ask = workload_next(&sim->stream, &sim->ask);
    }
    while ((cancelled = sim_events_first(&sim->events)) != NULL &&
           cancelled->time_ns <= sim->clock_ns) {
        cancel(bus, cancelled->what);
        sim_events_remove_first(&sim->events);
    }
    settle(bus);
    check_stall(bus);
    return true;
}

/* ---- The end. ---- */

static bool is_quiet(const struct sim_bus *bus)
{
    for (int32_t e = 0; e < bus->host.sim.options->n_engines; e++)
        if (!engine_is_idle(bus->host.sim.engines[e].engine) || bus->host.engines[e].n_changes > 0)
            return false;
    return true;
}

static void check_end(struct sim_bus *bus)
{
    struct sim *sim = &bus->host.sim;
    if (sim->n_over != sim->stream.next || sim->n_free_clients != sim->n_clients_max ||
        cluster_gateway_n_requests(bus->gateway) != 0)
        wrong(bus, "a request that was lost");
    sim->report->n_forced = cluster_gateway_n_forced(bus->gateway);
    if (!cluster_gateway_is_sound(bus->gateway))
        wrong(bus, "a gateway that is not sound");
    for (int32_t e = 0; e < sim->options->n_engines; e++)
        sim_check_step(sim, &sim->engines[e]);
    if (!is_quiet(bus))
        wrong(bus, "an engine that holds requests after the last was over");
}

void sim_bus_run(const struct sim_options *options, struct sim_report *report)
{
    struct sim_bus *bus = mem_take(sizeof(*bus));
    struct sim *sim = &bus->host.sim;
    open_all(bus, options, report);
    while (report->wrong == NULL && (sim->has_ask || sim->n_over < sim->stream.next) &&
           advance(bus)) {}
    int64_t end_ns = sim->clock_ns;
    bus->host.is_over = true;
    while (report->wrong == NULL && !sim->is_cut && !is_quiet(bus) && advance(bus)) {}
    settle(bus);
    if (report->wrong == NULL && !sim->is_cut)
        check_end(bus);
    sim->clock_ns = sim->is_cut ? sim->clock_ns : end_ns;
    sim_report_unfinished(sim);
    sim_scaled_end(sim);
    for (int32_t e = 0; e < options->n_engines; e++)
        sim_engines_count(sim, e);
    for (int32_t s = 0; s < options->n_services && options->predictor != NULL; s++)
        report->services[s].lengths = sim->lengths.calibrations[s];
    close_all(bus);
    mem_give(bus);
}
