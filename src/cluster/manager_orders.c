/* A manager sends orders to nodes and answers to gateways. */
#include "cluster/manager_orders.h"

#include "base/log.h"
#include <string.h>

static bool post(struct cluster_manager *m, uint16_t to, const void *message, size_t n_bytes)
{
    const struct bus_port *port = &m->options.port;
    return port->send(port->self, to, message, n_bytes, NULL, 0);
}

bool manager_orders_post(struct cluster_manager *m, enum message_kind kind, int engine, int service)
{
    struct message_head head = cluster_message_head(kind, m->options.port.address, sizeof head);
    head.engine = cluster_nodes_own(&m->nodes, engine);
    head.service = m->roster.names[service];
    return post(m, cluster_nodes_address(&m->nodes, engine), &head, sizeof head);
}

bool manager_orders_is_loaded_anywhere(const struct cluster_manager *m, int service)
{
    for (int e = 0; e < m->nodes.n_engines; e++) {
        if (manager_room_place(m, e, service)->status == SERVICE_LOADED)
            return true;
    }
    return false;
}

/* ---- Orders. ---- */

enum message_kind manager_orders_idle(const struct cluster_manager *m)
{
    return m->options.may_sleep ? MESSAGE_SLEEP : MESSAGE_UNLOAD;
}

void manager_orders_out(struct cluster_manager *m, enum message_kind kind, int engine, int service,
                        const char *why)
{
    if (!manager_orders_post(m, kind, engine, service))
        return;
    manager_room_ask_out(m, engine, service);
    log_line(LOG_INFO, "manager",
             kind == MESSAGE_SLEEP ? "putting %s to sleep on engine %d: %s"
                                   : "unloading %s from engine %d: %s",
             m->services[service].name, engine, why);
}

void manager_orders_in(struct cluster_manager *m, int engine, int service)
{
    struct manager_place *place = manager_room_place(m, engine, service);
    set_add(&m->of_engines[engine].known, service);
    place->is_asked_in = manager_orders_post(m, MESSAGE_LOAD, engine, service);
    place->ordered_ns = m->now_ns;
}

static bool post_answer(struct cluster_manager *m, const struct manager_ask *ask)
{
    struct message_answer message = { .status = (uint8_t)ask->status, .fault = ask->fault };
    message.head = cluster_message_head(MESSAGE_ANSWER, m->options.port.address, sizeof message);
    message.head.service = m->roster.names[ask->service];
    message.head.id = ask->id;
    return post(m, m->options.gateway, &message, sizeof message);
}

/* Sends answers. Those without room are sent at a later step. */
void manager_orders_say_answers(struct cluster_manager *m)
{
    int n_kept = 0;
    for (int i = 0; i < m->n_asks; i++) {
        if (!m->asks[i].is_answered || !post_answer(m, &m->asks[i]))
            m->asks[n_kept++] = m->asks[i];
    }
    m->n_asks = n_kept;
}

/* Said at the end of the step. */
void manager_orders_answer(struct cluster_manager *m, int service, uint8_t kind, enum status status,
                           const struct fault *fault)
{
    for (int i = 0; i < m->n_asks; i++) {
        struct manager_ask *ask = &m->asks[i];
        if (ask->service != service || ask->kind != kind || ask->is_answered)
            continue;
        ask->is_answered = true;
        ask->status = status;
        if (fault)
            ask->fault = *fault;
    }
}

/* Tells each waiting gateway why the model is not loaded. */
void manager_orders_tell_broken(struct cluster_manager *m, int service)
{
    struct manager_want *want = &m->wants[service];
    const struct service_change change = { .service = (uint16_t)service,
                                           .status = SERVICE_BROKEN,
                                           .cause = (uint8_t)want->cause,
                                           .fault = want->fault };
    const struct message_change message =
        cluster_message_change(m->options.port.address, m->roster.names[service], &change);
    set_remove(&m->wanted, service);
    (void)post(m, m->options.gateway, &message,
               sizeof message); /* if lost, the gateway sends WANT again and gets it again */
    manager_orders_answer(m, service, CONTROL_LOAD, want->cause, &want->fault);
}

/* Notes a failed load, which is not retried for a while, counted from now. */
void manager_orders_note_broken(struct cluster_manager *m, int service, enum status cause,
                                const struct fault *fault)
{
    struct manager_want *want = &m->wants[service];
    want->cause = cause;
    want->fault = *fault;
    want->broken_until_ns = m->now_ns + SERVICE_LOAD_AGAIN_S * TIME_NS_PER_S;
    manager_orders_tell_broken(m, service);
}

static void refuse_never(struct cluster_manager *m, int service)
{
    struct fault fault;
    int64_t most = 0, pinned = 0;
    for (int e = 0; e < m->nodes.n_engines; e++) {
        int64_t kept = manager_room_pinned_bytes(m, e);
        if (!manager_room_may_serve(m, e, service) ||
            manager_room_bytes(m, e) - kept < most - pinned)
            continue;
        most = manager_room_bytes(m, e);
        pinned = kept;
    }
    fault_set(&fault, STATUS_TOO_LARGE,
              "model %s needs about %.1f MiB, and its engine has %.1f MiB, of which pinned models "
              "keep %.1f MiB",
              m->services[service].name, (double)m->need_bytes[service] * 0x1p-20,
              (double)most * 0x1p-20, (double)pinned * 0x1p-20);
    manager_orders_note_broken(m, service, STATUS_TOO_LARGE, &fault);
}

void manager_orders_bring_in(struct cluster_manager *m, int service)
{
    bool has_all = true;
    if (m->wants[service].broken_until_ns > m->now_ns) {
        manager_orders_tell_broken(m, service);
        return;
    }
    for (int e = 0; e < m->nodes.n_engines; e++)
        has_all = has_all && (m->of_engines[e].has_report || m->of_engines[e].is_unplanned);
    struct manager_choice choice = manager_room_choose(m, service);
    if (choice.engine < 0) {
        if (choice.never && has_all)
            refuse_never(m, service);
        return; /* looked at again at the next step */
    }
    for (int32_t i = 0; i < choice.eviction.n_victims; i++)
        manager_orders_out(m, choice.is_turn ? MESSAGE_OUST : manager_orders_idle(m), choice.engine,
                           choice.eviction.victims[i],
                           choice.is_turn ? "another model waited long for its memory"
                                          : "another model needs its memory");
    manager_orders_in(m, choice.engine, service);
}

void manager_orders_make_due(struct cluster_manager *m, int service)
{
    if (set_has(&m->dismissed, service))
        return;
    for (int e = 0; e < m->nodes.n_engines; e++) {
        if (!manager_room_may_serve(m, e, service))
            continue;
        set_add(&m->of_engines[e].due, service);
        m->n_due += !m->of_engines[e].has_due;
        m->of_engines[e].has_due = true;
    }
}

void manager_orders_want(struct cluster_manager *m, int service)
{
    m->wants[service].until_ns = TIME_NEVER;
    set_add(&m->wanted, service);
    manager_orders_make_due(m, service);
}

void manager_orders_refuse(struct cluster_manager *m, int service, uint8_t kind, enum status status,
                           const char *sentence)
{
    struct fault fault;
    fault_set(&fault, status, "model %s %s", m->services[service].name, sentence);
    manager_orders_answer(m, service, kind, status, &fault);
}

void manager_orders_dismiss(struct cluster_manager *m, int s)
{
    set_add(&m->dismissed, s);
    set_remove(&m->wanted, s);
    for (int e = 0; e < m->nodes.n_engines; e++)
        set_remove(&m->of_engines[e].due, s);
    manager_orders_refuse(m, s, CONTROL_LOAD, STATUS_CANCELLED, MANAGER_ORDERS_GONE);
}
