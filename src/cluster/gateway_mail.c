/* Handles a gateway's mail: tokens, ends and returns of requests, reports of engines, answers of
 * the manager. */
#include "cluster/gateway_mail.h"

#include "cluster/gateway_demand.h"
#include "cluster/gateway_route.h"

#include "base/log.h"
#include "base/mem.h"
#include "base/rng.h"
#include "base/time.h"
#include "cluster/message.h"
#include <string.h>

/* How long nothing is sent to an engine after RETURNED(FULL), which doubles while it stays full,
 * and after RETURNED(CRASHED). */
static const int64_t FULL_BACKOFF_NS = 2 * TIME_NS_PER_MS,
                     FULL_BACKOFF_NS_MAX = 16 * TIME_NS_PER_MS;
static const int64_t CRASHED_BACKOFF_NS = 20 * TIME_NS_PER_MS;
/* Until a session is tried again that could not begin: a full bus has room soon. */
static const int64_t FULL_AGAIN_NS = TIME_NS_PER_MS, LOST_AGAIN_NS = 20 * TIME_NS_PER_MS;
static const int64_t INSIST_NS = 5 * TIME_NS_PER_S; /* an answer that has begun waits so long */

static void forget_cancel(struct cluster_gateway *g, struct gateway_entry *entry)
{
    g->n_cancels_pending -= entry->wants_cancel;
    entry->wants_cancel = false;
}

/* Returns the most bytes that a request's KV may get on an engine that may serve it. Pinned models
 * stay, by the reports of the engines. INT64_MAX: not all have reported yet. */
static int64_t most_kv_bytes(const struct cluster_gateway *g, const struct gateway_entry *entry)
{
    int own = entry->request->service, n = g->options.n_services;
    int64_t most = 0;
    for (int e = 0; e < g->nodes.n_engines; e++) {
        const struct engine_report *report = &g->reports[e];
        int64_t n_bytes = report->memory_bytes > 0 ? report->memory_bytes : INT64_MAX;
        if (!service_spec_allows(&g->services[own].engines, e))
            continue;
        for (int s = 0; (s = set_next(&report->listed, s, n)) >= 0; s++) {
            const struct service_report *row = &report->services[s];
            bool is_pinned = row->status == SERVICE_LOADED && g->services[s].keep_alive_ns < 0;
            if (s == own) /* which it would have there, too */
                row = &g->reports[entry->engine].services[own];
            if (s == own || is_pinned)
                n_bytes -= row->weights_bytes + row->activation_bytes;
        }
        most = max_i64(most, n_bytes);
    }
    return most - most % max_i64(1, g->options.kv_unit_bytes);
}

/* Ends a request that can't ever fit beside the pinned models. Returns true when it is over. The
 * last token has no KV. */
static bool end_never_fits(struct cluster_gateway *g, uint32_t at)
{
    const struct gateway_entry *entry = &g->entries[at];
    const struct route_request *r = entry->request;
    int64_t need = (int64_t)(r->n_tokens_max - 1) * g->core.services[r->service].kv_bytes_per_token;
    int64_t most = most_kv_bytes(g, entry);
    struct fault fault;
    if (need <= most)
        return false;
    (void)fault_set(&fault, STATUS_TOO_LARGE,
                    "prompt and answer may have %d tokens and need %.1f MiB of KV, and beside "
                    "pinned models there are %.1f MiB",
                    r->n_tokens_max, (double)need * 0x1p-20, (double)most * 0x1p-20);
    gateway_state_finish(g, at, SERVICE_TOO_LARGE, fault.text);
    return true;
}

/* Handles a request that lacks space because of other models' weights. The manager is told, and the
 * request tries again until it has waited for as long as for a model. An answer that has begun does
 * not end, because it soon makes the others leave. */
static void wait_for_space(struct cluster_gateway *g, uint32_t at)
{
    struct gateway_entry *entry = &g->entries[at];
    int64_t hold_ns = g->services[entry->request->service].hold_ns_max;
    bool has_begun = gateway_state_has_begun(entry);
    if (!has_begun && end_never_fits(g, at))
        return;
    if (entry->no_space_ns == 0)
        entry->no_space_ns = g->now_ns;
    if (!has_begun && hold_ns > 0 && entry->no_space_ns + hold_ns <= g->now_ns) {
        gateway_state_finish(g, at, SERVICE_NOT_READY,
                             "other models kept the memory that the request needs");
        return;
    }
    gateway_route_say_no_space(g, entry, has_begun && entry->no_space_ns + INSIST_NS <= g->now_ns);
    gateway_state_set_aside(g, at);
}

/* The request is held again, unless it was cancelled, or all of its answer is known and only the
 * word that it ended is missing: more tokens would not belong to it. False: it is over. */
static bool goes_on(struct cluster_gateway *g, uint32_t at)
{
    struct gateway_entry *entry = &g->entries[at];
    enum service_why why = gateway_state_end_of(entry);
    if (why != SERVICE_WHY_NONE)
        gateway_state_observe(g, entry);
    else if (entry->is_cancelled)
        why = SERVICE_CANCELLED;
    if (why != SERVICE_WHY_NONE)
        gateway_state_finish(g, at, why, NULL);
    return why == SERVICE_WHY_NONE;
}

/* Takes back a sent request, which is only known not to have ended. It is held again, and its next
 * submission has another epoch, so that no message of this one counts any more. */
static void take_back(struct cluster_gateway *g, uint32_t at)
{
    struct gateway_entry *entry = &g->entries[at];
    forget_cancel(g, entry);
    gateway_state_hold(g, at);
    entry->ticket = 0;
    entry->n_kept = 0;
    gateway_route_returned(g, at, SERVICE_CRASHED);
    (void)goes_on(g, at);
}

/* Something of its answer is missing. */
static void take_back_broken(struct cluster_gateway *g, uint32_t at)
{
    log_line(LOG_WARN, "gateway", "a part of an answer is missing: its request is sent again");
    (void)gateway_route_cancel(g, &g->entries[at]); /* without it the node refuses the next one */
    take_back(g, at);
}

/* Its KV lies where the event says. An engine that refused it leaves that as it was. */
static void take_ticket(struct gateway_entry *entry, const struct service_event *event)
{
    bool is_kept = event->n_kept > 0 && event->n_kept < entry->request->n_tokens;
    bool is_refusal = event->why == SERVICE_FULL || event->why == SERVICE_NO_SPACE ||
                      (event->why == SERVICE_DRAINING && !is_kept);
    if (is_refusal)
        return;
    entry->ticket = is_kept ? event->ticket : 0;
    entry->n_kept = is_kept ? event->n_kept : 0;
    entry->kept_engine = entry->engine;
}

/* Sends nothing to an engine for a while. Several requests that were on their way to a full engine
 * count as one answer. */
static void pause_engine(struct cluster_gateway *g, int e, uint8_t why)
{
    struct gateway_engine *engine = &g->engines[e];
    if (why == SERVICE_FULL && (engine->full_ns == 0 || engine->full_until_ns <= g->now_ns))
        engine->full_ns =
            min_i64(max_i64(2 * engine->full_ns, FULL_BACKOFF_NS), FULL_BACKOFF_NS_MAX);
    engine->full_until_ns =
        g->now_ns + (why == SERVICE_FULL ? engine->full_ns : CRASHED_BACKOFF_NS);
    set_words_add(g->full, e);
    gateway_route_refresh(g, e);
}

/* RETURNED: the request waits here for a place again; a cancelled one ends. */
static void take_return(struct cluster_gateway *g, uint32_t handle,
                        const struct service_event *event)
{
    uint32_t at = slots_index(handle);
    struct gateway_entry *entry = &g->entries[at];
    forget_cancel(g, entry);
    entry->n_preempted = max_i32(entry->n_preempted, event->n_preempted);
    entry->device_ns += event->device_ns;
    if (event->served_ns >= 0)
        entry->asked.served_ns = max_i64(entry->asked.served_ns, g->heard_ns - event->served_ns);
    gateway_state_hold(g, at);
    take_ticket(entry, event);
    gateway_route_returned(g, at, event->why);
    if (event->why != SERVICE_FULL)
        g->engines[entry->engine].full_ns = 0;
    if (event->why == SERVICE_FULL || event->why == SERVICE_CRASHED)
        pause_engine(g, entry->engine, event->why);
    if (goes_on(g, at) && event->why == SERVICE_NO_SPACE)
        wait_for_space(g, at);
}

/* ENDED: the length predictor and the routing core learn from it. */
static void take_end(struct cluster_gateway *g, uint32_t handle, uint8_t why)
{
    struct gateway_entry *entry = &g->entries[slots_index(handle)];
    if (why == SERVICE_STOPPED || why == SERVICE_LENGTH)
        gateway_state_observe(g, entry);
    gateway_demand_ended(g, entry, why);
    forget_cancel(g, entry);
    g->engines[entry->engine].full_ns = 0;
    route_core_ended(gateway_state_core(g, entry), slots_index(handle), entry->engine, why);
    gateway_state_drop(g, handle);
}

/* Takes scores of the prompt. After a new submission they begin anew, and those that are known are
 * not passed on again. */
static bool take_scores(struct cluster_gateway *g, uint32_t handle,
                        const struct service_event *event)
{
    struct gateway_entry *entry = &g->entries[slots_index(handle)];
    int32_t n_known = max_i32(entry->n_scores, 1), end = event->position + event->n_tokens;
    if (event->position > n_known || end > request_n_scored(&entry->asked)) {
        take_back_broken(g, slots_index(handle));
        return false;
    }
    entry->n_scores = max_i32(n_known, end);
    return end > n_known;
}

/* Takes floats of a vector, in the same way. */
static bool take_vector(struct cluster_gateway *g, uint32_t handle,
                        const struct service_event *event)
{
    struct gateway_entry *entry = &g->entries[slots_index(handle)];
    int32_t n_known = entry->n_scores, end = event->position + event->n_tokens;
    if (entry->asked.kind != REQUEST_EMBED || event->position > n_known ||
        end > g->services[entry->asked.service].n_vector) {
        take_back_broken(g, slots_index(handle));
        return false;
    }
    entry->n_scores = max_i32(n_known, end);
    return end > n_known;
}

/* Returns whether a part of the vector is missing ahead of this event. */
static bool lacks_vector(const struct cluster_gateway *g, const struct gateway_entry *entry,
                         const struct service_event *event)
{
    return entry->asked.kind == REQUEST_EMBED && event->what == SERVICE_ENDED &&
           event->why == SERVICE_LENGTH &&
           entry->n_scores < g->services[entry->asked.service].n_vector;
}

/* Returns whether scores are missing ahead of this event. */
static bool lacks_scores(const struct gateway_entry *entry, const struct service_event *event)
{
    int32_t n_scored = request_n_scored(&entry->asked);
    bool is_whole = event->what == SERVICE_TOKENS ||
                    (event->what == SERVICE_ENDED && event->why == SERVICE_LENGTH);
    return is_whole && n_scored > 1 && entry->n_scores < n_scored;
}

/* Returns true when the event is for the client. Late and repeated ones are dropped, by position
 * and epoch. One that is ahead of what is known shows that something is missing. */
static bool take_event(struct cluster_gateway *g, int node, const struct message_event *m,
                       struct service_event *out)
{
    uint32_t handle = gateway_state_find(g, m->event.id);
    const struct service_event *event = &m->event;
    if (handle == 0)
        return false;
    struct gateway_entry *entry = &g->entries[slots_index(handle)];
    if (entry->state != GATEWAY_SENT || event->epoch != entry->request->epoch ||
        g->nodes.of_engine[entry->engine] != node)
        return false;
    if (event->what == SERVICE_SCORES || event->what == SERVICE_VECTOR) {
        *out = *event;
        out->engine = entry->engine;
        out->epoch = entry->door_epoch;
        out->device_ns += entry->device_ns;
        return event->what == SERVICE_SCORES ? take_scores(g, handle, event)
                                             : take_vector(g, handle, event);
    }
    if (event->position > entry->request->n_tokens || lacks_scores(entry, event) ||
        lacks_vector(g, entry, event)) {
        take_back_broken(g, slots_index(handle));
        return false;
    }
    if (event->position != entry->request->n_tokens)
        return false;
    *out = *event;
    out->engine = entry->engine;
    out->epoch = entry->door_epoch;
    out->device_ns += entry->device_ns;
    switch (event->what) {
    case SERVICE_TOKENS:
        if (event->n_tokens > entry->request->n_tokens_max - event->position)
            return false;
        if (!gateway_state_add_tokens(entry, (const int32_t *)(const void *)(m + 1),
                                      event->n_tokens)) {
            gateway_route_end_sent(g, entry); /* it ends as cancelled */
            return false;
        }
        if (entry->request->first_ns == 0)
            entry->request->first_ns = g->now_ns;
        entry->no_space_ns = 0;
        gateway_state_predict_again(g, entry);
        return true;
    case SERVICE_RETURNED:
        take_return(g, handle, event);
        return false;
    default:
        take_end(g, handle, event->why);
        return true;
    }
}

/* Once another gateway had requests there, the rows stay, also when they are zero. */
static void take_others(struct cluster_gateway *g, int engine, const struct message_report *m)
{
    bool *has_others = &g->engines[engine].has_others;
    *has_others |= m->head.n_bytes > cluster_message_report_bytes(m->report.n_services);
    if (*has_others)
        cluster_message_read_others(m, &g->roster, g->options.n_services,
                                    &g->others[engine * g->options.n_services_max]);
}

static void take_report(struct cluster_gateway *g, int engine, const struct message_report *m)
{
    struct engine_report *report = &g->reports[engine];
    cluster_message_read_report(m, &g->roster, report, g->heard_ns);
    g->places[engine] = m->place;
    take_others(g, engine, m);
    gateway_route_refresh(g, engine);
    g->core.is_dirty = g->decode_core.is_dirty = true;
}

/* Updates the mirror at once, before the next report. */
static void note_change(struct cluster_gateway *g, const struct service_change *change)
{
    struct engine_report *report = &g->reports[change->engine];
    if (change->service < report->n_services) {
        set_add(&report->listed, change->service);
        service_change_apply(change, &report->services[change->service]);
    }
    gateway_route_refresh(g, change->engine);
    if (g->n_changes == GATEWAY_CHANGES_MAX) {
        g->first_change++;
        g->n_changes--;
    }
    g->changes[(g->first_change + g->n_changes++) % GATEWAY_CHANGES_MAX] = *change;
}

/* Notes a model's status on an engine. The manager decides what that means for requests. */
static void take_node_change(struct cluster_gateway *g, int engine, const struct message_change *m)
{
    struct service_change change;
    if (!cluster_message_read_change(m, &g->roster, &change))
        return; /* of a service that has left, or that this gateway lacks */
    change.engine = (uint16_t)engine;
    note_change(g, &change);
}

uint32_t gateway_mail_end_held(struct cluster_gateway *g, int service, enum status cause,
                               const char *why)
{
    bool never_fits = cause == STATUS_TOO_LARGE;
    uint32_t n = 0;
    for (; g->n_places[service] == 0 && g->core.services[service].n_held > 0; n++)
        gateway_state_finish(g, g->core.services[service].first_held,
                             never_fits ? SERVICE_TOO_LARGE : SERVICE_LOAD_FAILED,
                             never_fits ? why : NULL);
    return n;
}

static void take_change(struct cluster_gateway *g, const struct message_change *m)
{
    struct service_change said;
    if (!cluster_message_read_change(m, &g->roster, &said) || said.status != SERVICE_BROKEN)
        return; /* or of a service that has left */
    (void)gateway_mail_end_held(g, said.service, (enum status)said.cause, said.fault.text);
}

static void take_answer(struct cluster_gateway *g, const struct message_answer *m)
{
    int i = 0;
    while (i < g->n_asked && g->asked[i] != m->head.id)
        i++;
    if (i == g->n_asked)
        return; /* to no open call, or a second time */
    g->asked[i] = g->asked[--g->n_asked];
    g->answers[g->n_answers++] = (struct control_answer){ .id = m->head.id,
                                                          .status = (enum status)m->status,
                                                          .fault = m->fault };
}

/* Ends a node's session: all that was sent over it is taken back, and its engines count as lost
 * until they report again. */
static void end_session(struct cluster_gateway *g, int node)
{
    struct cluster_link *link = &g->links[node];
    if (link->session == 0)
        return;
    log_line(LOG_WARN, "gateway", "the session with node %d is over", link->peer);
    cluster_link_end(link);
    for (uint32_t i = 0; i < g->options.n_requests_max; i++)
        if (g->entries[i].prompt && g->entries[i].state == GATEWAY_SENT &&
            g->nodes.of_engine[g->entries[i].engine] == node)
            take_back(g, i);
    int first = g->nodes.first_engine[node];
    for (int e = first; e < first + g->nodes.of[node].n_engines; e++) {
        g->reports[e].is_healthy = false;
        g->engines[e].has_others = false;
        gateway_route_refresh(g, e);
    }
}

static void watch_link(struct cluster_gateway *g, int node, int64_t *wake_ns)
{
    struct cluster_link *link = &g->links[node];
    if (!cluster_link_step(link, g->now_ns, wake_ns))
        end_session(g, node);
    if (link->session != 0)
        return;
    uint64_t session = rng_at(g->options.seed, 0, g->n_sessions) | 1;
    struct message_head head =
        cluster_message_head(MESSAGE_OPEN, g->options.port.address, sizeof head);
    cluster_link_begin(link, session, g->now_ns);
    if (cluster_link_send(link, &head, sizeof head, NULL, 0)) {
        g->n_sessions++;
        (void)cluster_link_step(link, g->now_ns, wake_ns);
    } else {
        link->session = 0; /* the bus is full, or the node is not connected */
        int64_t again_ns = link->port.can_lose ? LOST_AGAIN_NS : FULL_AGAIN_NS;
        *wake_ns = min_i64(*wake_ns, g->now_ns + again_ns);
    }
}

void gateway_mail_watch_links(struct cluster_gateway *g, int64_t *wake_ns)
{
    for (int i = 0; i < g->nodes.n; i++)
        watch_link(g, i, wake_ns);
}

/* Returns whether a message of a node counts, which requires the node's session. */
static bool counts(struct cluster_gateway *g, int node, const struct message_head *head)
{
    enum cluster_link_verdict verdict = cluster_link_take(&g->links[node], head);
    bool is_over = verdict == CLUSTER_LINK_MISSING ||
                   (verdict == CLUSTER_LINK_COUNTS && head->kind == MESSAGE_CLOSED);
    if (is_over)
        end_session(g, node);
    return verdict == CLUSTER_LINK_COUNTS && !is_over;
}

/* Returns true when the message is an event for the client. */
static bool take_from_node(struct cluster_gateway *g, int node, const struct message_head *head,
                           struct service_event *event, const void **payload)
{
    const void *message = head;
    int engine = g->nodes.first_engine[node] + head->engine;
    if (!counts(g, node, head))
        return false;
    *payload = (const struct message_event *)message + 1;
    if (head->kind == MESSAGE_EVENT)
        return take_event(g, node, message, event);
    if (head->kind == MESSAGE_REPORT)
        take_report(g, engine, message);
    else if (head->kind == MESSAGE_CHANGE)
        take_node_change(g, engine, message);
    return false;
}

static void take_from_manager(struct cluster_gateway *g, const struct message_head *head)
{
    const void *message = head;
    if (head->kind == MESSAGE_CHANGE)
        take_change(g, message);
    else if (head->kind == MESSAGE_ANSWER)
        take_answer(g, message);
}

bool gateway_mail_take(struct cluster_gateway *g, struct service_event *event, const void **payload)
{
    const struct bus_port *port = &g->options.port;
    const void *message;
    size_t n_bytes;
    while (port->peek(port->self, port->address, &message, &n_bytes)) {
        const struct message_head *head = message;
        bool is_read = n_bytes >= sizeof *head;
        int node = is_read ? cluster_nodes_find(&g->nodes, head->from) : -1;
        int n_engines = node >= 0 ? g->nodes.of[node].n_engines : g->nodes.n_engines;
        g->is_popping = false;
        if (!cluster_message_is_valid(message, n_bytes, n_engines))
            log_line(LOG_WARN, "gateway", "dropped a malformed message of %zu bytes", n_bytes);
        else if (node >= 0)
            g->is_popping = take_from_node(g, node, head, event, payload);
        else if (head->from == g->options.manager)
            take_from_manager(g, head);
        if (g->is_popping)
            return true;
        port->pop(port->self, port->address);
    }
    return false;
}
