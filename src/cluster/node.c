/* A node: moves records between the bus and the engines of one machine. */
#include "cluster/node.h"

#include "base/log.h"
#include "base/mem.h"
#include "base/time.h"
#include "cluster/message.h"

enum { EVENTS_PER_STEP = 4096 }; /* of one engine: the other actors of the thread get their turn */

struct cluster_node {
    struct cluster_node_options options;
    struct cluster_engine engines[LIMIT_ENGINES];
    struct {
        bool is_held;
        struct service_event event;
        const void *payload;
    } held[LIMIT_ENGINES]; /* the bus was full */
    struct {
        bool is_held;
        struct cluster_engine_change change;
    } held_change[LIMIT_ENGINES];
    int64_t next_report_ns;
    struct set has_news;           /* engines whose next report is due at once */
    int64_t due_ns[LIMIT_ENGINES]; /* its next step */
    struct message_report report;  /* scratch */
};

static bool post(struct cluster_node *node, uint16_t to, const void *part1, size_t n1,
                 const void *part2, size_t n2)
{
    const struct bus_port *port = &node->options.port;
    return port->send(port->self, to, part1, n1, part2, n2);
}

static bool post_event(struct cluster_node *node, int engine, const struct service_event *event,
                       const void *payload)
{
    struct message_event message;
    message.head = cluster_message_head(MESSAGE_EVENT, node->options.port.address,
                                        sizeof message + (size_t)event->n_bytes);
    message.head.engine = (uint16_t)engine;
    message.head.id = event->id;
    message.event = *event;
    message.event.engine = (uint16_t)engine;
    return post(node, node->options.gateway, &message, sizeof message, payload,
                (size_t)event->n_bytes);
}

/* ---- Mail from the bus. False: the engine has no room, the message stays where it is. ---- */

static bool take_submit(struct cluster_node *node, const struct message_submit *m)
{
    struct cluster_engine *engine = &node->engines[m->head.engine];
    const struct request_body *body = (const void *)(m + 1);
    if (node->options.fits(engine->report(engine->self), &m->request) &&
        engine->service.submit(engine->service.self, &m->request, body))
        return true;
    const struct service_event full = { .id = m->request.id,
                                        .epoch = m->request.epoch,
                                        .what = SERVICE_RETURNED,
                                        .why = SERVICE_FULL,
                                        .position = m->request.n_tokens };
    return post_event(node, m->head.engine, &full, NULL);
}

/* Whoever submitted hears of it even when what he sent can't be read: the request's own id, as far
 * as the message has one. */
static bool refuse_message(struct cluster_node *node, const struct message_head *head,
                           size_t n_bytes)
{
    static const char why[] = "the node could not read the request";
    const struct message_submit *m = (const void *)head;
    log_line(LOG_WARN, "node", "refused a malformed message of %zu bytes", n_bytes);
    if (n_bytes < sizeof *m || head->version != MESSAGE_VERSION || head->kind != MESSAGE_SUBMIT)
        return true;
    const struct service_event failed = { .id = m->request.id,
                                          .epoch = m->request.epoch,
                                          .what = SERVICE_ENDED,
                                          .why = SERVICE_FAILED,
                                          .position = max_i32(m->request.n_tokens, 0),
                                          .n_bytes = sizeof why - 1 };
    int engine = head->engine < node->options.n_engines ? head->engine : 0;
    return post_event(node, engine, &failed, why);
}

static bool take_message(struct cluster_node *node, const struct message_head *head)
{
    struct cluster_engine *engine = &node->engines[head->engine];
    node->due_ns[head->engine] = 0;
    switch (head->kind) {
    case MESSAGE_SUBMIT:
        return take_submit(node, (const void *)head);
    case MESSAGE_CANCEL:
        engine->service.cancel(engine->service.self, head->id);
        return true;
    case MESSAGE_LOAD:
        engine->load(engine->self, head->service);
        return true;
    case MESSAGE_UNLOAD:
    case MESSAGE_OUST:
        engine->unload(engine->self, head->service, head->kind == MESSAGE_OUST);
        return true;
    case MESSAGE_DRAIN:
        engine->drain(engine->self);
        return true;
    default:
        return true; /* not for a node */
    }
}

static void take_mail(struct cluster_node *node)
{
    const struct bus_port *port = &node->options.port;
    const void *message;
    size_t n_bytes;
    while (port->peek(port->self, port->address, &message, &n_bytes)) {
        bool is_valid = cluster_message_is_valid(message, n_bytes, node->options.n_engines,
                                                 node->options.n_services);
        if (is_valid ? !take_message(node, message) : !refuse_message(node, message, n_bytes))
            return;
        port->pop(port->self, port->address);
    }
}

/* ---- News of the engines. ---- */

static bool send_events(struct cluster_node *node, int e)
{
    struct cluster_engine *engine = &node->engines[e];
    for (int i = 0; i < EVENTS_PER_STEP; i++) {
        if (!node->held[e].is_held &&
            !engine->service.next(engine->service.self, &node->held[e].event,
                                  &node->held[e].payload))
            return true;
        node->held[e].is_held = !post_event(node, e, &node->held[e].event, node->held[e].payload);
        if (node->held[e].is_held)
            return false;
    }
    return false;
}

static void send_changes(struct cluster_node *node, int e)
{
    struct cluster_engine *engine = &node->engines[e];
    for (;;) {
        if (!node->held_change[e].is_held &&
            !engine->next_change(engine->self, &node->held_change[e].change))
            return;
        const struct cluster_engine_change *change = &node->held_change[e].change;
        struct message_change message = { .status = change->status,
                                          .cause = (uint8_t)change->cause,
                                          .weights_bytes = change->weights_bytes,
                                          .activation_bytes = change->activation_bytes,
                                          .fault = change->fault };
        message.head =
            cluster_message_head(MESSAGE_CHANGE, node->options.port.address, sizeof message);
        message.head.engine = (uint16_t)e;
        message.head.service = change->service;
        /* Twice is harmless to a gateway: what did not change is no news. */
        node->held_change[e].is_held =
            !post(node, node->options.gateway, &message, sizeof message, NULL, 0) ||
            !post(node, node->options.manager, &message, sizeof message, NULL, 0);
        if (node->held_change[e].is_held)
            return;
        set_add(&node->has_news, e); /* routers learn of it at once */
    }
}

/* False: an engine that starts has said nothing yet, which is no ill health. */
static bool send_report(struct cluster_node *node, int e)
{
    const struct engine_report *report = node->engines[e].report(node->engines[e].self);
    if (report->memory_bytes == 0)
        return false;
    struct message_report *message = &node->report;
    message->head = cluster_message_head(MESSAGE_REPORT, node->options.port.address, 0);
    message->head.engine = (uint16_t)e;
    size_t n_bytes = cluster_message_write_report(report, message);
    /* A report that finds no room is simply late: the next one says more. */
    (void)post(node, node->options.manager, message, n_bytes, NULL, 0);
    (void)post(node, node->options.gateway, message, n_bytes, NULL, 0);
    set_remove(&node->has_news, e);
    return true;
}

/* Returns when the next is due. */
static int64_t step_engine(struct cluster_node *node, int e, int64_t now_ns)
{
    int64_t due_ns = node->engines[e].step(node->engines[e].self, now_ns);
    if (!send_events(node, e))
        due_ns = now_ns;
    send_changes(node, e);
    return node->held_change[e].is_held ? min_i64(due_ns, now_ns + TIME_NS_PER_MS) : due_ns;
}

int64_t cluster_node_step(struct cluster_node *node, int64_t now_ns)
{
    int64_t wake = TIME_NEVER;
    bool is_due = now_ns >= node->next_report_ns, have_all = true;
    bool steps_all = is_due || !node->options.is_passive;
    int n = node->options.n_engines;
    take_mail(node);
    for (int e = 0; e < n; e++) {
        if (steps_all || node->due_ns[e] <= now_ns)
            node->due_ns[e] = step_engine(node, e, now_ns);
        wake = min_i64(wake, node->due_ns[e]);
    }
    if (is_due)
        node->has_news = set_of_first(n);
    for (int e = 0; (e = set_next(&node->has_news, e, n)) >= 0; e++)
        have_all &= send_report(node, e);
    if (is_due)
        node->next_report_ns = now_ns + node->options.report_ns;
    if (!have_all)
        node->next_report_ns = min_i64(node->next_report_ns, now_ns + TIME_NS_PER_MS);
    return min_i64(wake, node->next_report_ns);
}

void cluster_node_pass(struct cluster_node *node, int64_t span_ns)
{
    node->next_report_ns += span_ns;
}

struct cluster_node *cluster_node_open(const struct cluster_node_options *options)
{
    struct cluster_node *node = mem_take(sizeof *node);
    CHECK(options->n_engines <= LIMIT_ENGINES);
    node->options = *options;
    for (int e = 0; e < options->n_engines; e++)
        node->engines[e] = options->engines[e];
    return node;
}

void cluster_node_close(struct cluster_node *node)
{
    mem_give(node);
}
