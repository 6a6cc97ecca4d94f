/* A gateway's routing: it holds requests whose model is on no engine, and sends the others as the
 * router decides. */
#include "cluster/gateway_route.h"

#include "base/mem.h"
#include "base/time.h"
#include "cluster/message.h"
#include <string.h>

/* ---- Submitting to an engine. ---- */

struct submit { /* the beginning of a submission; the rest of the body follows */
    struct message_submit message;
    struct request_body head;
};
_Static_assert(offsetof(struct submit, head) == sizeof(struct message_submit) &&
                   sizeof(struct submit) ==
                       sizeof(struct message_submit) + sizeof(struct request_body),
               "a message has no gaps");

static struct cluster_link *link_to(struct cluster_gateway *g, int engine)
{
    return &g->links[g->nodes.of_engine[engine]];
}

/* On an engine for prompts, one token: the answer goes on where it is decoded. */
static int32_t lease_of(const struct cluster_gateway *g, const struct route_choice *choice)
{
    const struct route_request *r = g->entries[choice->slot].request;
    bool is_split =
        g->reports[choice->engine].role == ENGINE_PREFILL && g->n_decode_places[r->service] > 0;
    return is_split ? 1 : choice->n_lease;
}

/* Returns false when there is no memory for its body, or the bus is full. */
static bool send_entry(struct cluster_gateway *g, const struct route_choice *choice)
{
    struct gateway_entry *entry = &g->entries[choice->slot];
    struct gateway_body body;
    if (!gateway_state_open_body(entry, &body))
        return false;
    struct submit submit = { .message.request = entry->asked, .head = body.head };
    submit.message.head =
        cluster_message_head(MESSAGE_SUBMIT, g->options.port.address, sizeof submit + body.n_bytes);
    submit.message.head.engine = cluster_nodes_own(&g->nodes, choice->engine);
    submit.message.head.service = g->roster.names[entry->request->service];
    struct request *request = &submit.message.request;
    request->service = 0;
    request->n_tokens = entry->request->n_tokens;
    request->n_predicted = entry->request->n_predicted;
    request->first_ns = entry->request->first_ns;
    request->n_preempted = (uint16_t)min_i32(entry->n_preempted, UINT16_MAX);
    request->epoch = entry->request->epoch + 1;
    request->cohort = choice->cohort;
    request->n_cohort = choice->n_cohort;
    request->n_lease = lease_of(g, choice);
    request->ticket = entry->ticket;
    if (entry->ticket != 0)
        submit.message.place = g->places[entry->kept_engine];
    request->n_host = entry->n_kept;
    submit.message.load = min_i64(max_i64(choice->load, 0), ROUTE_LOAD_MAX);
    cluster_message_request_to_spans(request, g->now_ns);
    bool is_sent = cluster_link_send(link_to(g, choice->engine), &submit, sizeof submit, body.at,
                                     body.n_bytes);
    gateway_state_close_body(&body);
    if (!is_sent)
        return false;
    gateway_state_unhold(g, choice->slot);
    entry->request->epoch++;
    entry->state = GATEWAY_SENT;
    entry->engine = choice->engine;
    return true;
}

bool gateway_route_cancel(struct cluster_gateway *g, const struct gateway_entry *entry)
{
    struct message_head head =
        cluster_message_head(MESSAGE_CANCEL, g->options.port.address, sizeof head);
    head.engine = cluster_nodes_own(&g->nodes, entry->engine);
    head.service = g->roster.names[entry->request->service];
    head.id = entry->request->id;
    head.epoch = entry->request->epoch;
    return cluster_link_send(link_to(g, entry->engine), &head, sizeof head, NULL, 0);
}

/* ---- What the router sees. ---- */

/* Returns the core that has all services of the engine. */
static struct route_core *core_of_engine(struct cluster_gateway *g, int e)
{
    return g->engines[e].is_decoder ? &g->decode_core : &g->core;
}

/* Counts the engine as one place more (1) or less (-1) of its services, if it can be used. Returns
 * whether a service gained its first place of a phase, or lost its last. */
static bool count_places(struct cluster_gateway *g, int e, int32_t change)
{
    const struct set *services = &core_of_engine(g, e)->engines[e].services;
    int n = g->engines[e].is_usable ? g->options.n_services : 0;
    bool is_other = false;
    for (int s = 0; (s = set_next(services, s, n)) >= 0; s++) {
        int32_t *n_decode = &g->n_decode_places[s];
        g->n_places[s] += change;
        *n_decode += g->engines[e].is_decoder ? change : 0;
        is_other |= *n_decode > 0 || g->engines[e].is_decoder;
    }
    return is_other;
}

/* An engine that decodes takes prompts only of services that no other engine has. Answers that
 * begin or go on where none decodes are for the first core. */
static void show_phases(struct cluster_gateway *g)
{
    int n = g->options.n_services;
    for (int e = 0; e < g->nodes.n_engines; e++) {
        struct set own = { { 0 } };
        const struct set *all = &g->decode_core.engines[e].services;
        if (!g->engines[e].is_decoder)
            continue;
        for (int s = 0; (s = set_next(all, s, n)) >= 0; s++)
            if (g->n_places[s] == g->n_decode_places[s])
                set_add(&own, s);
        g->core.engines[e].services = own;
        route_core_changed(&g->core, (uint16_t)e);
    }
    for (int s = 0; s < n; s++) {
        while (g->n_decode_places[s] == 0 && g->decode_core.services[s].n_held > 0) {
            uint32_t at = g->decode_core.services[s].first_held;
            route_core_gone(&g->decode_core, at, SERVICE_DRAINING);
            gateway_route_arrived(g, at);
        }
    }
}

static bool is_for_decoders(const struct cluster_gateway *g, uint32_t at)
{
    const struct route_request *r = &g->requests[at];
    return r->n_tokens > r->n_prompt && g->n_decode_places[r->service] > 0;
}

void gateway_route_arrived(struct cluster_gateway *g, uint32_t at)
{
    struct gateway_entry *entry = &g->entries[at];
    entry->is_decoding = is_for_decoders(g, at);
    route_core_arrived(gateway_state_core(g, entry), at);
}

void gateway_route_returned(struct cluster_gateway *g, uint32_t at, uint8_t why)
{
    struct gateway_entry *entry = &g->entries[at];
    struct route_core *core = gateway_state_core(g, entry);
    if (entry->is_decoding == is_for_decoders(g, at)) {
        route_core_returned(core, at, entry->engine, why);
        return;
    }
    route_core_ended(core, at, entry->engine, SERVICE_LEASE_OVER); /* it goes on elsewhere */
    gateway_route_arrived(g, at);
}

/* Shows what other gateways have on engine e to a core. */
static void show_others(const struct cluster_gateway *g, struct route_engine *engine, int e)
{
    engine->n_others = 0;
    engine->load_others = 0;
    engine->others = g->engines[e].has_others ? &g->others[e * g->options.n_services_max] : NULL;
    for (int s = 0; engine->others != NULL && s < g->options.n_services; s++) {
        engine->n_others += engine->others[s].n;
        engine->load_others += engine->others[s].load;
    }
}

/* Shows the report of engine e to a core. */
static void show_engine(struct cluster_gateway *g, struct route_core *core, int e)
{
    struct route_engine *engine = &core->engines[e];
    const struct engine_report *report = &g->reports[e];
    engine->services = (struct set){ { 0 } };
    engine->n_waiting = engine->n_running = 0;
    for (int s = 0; (s = set_next(&report->listed, s, g->options.n_services)) >= 0; s++) {
        const struct service_report *service = &report->services[s];
        if (service->status == SERVICE_LOADED) {
            if (core == core_of_engine(g, e))
                set_add(&engine->services, s);
            g->perfs[e * g->options.n_services_max + s] = core->services[s].perf = service->perf;
        }
        engine->n_waiting += service->n_waiting;
        engine->n_running += service->n_running;
        if (service->kv_bytes_per_token > 0)
            core->services[s].kv_bytes_per_token = service->kv_bytes_per_token;
        if (service->solo_ns > 0)
            core->services[s].solo_ns = service->solo_ns;
    }
    engine->is_open = g->engines[e].is_usable && g->engines[e].full_until_ns <= g->now_ns;
    engine->n_requests_max = report->n_requests_max;
    engine->kv_bytes = report->kv_pool_bytes;
    engine->kv_free_bytes = report->kv_free_bytes;
    engine->report_ns = report->now_ns;
    engine->perfs = &g->perfs[e * g->options.n_services_max];
    show_others(g, engine, e);
}

void gateway_route_refresh(struct cluster_gateway *g, int e)
{
    const struct engine_report *report = &g->reports[e];
    bool has_phases = count_places(g, e, -1);
    g->engines[e].is_usable = report->is_healthy && !report->is_draining;
    g->engines[e].is_decoder = report->role == ENGINE_DECODE;
    show_engine(g, &g->core, e);
    show_engine(g, &g->decode_core, e);
    has_phases |= count_places(g, e, 1);
    route_core_changed(&g->core, (uint16_t)e);
    route_core_changed(&g->decode_core, (uint16_t)e);
    if (has_phases)
        show_phases(g);
}

/* ---- What waits. ---- */

static bool may_be_one_too_many(const struct gateway_entry *entry)
{
    return !gateway_state_has_begun(entry) && !gateway_state_was_sent(entry);
}

enum { TENANT_ROWS = 256 }; /* tenants with the same remainder count as one */

static int32_t *row_of(int32_t *rows, const struct gateway_entry *entry)
{
    return &rows[entry->asked.tenant % TENANT_ROWS];
}

/* Returns the level above which the tenants have n requests together. */
static int32_t level_of(const int32_t *rows, int32_t n)
{
    int32_t level = 0;
    for (int i = 0; i < TENANT_ROWS; i++)
        level = max_i32(level, rows[i]);
    for (int32_t n_over = 0; level > 0 && n_over < n;) {
        level--;
        for (int i = 0; i < TENANT_ROWS; i++)
            n_over += rows[i] > level;
    }
    return level;
}

/* Ends n of the held requests, or as many as may end: the last ones of the tenants with the
 * most. */
static void end_too_many(struct cluster_gateway *g, int service, int32_t n)
{
    int32_t rows[TENANT_ROWS] = { 0 };
    uint32_t at = g->core.services[service].last_held;
    for (; at != ROUTE_NONE; at = g->requests[at].prev)
        *row_of(rows, &g->entries[at]) += may_be_one_too_many(&g->entries[at]);
    int32_t level = level_of(rows, n);
    at = g->core.services[service].last_held;
    for (uint32_t before; at != ROUTE_NONE && n > 0; at = before) {
        struct gateway_entry *entry = &g->entries[at];
        before = g->requests[at].prev;
        if (!may_be_one_too_many(entry) || *row_of(rows, entry) <= level)
            continue;
        --*row_of(rows, entry);
        n--;
        gateway_state_finish(g, at, SERVICE_NOT_READY,
                             "too many requests wait for this model to load");
    }
}

/* For a service that no engine has: ends requests that waited too long, and surplus ones that were
 * never at an engine. Answers that have begun stay. Returns when the next request will have waited
 * too long. */
static int64_t watch_service(struct cluster_gateway *g, int service)
{
    const struct service_spec *spec = &g->services[service];
    const struct gateway_list *since = &g->since[service];
    if (spec->n_held_max > 0 && since->n > (uint32_t)spec->n_held_max)
        end_too_many(g, service, (int32_t)since->n - spec->n_held_max);
    uint32_t at = spec->hold_ns_max > 0 ? since->first : GATEWAY_NONE;
    while (at != GATEWAY_NONE && g->entries[at].held_ns + spec->hold_ns_max <= g->now_ns) {
        uint32_t behind = g->entries[at].next;
        if (!gateway_state_has_begun(&g->entries[at]))
            gateway_state_finish(g, at, SERVICE_NOT_READY,
                                 "the model did not become ready in time");
        at = behind;
    }
    return at != GATEWAY_NONE ? g->entries[at].held_ns + spec->hold_ns_max : TIME_NEVER;
}

static void say_wanted(struct cluster_gateway *g, int service)
{
    const struct bus_port *port = &g->options.port;
    if (g->wanted_ns[service] + 100 * TIME_NS_PER_MS > g->now_ns)
        return;
    struct message_head head = cluster_message_head(MESSAGE_WANT, port->address, sizeof head);
    head.service = g->roster.names[service];
    bool is_said = false;
    if (g->options.manager != CLUSTER_GATEWAY_NO_MANAGER)
        is_said = port->send(port->self, g->options.manager, &head, sizeof head, NULL, 0);
    else /* each node has its own */
        for (int i = 0; i < g->nodes.n; i++)
            is_said = cluster_link_send(&g->links[i], &head, sizeof head, NULL, 0) || is_said;
    if (is_said)
        g->wanted_ns[service] = g->now_ns;
}

void gateway_route_say_no_space(struct cluster_gateway *g, const struct gateway_entry *entry,
                                bool insists)
{
    const struct bus_port *port = &g->options.port;
    const struct route_request *r = entry->request;
    struct message_space message = {
        .head = cluster_message_head(MESSAGE_SPACE, port->address, sizeof message),
        .n_bytes = (int64_t)r->n_tokens_max * g->core.services[r->service].kv_bytes_per_token,
        .insists = insists,
    };
    message.head.engine = entry->engine;
    message.head.service = g->roster.names[r->service];
    /* If it is lost, it is sent again when the request returns again. */
    if (g->options.manager != CLUSTER_GATEWAY_NO_MANAGER) {
        (void)port->send(port->self, g->options.manager, &message, sizeof message, NULL, 0);
        return;
    }
    message.head.engine = cluster_nodes_own(&g->nodes, entry->engine);
    (void)cluster_link_send(link_to(g, entry->engine), &message, sizeof message, NULL, 0);
}

int64_t gateway_route_watch_held(struct cluster_gateway *g)
{
    int64_t wake = TIME_NEVER;
    uint32_t first;
    while ((first = tree_first(&g->deadlines)) != TREE_NONE &&
           g->requests[first].deadline_ns <= g->now_ns)
        gateway_state_finish(g, first, SERVICE_DEADLINE, NULL);
    if (first != TREE_NONE)
        wake = g->requests[first].deadline_ns;
    int n = g->options.n_services;
    for (int service = 0; (service = set_next(&g->core.held.services_held, service, n)) >= 0;
         service++) {
        if (g->n_places[service] > 0)
            continue;
        wake = min_i64(wake, watch_service(g, service));
        if (g->core.services[service].n_held > 0)
            say_wanted(g, service);
    }
    return wake;
}

/* Returns whether a request waits for its turn, and not for space. Otherwise two models whose
 * requests need each other's space would keep each other. */
static bool waits_for_turn(const struct cluster_gateway *g, int service)
{
    uint32_t at = g->core.services[service].first_held;
    while (at != ROUTE_NONE && g->entries[at].no_space_ns != 0)
        at = g->requests[at].next;
    return at != ROUTE_NONE;
}

void gateway_route_say_kept(struct cluster_gateway *g)
{
    int n = g->options.n_services;
    for (int s = 0; (s = set_next(&g->core.held.services_held, s, n)) >= 0; s++)
        if (g->n_places[s] > 0 && waits_for_turn(g, s))
            say_wanted(g, s);
}

/* ---- Routing. ---- */

static void send_of(struct cluster_gateway *g, struct route_core *core)
{
    const struct route_choice *choice;
    while ((choice = route_core_next(core)) != NULL) {
        if (!send_entry(g, choice)) { /* the rest is sent later, except what ends meanwhile */
            route_core_wait(core, g->now_ns + TIME_NS_PER_MS);
            return;
        }
        route_core_sent(core);
    }
}

void gateway_route_send(struct cluster_gateway *g)
{
    send_of(g, &g->decode_core); /* first, since clients wait for what has begun */
    send_of(g, &g->core);
}

void gateway_route_end_sent(struct cluster_gateway *g, struct gateway_entry *entry)
{
    if (entry->is_cancelled)
        return;
    entry->is_cancelled = true;
    if (gateway_route_cancel(g, entry))
        return;
    entry->wants_cancel = true;
    g->n_cancels_pending++;
}

void gateway_route_repeat_cancels(struct cluster_gateway *g)
{
    for (uint32_t i = 0; i < g->options.n_requests_max && g->n_cancels_pending > 0; i++) {
        struct gateway_entry *entry = &g->entries[i];
        if (entry->wants_cancel && gateway_route_cancel(g, entry)) {
            entry->wants_cancel = false;
            g->n_cancels_pending--;
        }
    }
}
