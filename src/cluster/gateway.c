/* A gateway: keeps, holds, routes and resumes requests. This file has its public functions (a
 * service and a control), its step and its life. */
#include "cluster/gateway.h"

#include "base/mem.h"
#include "base/time.h"
#include "cluster/gateway_demand.h"
#include "cluster/gateway_mail.h"
#include "cluster/gateway_route.h"
#include "cluster/gateway_state.h"
#include "cluster/message.h"
#include <string.h>

static const double OUTPUT_MEAN_USUAL = 128; /* tokens, before the first answer */
static const int64_t STALE_REPORT_NS =
    5 * TIME_NS_PER_S; /* an engine silent for this long is not healthy */

/* ---- The service's face. ---- */

static bool submit(void *self, const struct request *request, const struct request_body *body)
{
    struct cluster_gateway *g = self;
    CHECK(set_has(&g->roster.there, request->service));
    CHECK(request->variant == 0); /* gateways have no adapters, so no name for one */
    uint32_t handle = slots_take(&g->slots);
    if (handle == 0)
        return false;
    struct gateway_entry *entry = &g->entries[slots_index(handle)];
    *entry->request = route_request_of(request);
    *entry = (struct gateway_entry){ .request = entry->request,
                                     .asked = *request,
                                     .n_preempted = (int32_t)request->n_preempted,
                                     .door_epoch = request->epoch };
    entry->asked.served_ns = max_i64(request->served_ns, request->arrived_ns);
    CHECK(map_find(&g->by_id, request->id) == MAP_NONE && map_put(&g->by_id, request->id, handle));
    if (!gateway_state_keep_body(g, entry, body)) {
        map_remove(&g->by_id, request->id);
        *entry = (struct gateway_entry){ .request = entry->request };
        slots_put(&g->slots, handle);
        return false;
    }
    if (entry->request->n_predicted <= 0)
        entry->request->n_predicted = gateway_state_predict(g, entry);
    entry->n_first_predicted = entry->request->n_predicted;
    g->n_entries[request->service]++;
    g->now_ns = max_i64(g->now_ns, request->arrived_ns);
    gateway_demand_arrived(g, entry);
    gateway_state_hold(g, slots_index(handle));
    gateway_route_arrived(g, slots_index(handle));
    return true;
}

static void cancel(void *self, uint64_t id, uint32_t epoch)
{
    struct cluster_gateway *g = self;
    uint32_t handle = gateway_state_find(g, id);
    if (handle == 0)
        return;
    struct gateway_entry *entry = &g->entries[slots_index(handle)];
    if (entry->state == GATEWAY_OVER || entry->is_cancelled || entry->door_epoch != epoch)
        return;
    if (entry->state == GATEWAY_SENT) {
        gateway_route_end_sent(g, entry);
        return;
    }
    entry->is_cancelled = true;
    gateway_state_finish(g, slots_index(handle), SERVICE_CANCELLED, NULL);
}

/* Drops what the last call showed. */
static void drop_shown(struct cluster_gateway *g)
{
    const struct bus_port *port = &g->options.port;
    if (g->is_popping)
        port->pop(port->self, port->address);
    g->is_popping = false;
    if (g->shown != GATEWAY_NONE)
        gateway_state_drop(g, gateway_state_find(g, g->requests[g->shown].id));
    g->shown = GATEWAY_NONE;
}

static bool next(void *self, struct service_event *event, const void **payload)
{
    struct cluster_gateway *g = self;
    drop_shown(g);
    if (g->over.n == 0)
        return gateway_mail_take(g, event, payload);
    uint32_t at = g->over.first;
    struct gateway_entry *entry = &g->entries[at];
    gateway_state_remove(g, &g->over, at);
    gateway_demand_ended(g, entry, entry->why);
    *event =
        (struct service_event){ .id = entry->request->id,
                                .epoch = entry->door_epoch,
                                .what = SERVICE_ENDED,
                                .why = entry->why,
                                .position = entry->request->n_tokens,
                                .n_preempted = entry->n_preempted,
                                .n_bytes = entry->sentence ? (int32_t)strlen(entry->sentence) : 0 };
    *payload = entry->sentence;
    g->shown = at;
    return true;
}

static int wait_fd(void *self)
{
    (void)self;
    return -1; /* the bus is on the caller's thread */
}

struct service cluster_gateway_service(struct cluster_gateway *gateway)
{
    return (struct service){ gateway, submit, cancel, next, wait_fd };
}

/* ---- The control functions: LIST and HEALTH come from the mirror, the manager answers the rest.
 * ---- */

static void refuse_ask(struct cluster_gateway *g, const struct control_ask *ask)
{
    struct control_answer *answer = &g->answers[g->n_answers++];
    *answer = (struct control_answer){ .id = ask->id };
    answer->status = fault_set(&answer->fault, STATUS_UNSUPPORTED,
                               "this gateway has no manager: load and unload models at the nodes, "
                               "or, in a cluster with a store, by `shoal deploy` and `shoal "
                               "undeploy`");
}

static bool control_ask(void *self, const struct control_ask *ask)
{
    struct cluster_gateway *g = self;
    if (ask->kind == CONTROL_LIST || ask->kind == CONTROL_HEALTH) {
        if (g->n_asks == GATEWAY_ASKS_MAX)
            return false;
        g->asks[g->n_asks++] = *ask;
        return true;
    }
    if (g->n_asked + g->n_answers == GATEWAY_ASKS_MAX) /* so that every answer finds its place */
        return false;
    if (g->options.manager == CLUSTER_GATEWAY_NO_MANAGER) {
        refuse_ask(g, ask);
        return true;
    }
    const struct bus_port *port = &g->options.port;
    struct message_ask message = { .kind = ask->kind };
    message.head = cluster_message_head(MESSAGE_ASK, port->address, sizeof message);
    message.head.service = g->roster.names[ask->service];
    message.head.id = ask->id;
    if (!port->send(port->self, g->options.manager, &message, sizeof message, NULL, 0))
        return false;
    if (ask->kind != CONTROL_DRAIN) /* which gets no answer */
        g->asked[g->n_asked++] = ask->id;
    return true;
}

/* One engine of the node is heard of, and so is each that ever was; all of these are healthy. A
 * place for a node may have room for more engines than the node has. *is_draining: one drains. */
static bool is_well(const struct cluster_gateway *g, int node, bool *is_draining)
{
    int first = g->nodes.first_engine[node];
    bool is_well = true, is_there = g->begin_ns + STALE_REPORT_NS >= g->now_ns;
    for (int e = first; e < first + g->nodes.of[node].n_engines; e++) {
        int64_t heard_ns = max_i64(g->reports[e].now_ns, g->begin_ns);
        bool is_fresh = heard_ns + STALE_REPORT_NS >= g->now_ns;
        if (g->reports[e].now_ns == 0)
            continue;
        is_there = true;
        is_well = is_well && is_fresh && g->reports[e].is_healthy;
        *is_draining = *is_draining || g->reports[e].is_draining;
    }
    return is_well && is_there;
}

static bool control_next(void *self, struct control_answer *answer)
{
    struct cluster_gateway *g = self;
    if (g->n_answers > 0) {
        *answer = g->answers[0];
        memmove(g->answers, g->answers + 1, sizeof g->answers[0] * (size_t)--g->n_answers);
    } else if (g->n_asks > 0) {
        *answer = (struct control_answer){ .id = g->asks[0].id, .status = STATUS_OK };
        memmove(g->asks, g->asks + 1, sizeof g->asks[0] * (size_t)--g->n_asks);
    } else {
        return false;
    }
    answer->n_engines = g->nodes.n_engines;
    answer->engines = g->reports;
    answer->is_healthy = answer->is_draining = false;
    for (int n = 0; n < g->nodes.n; n++) { /* while one node is well, requests are answered */
        answer->is_healthy = answer->is_healthy || is_well(g, n, &answer->is_draining);
    }
    return true;
}

static bool control_next_change(void *self, struct service_change *change)
{
    struct cluster_gateway *g = self;
    if (g->n_changes == 0)
        return false;
    *change = g->changes[g->first_change++ % GATEWAY_CHANGES_MAX];
    g->n_changes--;
    return true;
}

struct control cluster_gateway_control(struct cluster_gateway *gateway)
{
    return (struct control){ gateway, control_ask, control_next, control_next_change };
}

/* ---- The step. ---- */

void cluster_gateway_hears_at(struct cluster_gateway *g, int64_t now_ns)
{
    g->heard_ns = now_ns;
}

int64_t cluster_gateway_step(struct cluster_gateway *g, int64_t now_ns)
{
    int64_t wake = TIME_NEVER;
    g->now_ns = g->heard_ns = now_ns;
    if (g->begin_ns == 0)
        g->begin_ns = now_ns;
    for (int e = 0; (e = set_words_next(g->full, e, g->nodes.n_engines)) >= 0; e++) {
        if (g->engines[e].full_until_ns > now_ns) {
            wake = min_i64(wake, g->engines[e].full_until_ns);
            continue;
        }
        g->engines[e].full_until_ns = 0;
        set_words_remove(g->full, e);
        gateway_route_refresh(g, e);
        g->core.is_dirty = g->decode_core.is_dirty = true;
    }
    gateway_mail_watch_links(g, &wake);
    gateway_demand_step(g, &wake);
    gateway_route_repeat_cancels(g);
    wake = min_i64(wake, gateway_state_end_asides(g));
    if (g->core.held.n + g->decode_core.held.n + g->aside.n > 0)
        wake = min_i64(wake, gateway_route_watch_held(g));
    bool has_held = g->core.held.n + g->decode_core.held.n > 0;
    if (has_held)
        gateway_state_age_held(g);
    gateway_route_send(g);
    wake = min_i64(wake, min_i64(g->core.wake_ns, g->decode_core.wake_ns));
    if (has_held) {
        gateway_route_say_kept(g);
        wake = min_i64(wake, now_ns + 100 * TIME_NS_PER_MS); /* WANT is sent again */
    }
    if (g->over.n > 0 || g->n_answers > 0 || g->n_asks > 0)
        return now_ns;
    return wake;
}

/* ---- What is known. ---- */

const struct engine_report *cluster_gateway_reports(const struct cluster_gateway *gateway,
                                                    int *n_engines)
{
    *n_engines = gateway->nodes.n_engines;
    return gateway->reports;
}

bool cluster_gateway_is_dirty(const struct cluster_gateway *gateway)
{
    return gateway->core.is_dirty || gateway->decode_core.is_dirty ||
           gateway->n_cancels_pending > 0 || gateway->over.n > 0;
}

uint32_t cluster_gateway_n_requests(const struct cluster_gateway *gateway)
{
    return gateway->by_id.n;
}

bool cluster_gateway_is_sound(const struct cluster_gateway *g)
{
    uint32_t n_state[GATEWAY_STATES] = { 0 }, n = 0, n_by_service = 0;
    int32_t *n_sent = mem_take(sizeof *n_sent * (size_t)g->nodes.n_engines);
    bool are_sent = true;
    for (uint32_t i = 0; i < g->options.n_requests_max; i++) {
        const struct gateway_entry *entry = &g->entries[i];
        if (!entry->prompt)
            continue;
        n_state[entry->state]++;
        n_sent[entry->engine] += entry->state == GATEWAY_SENT;
    }
    for (int e = 0; e < g->nodes.n_engines; e++)
        are_sent =
            are_sent && n_sent[e] == g->core.engines[e].n_sent + g->decode_core.engines[e].n_sent;
    mem_give(n_sent);
    for (int i = 0; i < GATEWAY_STATES; i++)
        n += n_state[i];
    for (int s = 0; s < g->options.n_services; s++)
        n_by_service += g->n_entries[s];
    uint32_t n_shown = g->shown != GATEWAY_NONE;
    return are_sent && n_state[GATEWAY_HELD] == g->core.held.n + g->decode_core.held.n &&
           n_state[GATEWAY_ASIDE] == g->aside.n && n_state[GATEWAY_OVER] == g->over.n + n_shown &&
           n == g->by_id.n && n_by_service == n;
}

const struct length_book *cluster_gateway_lengths(const struct cluster_gateway *g)
{
    return &g->lengths;
}

int64_t cluster_gateway_n_forced(const struct cluster_gateway *g)
{
    return g->core.n_forced + g->decode_core.n_forced;
}

/* ---- Life. ---- */

static void open_lengths(struct cluster_gateway *g)
{
    const struct length_predictor *predictor = g->options.predictor;
    struct length_config config;
    length_config_init(&config);
    if (g->options.predictor_config)
        config = *g->options.predictor_config;
    length_book_open(&g->lengths, predictor ? predictor : length_find("conditional"), &config,
                     g->options.n_services_max);
}

static void open_core(struct cluster_gateway *g, struct route_core *core, enum route_phase phase)
{
    struct route_config config;
    route_config_init(&config);
    if (g->options.router_config != NULL)
        config = *g->options.router_config;
    if (phase != ROUTE_PHASE_BOTH)
        config.phase = phase;
    route_core_open(core, &(struct route_core_options){ .router = g->options.router,
                                                        .config = &config,
                                                        .n_engines = g->nodes.n_engines,
                                                        .n_services = g->options.n_services_max,
                                                        .n_slots = g->options.n_requests_max,
                                                        .requests = g->requests,
                                                        .clock_ns = &g->now_ns });
}

/* Returns how many engines they have. */
static size_t open_nodes(struct cluster_gateway *g)
{
    cluster_nodes_init(&g->nodes, g->options.nodes, g->options.n_nodes);
    g->options.nodes = g->nodes.of;
    g->links = mem_take(sizeof *g->links * (size_t)g->nodes.n);
    for (int i = 0; i < g->nodes.n; i++)
        g->links[i] =
            (struct cluster_link){ .port = g->options.port, .peer = g->nodes.of[i].address };
    g->engines = mem_take(sizeof *g->engines * (size_t)g->nodes.n_engines);
    g->full = mem_take(sizeof *g->full * (size_t)set_n_words(g->nodes.n_engines));
    return (size_t)g->nodes.n_engines;
}

struct cluster_gateway *cluster_gateway_open(const struct cluster_gateway_options *options)
{
    struct cluster_gateway *g = mem_take(sizeof *g);
    uint32_t n = options->n_requests_max;
    size_t n_services = (size_t)max_i32(options->n_services, options->n_services_max);
    g->options = *options;
    g->options.n_services_max = (int)n_services;
    size_t n_engines = open_nodes(g);
    g->services = mem_take(sizeof *g->services * n_services);
    g->entries = mem_take(sizeof *g->entries * n);
    g->requests = mem_take(sizeof *g->requests * n);
    g->deadline_nodes = mem_take(sizeof *g->deadline_nodes * n);
    for (uint32_t i = 0; i < n; i++)
        g->entries[i].request = &g->requests[i];
    slots_init(&g->slots, n);
    map_init(&g->by_id, n);
    cluster_roster_init(&g->roster);
    tree_init(&g->deadlines);
    g->over = g->aside = (struct gateway_list){ GATEWAY_NONE, GATEWAY_NONE, 0 };
    g->shown = GATEWAY_NONE;
    g->reports = mem_take(sizeof *g->reports * n_engines);
    g->places = mem_take(sizeof *g->places * n_engines);
    g->demand = gateway_demand_open((int)n_services);
    g->perfs = mem_take(sizeof *g->perfs * n_engines * n_services);
    g->others = mem_take(sizeof *g->others * n_engines * n_services);
    open_core(g, &g->core, g->options.has_no_mixed ? ROUTE_PHASE_PREFILL : ROUTE_PHASE_BOTH);
    open_core(g, &g->decode_core, ROUTE_PHASE_DECODE);
    open_lengths(g);
    for (int s = 0; s < options->n_services; s++)
        cluster_gateway_add_service(g, s, &options->services[s]);
    for (int e = 0; e < g->nodes.n_engines; e++) {
        g->reports[e].engine = (uint16_t)e;
        g->reports[e].n_services = options->n_services;
        g->reports[e].is_healthy = true; /* until it reports otherwise, or nothing for too long */
        gateway_route_refresh(g, e);
    }
    return g;
}

void cluster_gateway_add_service(struct cluster_gateway *g, int s, const struct service_spec *spec)
{
    CHECK(s >= 0 && s < g->options.n_services_max);
    cluster_roster_add(&g->roster, s, spec);
    g->options.n_services = max_i32(g->options.n_services, s + 1);
    g->services[s] = *spec;
    g->since[s] = (struct gateway_list){ GATEWAY_NONE, GATEWAY_NONE, 0 };
    g->core.n_services = g->decode_core.n_services = g->options.n_services;
    g->decode_core.services[s] = g->core.services[s] =
        (struct route_service){ .slo = spec->slo,
                                .n_output_mean = OUTPUT_MEAN_USUAL,
                                .first_held = ROUTE_NONE,
                                .last_held = ROUTE_NONE };
    g->wanted_ns[s] = -TIME_NS_PER_S;
    gateway_demand_forget(g, s);
    length_book_forget(&g->lengths, s);
    for (int e = 0; e < g->nodes.n_engines; e++) {
        g->perfs[e * g->options.n_services_max + s] = (struct perf){ 0 };
        g->others[e * g->options.n_services_max + s] = (struct route_others){ 0 };
        g->reports[e].n_services = max_i32(g->reports[e].n_services, s + 1);
    }
}

uint32_t cluster_gateway_take_broken(struct cluster_gateway *g, int service, enum status cause,
                                     const char *why)
{
    return gateway_mail_end_held(g, service, cause, why);
}

uint32_t cluster_gateway_n_requests_of(const struct cluster_gateway *g, int service)
{
    return g->n_entries[service];
}

/* Drops unread changes of the service. */
static void forget_changes(struct cluster_gateway *g, int service)
{
    uint32_t n = g->n_changes;
    g->n_changes = 0;
    for (uint32_t i = 0; i < n; i++) {
        const struct service_change *change =
            &g->changes[(g->first_change + i) % GATEWAY_CHANGES_MAX];
        if (change->service != service)
            g->changes[(g->first_change + g->n_changes++) % GATEWAY_CHANGES_MAX] = *change;
    }
}

bool cluster_gateway_remove_service(struct cluster_gateway *g, int service)
{
    if (g->n_entries[service] > 0)
        return false;
    forget_changes(g, service);
    cluster_roster_remove(&g->roster, service);
    for (int e = 0; e < g->nodes.n_engines; e++) {
        if (!set_has(&g->reports[e].listed, service))
            continue;
        set_remove(&g->reports[e].listed, service);
        g->reports[e].services[service] = (struct service_report){ 0 };
        gateway_route_refresh(g, e);
    }
    g->services[service] = (struct service_spec){ 0 };
    return true;
}

void cluster_gateway_close(struct cluster_gateway *g)
{
    for (uint32_t i = 0; i < g->options.n_requests_max; i++) {
        gateway_state_free_body(&g->entries[i]);
        mem_give(g->entries[i].sentence);
    }
    mem_give(g->entries);
    mem_give(g->services);
    slots_free(&g->slots);
    map_free(&g->by_id);
    cluster_roster_free(&g->roster);
    for (int i = 0; i < g->nodes.n; i++)
        cluster_link_free(&g->links[i]);
    cluster_nodes_free(&g->nodes);
    mem_give(g->links);
    mem_give(g->engines);
    mem_give(g->full);
    length_book_close(&g->lengths);
    mem_give(g->reports);
    mem_give(g->places);
    gateway_demand_close(g->demand);
    mem_give(g->requests);
    mem_give(g->deadline_nodes);
    route_core_close(&g->core);
    route_core_close(&g->decode_core);
    mem_give(g->perfs);
    mem_give(g->others);
    mem_give(g);
}
