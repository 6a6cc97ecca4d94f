/* A gateway's routing: holds requests whose model is nowhere, and sends the others where the router
 * wants them. */
#include "cluster/gateway_state.h"

#include "base/mem.h"
#include "base/time.h"
#include "cluster/message.h"
#include <string.h>

/* ---- Submitting to an engine. ---- */

/* The body with every token known so far; the stops and biases stand behind the tokens, so it is
 * laid out anew when it grew. */
static void refresh_body(struct gateway_entry *entry)
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
    struct gateway_entry *entry = &g->entries[at];
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
    gateway_state_remove(g, &g->held, at);
    entry->request.epoch++;
    entry->state = GATEWAY_SENT;
    entry->engine = choice->engine;
    g->engines[choice->engine].n_sent++;
    return true;
}

bool gateway_route_cancel(struct cluster_gateway *g, const struct gateway_entry *entry)
{
    const struct bus_port *port = &g->options.port;
    struct message_head head = cluster_message_head(MESSAGE_CANCEL, port->address, sizeof head);
    head.engine = entry->engine;
    head.service = entry->request.service;
    head.id = entry->request.id;
    return port->send(port->self, g->options.node, &head, sizeof head, NULL, 0);
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

int64_t gateway_route_watch_held(struct cluster_gateway *g)
{
    int64_t wake = TIME_NEVER;
    int32_t n_held[LIMIT_SERVICES] = { 0 };
    bool is_wanted[LIMIT_SERVICES] = { false };
    for (uint32_t at = g->held.first, next; at != GATEWAY_NONE; at = next) {
        struct gateway_entry *entry = &g->entries[at];
        int service = entry->request.service;
        const struct service_spec *spec = &g->services[service];
        next = entry->next;
        if (entry->request.deadline_ns <= g->now_ns) {
            gateway_state_finish(g, at, SERVICE_DEADLINE, NULL);
            continue;
        }
        wake = min_i64(wake, entry->request.deadline_ns);
        if (is_somewhere(g, service))
            continue;
        n_held[service]++;
        bool is_late = spec->hold_ns_max > 0 && entry->held_ns + spec->hold_ns_max <= g->now_ns;
        bool is_over = spec->n_held_max > 0 && n_held[service] > spec->n_held_max;
        if (is_late || is_over) {
            gateway_state_finish(g, at, SERVICE_NOT_READY,
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

int64_t gateway_route_send(struct cluster_gateway *g)
{
    struct route_view view = { .now_ns = g->now_ns,
                               .n_engines = g->options.n_engines,
                               .engines = g->engines,
                               .held = g->held_view };
    for (uint32_t at = g->held.first; at != GATEWAY_NONE; at = g->entries[at].next) {
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
