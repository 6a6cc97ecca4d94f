/* The simulation's loop: the earliest of {next arrival, next cancel, next wake of an engine}.
 *
 * At one instant arrivals come first, then cancels, then engines by index. Each engine steps once
 * it has all mail of the instant. A request that an engine returns goes to the gateway (door.c),
 * and from there to an engine with room, at the same instant. */
#include "sim/chains.h"
#include "sim/joins.h"
#include "sim/replan.h"
#include "sim/scaled.h"
#include "sim/state.h"

#include "base/mem.h"
#include "base/time.h"

/* ---- Opening. ---- */

static bool emit(void *self, const struct service_event *event, const void *payload);

void sim_lengths_open(struct sim *sim)
{
    const struct sim_options *o = sim->options;
    struct length_config config;
    length_config_init(&config);
    if (o->predictor_config != NULL)
        config = *o->predictor_config;
    if (o->predictor != NULL)
        length_book_open(&sim->lengths, o->predictor, &config, o->n_services);
}

void sim_clients_open(struct sim *sim)
{
    const struct sim_options *o = sim->options;
    uint64_t n = o->n_live_max > 0 ? o->n_live_max : SIM_LIVE_USUAL;
    n = n < o->workload->n_requests ? n : o->workload->n_requests;
    sim->n_clients_max = n > 0 ? (uint32_t)n : 1;
    CHECK(sim->n_clients_max < 1u << SIM_LIVE_BITS);
    sim->clients = mem_take(sim->n_clients_max * sizeof(*sim->clients));
    sim->requests = mem_take(sim->n_clients_max * sizeof(*sim->requests));
    if (o->take != NULL && !o->takes_ends)
        sim->told = mem_take(sim->n_clients_max * sizeof(*sim->told));
    sim->first_free_client = ROUTE_NONE;
    sim->n_free_clients = sim->n_clients_max;
}

static void next_ask(struct sim *sim)
{
    sim->has_ask = workload_next(&sim->stream, &sim->ask);
}

static void sim_open(struct sim *sim, const struct sim_options *options, struct sim_report *report)
{
    *sim = (struct sim){ .options = options, .report = report };
    sim_report_open(sim);
    sim->chains = sim_chains_open(sim);
    sim_events_init(&sim->events, 1024);
    sim_engines_open(sim, emit);
    sim->joins = sim_joins_open(sim);
    for (int32_t i = 0; i < options->n_engines; i++)
        for (int32_t s = 0; s < options->n_services; s++)
            if (set_has(&sim->engines[i].services, s) && sim_joins_is_first(sim->joins, s))
                CHECK(sim_engines_load(sim, i, s));
    sim_clients_open(sim);
    if (options->has_prefix_cache) {
        sim->asks = mem_take(sim->n_clients_max * sizeof(*sim->asks));
        sim->body = mem_take(request_body_bytes((uint32_t)options->n_tokens_max, 0, 0));
    }
    sim_door_open(sim);
    sim_joins_show(sim);
    sim_scaled_open(sim);
    if (options->replace != NULL)
        sim->replacing = sim_replan_open(sim);
    sim_lengths_open(sim);
    sim_wakes_init(&sim->wakes, (uint32_t)options->n_engines);
    workload_begin(&sim->stream, options->workload);
    next_ask(sim);
}

static void sim_close(struct sim *sim)
{
    sim_engines_close(sim);
    mem_give(sim->clients);
    mem_give(sim->requests);
    mem_give(sim->told);
    mem_give(sim->asks);
    mem_give(sim->body);
    sim_door_close(sim);
    sim_scaled_close(sim);
    sim_replan_close(sim->replacing);
    sim_chains_close(sim->chains);
    sim_joins_close(sim->joins);
    length_book_close(&sim->lengths);
    sim_wakes_free(&sim->wakes);
    sim_events_free(&sim->events);
    workload_end(&sim->stream);
}

/* ---- Clients arrive, receive tokens and leave; door.c sends their requests. ---- */

/* Returns the tokens that it will have in the end, as predicted when it arrived. */
static int64_t wanted_tokens(const struct sim *sim, const struct sim_client *client)
{
    return (int64_t)sim_request(sim, client)->n_prompt + client->n_first_predicted;
}

static void go(struct sim *sim, struct sim_client *client, const struct service_event *event)
{
    sim_report_add(sim, client, event);
    if (sim->replacing != NULL)
        sim_replan_ended(sim->replacing, sim, client, event->why);
    if (sim->chains != NULL)
        sim_chains_saw(sim, sim_request(sim, client)->service, -wanted_tokens(sim, client));
    if (sim->joins != NULL)
        sim_joins_count(sim, sim_request(sim, client)->service, -1);
    client->is_live = false;
    sim->n_over++;
    sim_client_put(sim, (uint32_t)(client - sim->clients));
}

static struct length_query query_of(const struct sim *sim, const struct sim_client *client)
{
    const struct route_request *r = sim_request(sim, client);
    const struct length_predictor *predictor = sim->options->predictor;
    bool is_truth = predictor != NULL && predictor->hint == LENGTH_HINT_TRUTH;
    return (struct length_query){ .id = r->id >> SIM_LIVE_BITS,
                                  .service = r->service,
                                  .n_prompt = r->n_prompt,
                                  .n_generated = r->n_tokens - r->n_prompt,
                                  .hint = is_truth ? r->n_tokens_max - r->n_prompt
                                                   : client->n_first_predicted };
}

void sim_lengths_observe(struct sim *sim, const struct sim_client *client,
                         const struct service_event *event)
{
    struct length_query query = query_of(sim, client);
    int32_t n_output = query.n_generated;
    query.n_generated = 0;
    if (sim->options->predictor != NULL &&
        (event->why == SERVICE_STOPPED || event->why == SERVICE_LENGTH))
        length_book_observe(&sim->lengths, &query, client->n_first_predicted, n_output);
}

/* A request that outran its prediction gets a new one, as at the gateway. */
static void predict_again(struct sim *sim, const struct sim_client *client)
{
    struct route_request *r = sim_request(sim, client);
    if (sim->options->predictor == NULL || r->n_predicted <= 0 ||
        r->n_tokens - r->n_prompt <= r->n_predicted)
        return;
    const struct length_query query = query_of(sim, client);
    r->n_predicted = length_book_predict(&sim->lengths, &query, 0);
}

/* Notes when its tokens of this submission came, and how long after earlier ones. */
static void hear_waits(struct sim_told *told, const struct engine_waits *waits)
{
    if (waits->first_ns == 0)
        return;
    if (told->heard_ns > 0 && told->heard_ns < waits->first_ns)
        told->gap_ns_max = max_i64(told->gap_ns_max, waits->first_ns - told->heard_ns);
    told->gap_ns_max = max_i64(told->gap_ns_max, waits->gap_ns_max);
    told->heard_ns = waits->last_ns;
}

void sim_tell(struct sim *sim, const struct sim_client *client, const struct service_event *event)
{
    struct sim_told *told = sim_told(sim, client);
    if (told == NULL)
        return;
    pads_add(&told->lost, event->lost);
    told->n_batches += event->n_batches;
    told->n_batch_rows += event->n_batch_rows;
    told->n_swapped += event->n_swapped;
    told->n_early += event->n_early;
}

/* Notes tokens of an engine that reports each. */
void sim_tell_tokens(struct sim *sim, const struct sim_client *client, int64_t now_ns)
{
    struct sim_told *told = sim_told(sim, client);
    if (told == NULL)
        return;
    if (told->heard_ns > 0)
        told->gap_ns_max = max_i64(told->gap_ns_max, now_ns - told->heard_ns);
    told->heard_ns = now_ns;
}

static void client_over(struct sim *sim, uint32_t index, const struct service_event *event)
{
    struct sim_client *client = &sim->clients[index];
    sim_lengths_observe(sim, client, event);
    sim_door_ended(sim, index, event->why);
    go(sim, client, event);
}

static bool emit(void *self, const struct service_event *event, const void *payload)
{
    struct sim_engine *e = self;
    struct sim *sim = e->sim;
    uint32_t index = (uint32_t)(event->id & ((1u << SIM_LIVE_BITS) - 1));
    struct sim_client *client = &sim->clients[index];
    struct route_request *r = sim_request(sim, client);
    int64_t now_ns = sim->clock_ns;
    sim_check_event(sim, client, event, now_ns);
    if (e->tells_waits && payload != NULL)
        hear_waits(sim_told(sim, client), payload);
    if (event->what == SERVICE_TOKENS) {
        if (!e->tells_waits)
            sim_tell_tokens(sim, client, now_ns);
        if (r->first_ns == 0)
            r->first_ns = now_ns;
        r->n_tokens += event->n_tokens;
        if (sim->options->router != NULL && sim->options->router->sees_tokens)
            predict_again(sim, client); /* others do it when it comes back: as with holds */
        return true;
    }
    sim_tell(sim, client, event);
    if (event->what == SERVICE_ENDED) {
        client_over(sim, index, event);
        return true;
    }
    if (event->why == SERVICE_NO_SPACE && sim->joins != NULL) { /* no model leaves for it */
        struct service_event end = *event;
        end.what = SERVICE_ENDED;
        end.why = SERVICE_TOO_LARGE;
        client_over(sim, index, &end);
        return true;
    }
    r->epoch++;
    client->served_ns = event->served_ns;
    predict_again(sim, client);
    sim_door_returned(sim, index, event->why);
    return true;
}

/* Returns the predicted output. A simulation's requests have no tokens to look at. */
static int32_t predict(const struct sim *sim, const struct workload_ask *ask)
{
    const struct length_predictor *predictor = sim->options->predictor;
    if (predictor == NULL)
        return ask->n_predicted;
    bool is_truth = predictor->hint == LENGTH_HINT_TRUTH;
    const struct length_query query = { .id = ask->number,
                                        .service = ask->service,
                                        .n_prompt = ask->n_prompt,
                                        .hint = is_truth ? ask->n_output : ask->n_predicted };
    return length_book_predict(&sim->lengths, &query, 0);
}

void sim_request_make(const struct sim *sim, const struct workload_ask *ask, uint32_t index,
                      struct route_request *out)
{
    *out = (struct route_request){
        .id = ask->number << SIM_LIVE_BITS | index,
        .service = ask->service,
        .priority = ask->priority,
        .n_prompt = ask->n_prompt,
        .n_tokens = ask->n_prompt,
        .n_tokens_max = min_i32(ask->n_prompt + ask->n_output, sim->options->n_tokens_max),
        .n_predicted = predict(sim, ask),
        .arrived_ns = ask->arrived_ns,
        .deadline_ns = ask->deadline_ns,
    };
}

void sim_request_whole(const struct sim *sim, uint32_t index, struct request *out)
{
    const struct route_request *r = &sim->requests[index];
    *out = sim->blank;
    out->id = r->id;
    out->service = r->service;
    out->tenant = sim->clients[index].tenant;
    out->priority = r->priority;
    out->n_prompt = r->n_prompt;
    out->n_tokens = r->n_tokens;
    out->n_tokens_max = r->n_tokens_max;
    out->n_predicted = r->n_predicted;
    out->arrived_ns = r->arrived_ns;
    out->deadline_ns = sim->options->has_soft_deadlines ? TIME_NEVER : r->deadline_ns;
    out->served_ns = sim->clients[index].served_ns;
    out->first_ns = r->first_ns;
    out->epoch = r->epoch;
}

uint32_t sim_client_take(struct sim *sim)
{
    CHECK(sim->n_free_clients > 0); /* more live requests than n_live_max, a limit of the run */
    uint32_t index = sim->first_free_client;
    sim->n_free_clients--;
    if (index == ROUTE_NONE)
        return sim->n_used_clients++;
    sim->first_free_client = sim->requests[index].next;
    return index;
}

void sim_client_put(struct sim *sim, uint32_t index)
{
    sim->requests[index].next = sim->first_free_client;
    sim->first_free_client = index;
    sim->n_free_clients++;
}

static uint32_t client_come(struct sim *sim, const struct workload_ask *ask)
{
    uint32_t index = sim_client_take(sim);
    struct sim_client *client = &sim->clients[index];
    *client = (struct sim_client){ .is_live = true, .tenant = ask->tenant };
    if (sim->told != NULL)
        sim->told[index] = (struct sim_told){ 0 };
    if (sim->n_kv != NULL)
        sim->n_kv[index] = 0;
    struct route_request *r = sim_request(sim, client);
    sim_request_make(sim, ask, index, r);
    client->n_first_predicted = r->n_predicted;
    if (sim->asks != NULL)
        sim->asks[index] = *ask;
    if (ask->cancel_ns != TIME_NEVER)
        sim_events_add(&sim->events, &(struct sim_event){ .time_ns = ask->cancel_ns,
                                                          .sequence = ask->number,
                                                          .what = r->id,
                                                          .kind = SIM_CANCEL });
    return index;
}

static void arrive(struct sim *sim, const struct workload_ask *ask)
{
    uint32_t index = client_come(sim, ask);
    if (sim->joins != NULL)
        sim_joins_count(sim, ask->service, 1);
    if (!sim_joins_takes(sim->joins, ask->service)) {
        go(sim, &sim->clients[index],
           &(struct service_event){ .what = SERVICE_ENDED, .why = SERVICE_FAILED });
        return;
    }
    sim_door_arrived(sim, index);
    if (sim->chains != NULL)
        sim_chains_saw(sim, ask->service, wanted_tokens(sim, &sim->clients[index]));
    sim_door_send(sim);
}

static void cancel(struct sim *sim, uint64_t id)
{
    uint32_t index = (uint32_t)(id & ((1u << SIM_LIVE_BITS) - 1));
    struct sim_client *client = &sim->clients[index];
    if (!client->is_live || sim_request(sim, client)->id != id)
        return; /* it was over before its client lost patience */
    client->is_cancelled = true;
    if (client->engine == SIM_NO_ENGINE) {
        struct service_event event = { .what = SERVICE_ENDED, .why = SERVICE_CANCELLED };
        if (!client->is_on_its_way)
            sim_door_gone(sim, index);
        go(sim, client, &event);
        return;
    }
    struct sim_engine *e = &sim->engines[client->engine];
    engine_cancel(e->engine, id, sim_request(sim, client)->epoch, sim->clock_ns);
    sim_wakes_set(&sim->wakes, e->index, sim->clock_ns);
    sim_door_send(sim);
}

/* ---- Time. ---- */

static void step(struct sim *sim, struct sim_engine *e)
{
    sim->report->n_steps++;
    sim_wakes_set(&sim->wakes, e->index, engine_step(e->engine, sim->clock_ns));
    if (sim->replacing != NULL)
        sim_replan_stepped(sim->replacing, sim, e->index);
    if (sim->chains != NULL)
        sim_chains_stepped(sim, e->index);
    if (sim->joins != NULL)
        sim_joins_stepped(sim, e->index);
    if (sim->options->checks_steps)
        sim_check_step(sim, e);
    sim_door_send(sim);
}

/* The next thing happens. False when nothing will. */
static bool advance(struct sim *sim)
{
    struct sim_event next = { .time_ns = TIME_NEVER, .kind = SIM_STEP };
    bool is_moving = false, is_waiting = false;
    int64_t chains_ns = sim_chains_wake_ns(sim->chains, &is_waiting);
    int64_t replace_ns =
        sim->replacing == NULL
            ? TIME_NEVER
            : max_i64(sim->clock_ns, sim_replan_wake_ns(sim->replacing, &is_moving));
    const struct sim_event *event = sim_events_first(&sim->events);
    uint32_t engine = sim_wakes_first(&sim->wakes);
    next.time_ns = sim->wakes.wake_ns[engine];
    if (event != NULL && sim_events_is_before(event, &next))
        next = *event;
    if (sim->has_ask && sim->ask.arrived_ns <= next.time_ns)
        next = (struct sim_event){ .time_ns = sim->ask.arrived_ns, .kind = SIM_ARRIVAL };
    int64_t route_ns = sim_door_wake_ns(sim);
    if (route_ns < next.time_ns)
        next = (struct sim_event){ .time_ns = route_ns, .kind = SIM_ROUTE };
    if (next.time_ns == TIME_NEVER && sim->scaled.n_starting == 0 && !is_moving && !is_waiting) {
        sim->is_cut = sim_chains_is_down(sim->chains); /* requests would wait for it without end */
        return false; /* no new worker would find the requests that others left */
    }
    if (sim->scaled.wake_ns < next.time_ns)
        next = (struct sim_event){ .time_ns = sim->scaled.wake_ns, .kind = SIM_SCALE };
    if (replace_ns < next.time_ns)
        next = (struct sim_event){ .time_ns = replace_ns, .kind = SIM_REPLAN };
    if (chains_ns < next.time_ns)
        next = (struct sim_event){ .time_ns = chains_ns, .kind = SIM_CHAINS };
    if (sim->options->until_ns > 0 && next.time_ns > sim->options->until_ns) {
        sim->clock_ns = sim->options->until_ns;
        sim->is_cut = true;
        return false;
    }
    CHECK(next.time_ns >= sim->clock_ns);
    sim->clock_ns = next.time_ns;
    if (next.kind == SIM_ARRIVAL) {
        arrive(sim, &sim->ask);
        next_ask(sim);
    } else if (next.kind == SIM_CANCEL) {
        sim_events_remove_first(&sim->events);
        cancel(sim, next.what);
    } else if (next.kind == SIM_HANDOVER) {
        sim_events_remove_first(&sim->events);
        sim_door_come(sim, next.what);
    } else if (next.kind == SIM_JOINS) {
        sim_events_remove_first(&sim->events);
        sim_joins_tick(sim, next.what);
        sim_door_send(sim);
    } else if (next.kind == SIM_ROUTE) {
        sim_door_send(sim);
    } else if (next.kind == SIM_SCALE) {
        sim_scaled_tick(sim);
    } else if (next.kind == SIM_REPLAN) {
        sim_replan_tick(sim->replacing, sim);
    } else if (next.kind == SIM_CHAINS) {
        sim_chains_tick(sim);
    } else {
        step(sim, &sim->engines[engine]);
    }
    return true;
}

void sim_run(const struct sim_options *options, struct sim_report *report)
{
    struct sim sim;
    if (options->faults != NULL) {
        sim_bus_run(options, report);
        return;
    }
    sim_open(&sim, options, report);
    while (report->wrong == NULL && sim.n_over < sim.stream.next && advance(&sim)) {}
    if (report->wrong == NULL && !sim.is_cut)
        sim_check_end(&sim);
    for (int32_t i = 0; i < options->n_engines && sim.is_cut; i++)
        engine_stop(sim.engines[i].engine, sim.clock_ns);
    sim_report_unfinished(&sim);
    sim_scaled_end(&sim);
    if (sim.replacing != NULL)
        sim_replan_end(sim.replacing, &sim);
    sim_chains_end(&sim);
    for (int32_t i = 0; i < options->n_engines; i++)
        sim_engines_count(&sim, i);
    report->n_forced = sim_door_n_forced(&sim);
    for (int32_t i = 0; i < options->n_services && options->predictor != NULL; i++)
        report->services[i].lengths = sim.lengths.calibrations[i];
    sim_close(&sim);
}
