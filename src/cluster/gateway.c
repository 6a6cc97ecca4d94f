/* A gateway: keeps, holds, routes and resumes requests. */
#include "cluster/gateway.h"

#include "base/log.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/slots.h"
#include "base/time.h"
#include "cluster/message.h"
#include <stdio.h>
#include <string.h>

enum { ASKS_MAX = 64, NONE = UINT32_MAX };
static const int64_t FULL_BACKOFF_NS = 2 * TIME_NS_PER_MS; /* after RETURNED(FULL) */
static const int64_t STALE_REPORT_NS =
    5 * TIME_NS_PER_S; /* an engine silent for so long is not healthy */

enum entry_state { ENTRY_HELD, ENTRY_SENT, ENTRY_OVER };
struct entry {
    enum entry_state state;
    struct request request;
    struct request_body
        *body;       /* as submitted, with the tokens that came since appended on demand */
    int32_t *tokens; /* (n_tokens known) prompt and generated */
    int32_t n_tokens_room;
    uint16_t engine;
    uint32_t door_epoch; /* of the submission to us: our own submissions count on from it */
    bool wants_cancel;   /* CANCEL could not be sent yet */
    uint8_t why;         /* OVER: why it ended here */
    int64_t held_ns;     /* since when */
    uint32_t next, prev; /* the list of its state */
    char *sentence;      /* OVER: what to tell */
};
struct list {
    uint32_t first, last, n;
};
struct cluster_gateway {
    struct cluster_gateway_options options;
    struct service_spec *services;
    struct entry *entries;
    struct slots slots;
    struct map by_id;
    struct list held, over; /* SENT entries are in no list */
    struct engine_report *reports;
    struct route_engine engines[LIMIT_ENGINES];
    double n_output_mean[LIMIT_SERVICES];
    int64_t wanted_ns[LIMIT_SERVICES]; /* when WANT was last said */
    void *router_state;
    const struct request **held_view; /* scratch of a routing round */
    uint32_t *held_slots;
    struct route_choice *choices;
    struct control_ask asks[ASKS_MAX]; /* LIST and HEALTH, answered from the mirror */
    int n_asks, n_asks_out;
    struct control_answer answers[ASKS_MAX]; /* that came from the manager */
    int n_answers;
    bool is_popping; /* a bus message is shown to the caller: pop it at the next call */
    uint32_t shown;  /* an OVER entry shown to the caller: freed at the next call */
    bool is_dirty;   /* something changed that routing should look at */
    int64_t now_ns;
    int64_t n_cancels_pending;
};

/* ---- Lists of entries. ---- */

static void list_append(struct cluster_gateway *g, struct list *list, uint32_t at)
{
    struct entry *entry = &g->entries[at];
    entry->next = NONE;
    entry->prev = list->last;
    if (list->last == NONE)
        list->first = at;
    else
        g->entries[list->last].next = at;
    list->last = at;
    list->n++;
}

static void list_remove(struct cluster_gateway *g, struct list *list, uint32_t at)
{
    struct entry *entry = &g->entries[at];
    if (entry->prev == NONE)
        list->first = entry->next;
    else
        g->entries[entry->prev].next = entry->next;
    if (entry->next == NONE)
        list->last = entry->prev;
    else
        g->entries[entry->next].prev = entry->prev;
    list->n--;
}

static bool is_after(const struct request *a, const struct request *b)
{
    return a->priority != b->priority ? a->priority > b->priority : a->arrived_ns > b->arrived_ns;
}

/* Held requests keep the order (priority, arrival), also those that come back: walks from the end,
 * where new ones belong. */
static void hold(struct cluster_gateway *g, uint32_t at)
{
    struct entry *entry = &g->entries[at];
    uint32_t before = g->held.last;
    entry->state = ENTRY_HELD;
    entry->held_ns = g->now_ns;
    while (before != NONE && is_after(&g->entries[before].request, &entry->request))
        before = g->entries[before].prev;
    entry->prev = before;
    entry->next = before == NONE ? g->held.first : g->entries[before].next;
    if (entry->next == NONE)
        g->held.last = at;
    else
        g->entries[entry->next].prev = at;
    if (before == NONE)
        g->held.first = at;
    else
        g->entries[before].next = at;
    g->held.n++;
    g->is_dirty = true;
}

static uint32_t handle_of(const struct cluster_gateway *g, uint64_t id)
{
    uint32_t handle = map_find(&g->by_id, id);
    return handle == MAP_NONE ? 0 : handle;
}

static void free_entry(struct cluster_gateway *g, uint32_t handle)
{
    struct entry *entry = &g->entries[slots_index(handle)];
    map_remove(&g->by_id, entry->request.id);
    mem_give(entry->body);
    mem_give(entry->tokens);
    mem_give(entry->sentence);
    *entry = (struct entry){ 0 };
    slots_put(&g->slots, handle);
}

/* Ends a held request here: the caller hears of it through next. */
static void finish_here(struct cluster_gateway *g, uint32_t at, enum service_why why,
                        const char *sentence)
{
    struct entry *entry = &g->entries[at];
    CHECK(entry->state == ENTRY_HELD);
    list_remove(g, &g->held, at);
    entry->state = ENTRY_OVER;
    entry->why = (uint8_t)why;
    entry->sentence = sentence ? mem_copy_text(sentence) : NULL;
    list_append(g, &g->over, at);
}

/* ---- Submitting to an engine. ---- */

/* The body with every token known so far; the stops and biases stand behind the tokens, so it is
 * laid out anew when it grew. */
static void refresh_body(struct entry *entry)
{
    struct request_body *old = entry->body;
    uint32_t n_tokens = (uint32_t)entry->request.n_tokens;
    if (old->n_tokens == n_tokens)
        return;
    size_t n_bytes = request_body_bytes(n_tokens, old->n_stop_ids, old->n_biases);
    struct request_body *body = mem_take(n_bytes);
    *body = *old;
    body->n_tokens = n_tokens;
    body->n_bytes = (uint32_t)n_bytes;
    memcpy(request_body_tokens(body), entry->tokens, sizeof(int32_t) * n_tokens);
    memcpy(request_body_stop_ids(body), request_body_stop_ids(old),
           sizeof(int32_t) * old->n_stop_ids);
    memcpy(request_body_biases(body), request_body_biases(old),
           sizeof(struct logit_bias) * old->n_biases);
    mem_give(old);
    entry->body = body;
}

static bool send_entry(struct cluster_gateway *g, uint32_t at, const struct route_choice *choice)
{
    struct entry *entry = &g->entries[at];
    struct message_submit message;
    refresh_body(entry);
    message.head = cluster_message_head(MESSAGE_SUBMIT, g->options.port.address,
                                        sizeof message + entry->body->n_bytes);
    message.head.engine = choice->engine;
    message.head.service = entry->request.service;
    message.request = entry->request;
    message.request.epoch++;
    message.request.cohort = choice->cohort;
    message.request.n_cohort = choice->n_cohort;
    message.request.n_lease = choice->n_lease;
    const struct bus_port *port = &g->options.port;
    if (!port->send(port->self, g->options.node, &message, sizeof message, entry->body,
                    entry->body->n_bytes))
        return false;
    list_remove(g, &g->held, at);
    entry->request.epoch++;
    entry->state = ENTRY_SENT;
    entry->engine = choice->engine;
    g->engines[choice->engine].n_sent++;
    return true;
}

static bool send_cancel(struct cluster_gateway *g, const struct entry *entry)
{
    const struct bus_port *port = &g->options.port;
    struct message_head head = cluster_message_head(MESSAGE_CANCEL, port->address, sizeof head);
    head.engine = entry->engine;
    head.service = entry->request.service;
    head.id = entry->request.id;
    return port->send(port->self, g->options.node, &head, sizeof head, NULL, 0);
}

/* ---- Events from engines. ---- */

static void append_tokens(struct entry *entry, const int32_t *tokens, int32_t position, int32_t n)
{
    int32_t need = position + n;
    if (need > entry->n_tokens_room) {
        int32_t room = max_i32(need, 2 * entry->n_tokens_room);
        entry->tokens = mem_grow(entry->tokens, sizeof(int32_t) * (size_t)entry->n_tokens_room,
                                 sizeof(int32_t) * (size_t)room);
        entry->n_tokens_room = room;
    }
    memcpy(entry->tokens + position, tokens, sizeof(int32_t) * (size_t)n);
    entry->request.n_tokens = need;
}

static void note_sent_over(struct cluster_gateway *g, struct entry *entry)
{
    struct route_engine *engine = &g->engines[entry->engine];
    CHECK(engine->n_sent > 0);
    engine->n_sent--;
    g->n_cancels_pending -= entry->wants_cancel;
    entry->wants_cancel = false;
    g->is_dirty = true;
}

/* RETURNED: the request comes home and waits for a place again; a cancelled one ends here. */
static void take_return(struct cluster_gateway *g, uint32_t handle,
                        const struct service_event *event)
{
    struct entry *entry = &g->entries[slots_index(handle)];
    bool is_cancelled = entry->request.flags & REQUEST_CANCELLED;
    note_sent_over(g, entry);
    if (event->why == SERVICE_FULL)
        g->engines[entry->engine].full_until_ns = g->now_ns + FULL_BACKOFF_NS;
    entry->request.n_preempted =
        (uint32_t)max_i32((int32_t)entry->request.n_preempted, event->n_preempted);
    hold(g, slots_index(handle));
    if (is_cancelled)
        finish_here(g, slots_index(handle), SERVICE_CANCELLED, NULL);
}

/* True when the event is one for the client. Late and repeated ones are dropped: position and epoch
 * tell. */
static bool take_event(struct cluster_gateway *g, const struct message_event *m,
                       struct service_event *out)
{
    uint32_t handle = handle_of(g, m->event.id);
    const struct service_event *event = &m->event;
    if (handle == 0)
        return false;
    struct entry *entry = &g->entries[slots_index(handle)];
    if (entry->state != ENTRY_SENT || event->epoch != entry->request.epoch)
        return false;
    *out = *event;
    out->epoch = entry->door_epoch;
    switch (event->what) {
    case SERVICE_TOKENS:
        if (event->position != entry->request.n_tokens)
            return false;
        append_tokens(entry, (const int32_t *)(const void *)(m + 1), event->position,
                      event->n_tokens);
        return true;
    case SERVICE_RETURNED:
        take_return(g, handle, event);
        return false;
    default: {
        double *mean = &g->n_output_mean[entry->request.service];
        *mean += 0.05 * ((double)(entry->request.n_tokens - entry->request.n_prompt) - *mean);
        note_sent_over(g, entry);
        free_entry(g, handle);
        return true;
    }
    }
}

static void take_report(struct cluster_gateway *g, const struct message_report *m)
{
    struct route_engine *engine = &g->engines[m->head.engine];
    struct engine_report *report = &g->reports[m->head.engine];
    *report = m->report;
    engine->services = 0;
    for (int i = 0; i < report->n_services; i++) {
        if (report->services[i].status == SERVICE_LOADED)
            engine->services |= UINT64_C(1) << i;
    }
    engine->is_open = report->is_healthy && !report->is_draining;
    engine->n_requests_max = report->n_requests_max;
    g->is_dirty = true;
}

/* A model could not be loaded: what is held for it, and has no other place to go, ends with the
 * sentence. */
static void take_change(struct cluster_gateway *g, const struct message_change *m)
{
    if (m->status != SERVICE_BROKEN)
        return;
    for (uint32_t at = g->held.first, next; at != NONE; at = next) {
        next = g->entries[at].next;
        if (g->entries[at].request.service == m->head.service)
            finish_here(g, at, m->cause == STATUS_TOO_LARGE ? SERVICE_TOO_LARGE : SERVICE_FAILED,
                        m->fault.text);
    }
}

static void take_answer(struct cluster_gateway *g, const struct message_answer *m)
{
    if (g->n_answers == ASKS_MAX)
        return;
    g->answers[g->n_answers++] = (struct control_answer){ .id = m->head.id,
                                                          .status = (enum status)m->status,
                                                          .fault = m->fault };
}

/* Takes mail until an event for the client shows up; its payload stays on the bus until the next
 * call. */
static bool take_mail(struct cluster_gateway *g, struct service_event *event, const void **payload)
{
    const struct bus_port *port = &g->options.port;
    const void *message;
    size_t n_bytes;
    while (port->peek(port->self, port->address, &message, &n_bytes)) {
        const struct message_head *head = message;
        bool is_news = false;
        if (!cluster_message_is_valid(message, n_bytes, g->options.n_engines,
                                      g->options.n_services)) {
            log_line(LOG_WARN, "gateway", "dropped a malformed message of %zu bytes", n_bytes);
        } else if (head->kind == MESSAGE_EVENT) {
            is_news = take_event(g, message, event);
            *payload = (const struct message_event *)message + 1;
        } else if (head->kind == MESSAGE_REPORT) {
            take_report(g, message);
        } else if (head->kind == MESSAGE_CHANGE) {
            take_change(g, message);
        } else if (head->kind == MESSAGE_ANSWER) {
            take_answer(g, message);
        }
        g->is_popping = is_news;
        if (is_news)
            return true;
        port->pop(port->self, port->address);
    }
    return false;
}

/* ---- The service's face. ---- */

static bool submit(void *self, const struct request *request, const struct request_body *body)
{
    struct cluster_gateway *g = self;
    uint32_t handle = slots_take(&g->slots);
    if (handle == 0)
        return false;
    struct entry *entry = &g->entries[slots_index(handle)];
    *entry = (struct entry){ .request = *request,
                             .door_epoch = request->epoch,
                             .n_tokens_room = request->n_tokens + 64 };
    CHECK(map_find(&g->by_id, request->id) == MAP_NONE && map_put(&g->by_id, request->id, handle));
    entry->body = mem_take(body->n_bytes);
    memcpy(entry->body, body, body->n_bytes);
    entry->tokens = mem_take(sizeof(int32_t) * (size_t)entry->n_tokens_room);
    memcpy(entry->tokens, request_body_tokens(body), sizeof(int32_t) * body->n_tokens);
    if (entry->request.n_predicted <= 0)
        entry->request.n_predicted = max_i32(1, (int32_t)g->n_output_mean[request->service]);
    g->now_ns = max_i64(g->now_ns, request->arrived_ns);
    hold(g, slots_index(handle));
    return true;
}

static void cancel(void *self, uint64_t id)
{
    struct cluster_gateway *g = self;
    uint32_t handle = handle_of(g, id);
    if (handle == 0)
        return;
    struct entry *entry = &g->entries[slots_index(handle)];
    if (entry->state == ENTRY_OVER || (entry->request.flags & REQUEST_CANCELLED))
        return;
    entry->request.flags |= REQUEST_CANCELLED;
    if (entry->state == ENTRY_HELD) {
        finish_here(g, slots_index(handle), SERVICE_CANCELLED, NULL);
    } else if (!send_cancel(g, entry)) {
        entry->wants_cancel = true;
        g->n_cancels_pending++;
    }
}

/* Drops what the last call showed. */
static void drop_shown(struct cluster_gateway *g)
{
    const struct bus_port *port = &g->options.port;
    if (g->is_popping)
        port->pop(port->self, port->address);
    g->is_popping = false;
    if (g->shown != NONE)
        free_entry(g, handle_of(g, g->entries[g->shown].request.id));
    g->shown = NONE;
}

static bool next(void *self, struct service_event *event, const void **payload)
{
    struct cluster_gateway *g = self;
    drop_shown(g);
    if (g->over.n == 0)
        return take_mail(g, event, payload);
    uint32_t at = g->over.first;
    struct entry *entry = &g->entries[at];
    list_remove(g, &g->over, at);
    *event =
        (struct service_event){ .id = entry->request.id,
                                .epoch = entry->door_epoch,
                                .what = SERVICE_ENDED,
                                .why = entry->why,
                                .position = entry->request.n_tokens,
                                .n_preempted = (int32_t)entry->request.n_preempted,
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

/* ---- The control's face: LIST and HEALTH from the mirror, the rest asked of the manager. ---- */

static bool control_ask(void *self, const struct control_ask *ask)
{
    struct cluster_gateway *g = self;
    if (ask->kind == CONTROL_LIST || ask->kind == CONTROL_HEALTH) {
        if (g->n_asks == ASKS_MAX)
            return false;
        g->asks[g->n_asks++] = *ask;
        return true;
    }
    const struct bus_port *port = &g->options.port;
    struct message_ask message = { .kind = ask->kind };
    message.head = cluster_message_head(MESSAGE_ASK, port->address, sizeof message);
    message.head.service = ask->service;
    message.head.id = ask->id;
    return port->send(port->self, g->options.manager, &message, sizeof message, NULL, 0);
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
    answer->n_engines = g->options.n_engines;
    answer->engines = g->reports;
    answer->is_healthy = true;
    for (int e = 0; e < g->options.n_engines; e++) {
        bool is_fresh = g->reports[e].now_ns + STALE_REPORT_NS >= g->now_ns;
        answer->is_healthy = answer->is_healthy && is_fresh && g->reports[e].is_healthy;
        answer->is_draining = answer->is_draining || g->reports[e].is_draining;
    }
    return true;
}

struct control cluster_gateway_control(struct cluster_gateway *gateway)
{
    return (struct control){ gateway, control_ask, control_next };
}

/* ---- Routing. ---- */

static bool is_somewhere(const struct cluster_gateway *g, int service)
{
    for (int e = 0; e < g->options.n_engines; e++) {
        if (g->engines[e].is_open && (g->engines[e].services >> service & 1))
            return true;
    }
    return false;
}

/* Ends what waited too long, and says which models are wanted. Returns when to look again. */
static int64_t watch_held(struct cluster_gateway *g)
{
    int64_t wake = TIME_NEVER;
    int32_t n_held[LIMIT_SERVICES] = { 0 };
    bool is_wanted[LIMIT_SERVICES] = { false };
    for (uint32_t at = g->held.first, next; at != NONE; at = next) {
        struct entry *entry = &g->entries[at];
        int service = entry->request.service;
        const struct service_spec *spec = &g->services[service];
        next = entry->next;
        if (entry->request.deadline_ns <= g->now_ns) {
            finish_here(g, at, SERVICE_DEADLINE, NULL);
            continue;
        }
        wake = min_i64(wake, entry->request.deadline_ns);
        if (is_somewhere(g, service))
            continue;
        n_held[service]++;
        bool is_late = spec->hold_ns_max > 0 && entry->held_ns + spec->hold_ns_max <= g->now_ns;
        bool is_over = spec->n_held_max > 0 && n_held[service] > spec->n_held_max;
        if (is_late || is_over) {
            finish_here(g, at, SERVICE_NOT_READY,
                        is_late ? "the model did not become ready in time"
                                : "too many requests wait for this model to load");
            continue;
        }
        if (spec->hold_ns_max > 0)
            wake = min_i64(wake, entry->held_ns + spec->hold_ns_max);
        is_wanted[service] = true;
    }
    for (int s = 0; s < g->options.n_services; s++) {
        if (!is_wanted[s] || g->wanted_ns[s] + 100 * TIME_NS_PER_MS > g->now_ns)
            continue;
        const struct bus_port *port = &g->options.port;
        struct message_head head = cluster_message_head(MESSAGE_WANT, port->address, sizeof head);
        head.service = (uint16_t)s;
        if (port->send(port->self, g->options.manager, &head, sizeof head, NULL, 0))
            g->wanted_ns[s] = g->now_ns;
    }
    return wake;
}

/* Shows the router what is held (as much as its scratch holds) and sends what it chose. */
static int64_t route(struct cluster_gateway *g)
{
    struct route_view view = { .now_ns = g->now_ns,
                               .n_engines = g->options.n_engines,
                               .engines = g->engines,
                               .held = g->held_view };
    for (uint32_t at = g->held.first; at != NONE; at = g->entries[at].next) {
        g->held_view[view.n_held] = &g->entries[at].request;
        g->held_slots[view.n_held++] = at;
    }
    struct route_plan plan = { .choices = g->choices,
                               .n_choices_max = (int32_t)g->options.n_requests_max };
    g->options.router->plan(g->router_state, &view, &plan);
    for (int32_t i = 0; i < plan.n_choices; i++) {
        uint32_t at = g->held_slots[plan.choices[i].index];
        if (!send_entry(g, at, &plan.choices[i]))
            return g->now_ns + TIME_NS_PER_MS; /* the bus is full */
        const struct route_event event = { ROUTE_SENT, plan.choices[i].engine,
                                           &g->entries[at].request };
        g->options.router->saw(g->router_state, &view, &event);
    }
    return plan.wake_ns;
}

static void repeat_cancels(struct cluster_gateway *g)
{
    for (uint32_t i = 0; i < g->options.n_requests_max && g->n_cancels_pending > 0; i++) {
        struct entry *entry = &g->entries[i];
        if (entry->wants_cancel && send_cancel(g, entry)) {
            entry->wants_cancel = false;
            g->n_cancels_pending--;
        }
    }
}

int64_t cluster_gateway_step(struct cluster_gateway *g, int64_t now_ns)
{
    int64_t wake = TIME_NEVER;
    g->now_ns = now_ns;
    repeat_cancels(g);
    if (g->held.n > 0) {
        wake = watch_held(g);
        if (g->is_dirty || wake <= now_ns)
            wake = min_i64(wake, route(g));
        else
            wake = min_i64(wake, now_ns + 100 * TIME_NS_PER_MS);
    }
    g->is_dirty = false;
    if (g->over.n > 0 || g->n_answers > 0 || g->n_asks > 0)
        return now_ns;
    return wake;
}

const struct engine_report *cluster_gateway_reports(const struct cluster_gateway *gateway,
                                                    int *n_engines)
{
    *n_engines = gateway->options.n_engines;
    return gateway->reports;
}

bool cluster_gateway_is_dirty(const struct cluster_gateway *gateway)
{
    return gateway->is_dirty || gateway->n_cancels_pending > 0 || gateway->over.n > 0;
}

uint32_t cluster_gateway_n_requests(const struct cluster_gateway *gateway)
{
    return gateway->by_id.n;
}

bool cluster_gateway_is_sound(const struct cluster_gateway *g)
{
    uint32_t n_state[3] = { 0 };
    int32_t n_sent[LIMIT_ENGINES] = { 0 };
    for (uint32_t i = 0; i < g->options.n_requests_max; i++) {
        const struct entry *entry = &g->entries[i];
        if (!entry->body)
            continue;
        n_state[entry->state]++;
        n_sent[entry->engine] += entry->state == ENTRY_SENT;
    }
    for (int e = 0; e < g->options.n_engines; e++) {
        if (n_sent[e] != g->engines[e].n_sent)
            return false;
    }
    uint32_t n_shown = g->shown != NONE;
    return n_state[ENTRY_HELD] == g->held.n && n_state[ENTRY_OVER] == g->over.n + n_shown &&
           n_state[0] + n_state[1] + n_state[2] == g->by_id.n;
}

/* ---- Life. ---- */

struct cluster_gateway *cluster_gateway_open(const struct cluster_gateway_options *options)
{
    struct cluster_gateway *g = mem_take(sizeof *g);
    uint32_t n = options->n_requests_max;
    g->options = *options;
    g->services = mem_take(sizeof *g->services * (size_t)options->n_services);
    memcpy(g->services, options->services, sizeof *g->services * (size_t)options->n_services);
    g->entries = mem_take(sizeof *g->entries * n);
    slots_init(&g->slots, n);
    map_init(&g->by_id, n);
    g->held = g->over = (struct list){ NONE, NONE, 0 };
    g->shown = NONE;
    g->reports = mem_take(sizeof *g->reports * LIMIT_ENGINES);
    g->held_view = mem_take(sizeof(*g->held_view) * n);
    g->held_slots = mem_take(sizeof *g->held_slots * n);
    g->choices = mem_take(sizeof *g->choices * n);
    for (int e = 0; e < options->n_engines; e++)
        g->engines[e].report = &g->reports[e];
    for (int s = 0; s < options->n_services; s++) {
        g->n_output_mean[s] = 128.0;
        g->wanted_ns[s] = -TIME_NS_PER_S;
    }
    const struct route_limits limits = { LIMIT_ENGINES, (int32_t)n };
    g->router_state = mem_take(options->router->state_bytes(&limits));
    options->router->open(g->router_state, &limits, options->router_config);
    return g;
}

void cluster_gateway_close(struct cluster_gateway *g)
{
    for (uint32_t i = 0; i < g->options.n_requests_max; i++) {
        mem_give(g->entries[i].body);
        mem_give(g->entries[i].tokens);
        mem_give(g->entries[i].sentence);
    }
    mem_give(g->entries);
    mem_give(g->services);
    slots_free(&g->slots);
    map_free(&g->by_id);
    mem_give(g->reports);
    mem_give(g->held_view);
    mem_give(g->held_slots);
    mem_give(g->choices);
    mem_give(g->router_state);
    mem_give(g);
}
