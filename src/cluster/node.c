/* A node: moves records between the bus and the engines of one machine. */
#include "cluster/node.h"

#include "base/log.h"
#include "base/mem.h"
#include "base/time.h"
#include "cluster/link.h"
#include "cluster/message.h"
#include "cluster/node_lead.h"
#include "cluster/node_lives.h"
#include "cluster/node_load.h"
#include "cluster/roster.h"

/* Gateways learn of one another's requests this soon. */
static const int64_t COUNT_NS = 10 * TIME_NS_PER_MS;
/* A node that leaves ends this long after the last request left with its KV, so that the next
 * engine has pulled it; and this long after it began to leave. */
static const int64_t LEAVE_KEEP_NS = 3 * TIME_NS_PER_S, LEAVE_NS_MAX = 10 * TIME_NS_PER_S;
enum { EVENTS_PER_STEP = 4096 }; /* of one engine, so that the other actors get their turn */

struct cluster_node {
    struct cluster_node_options options;
    struct node_engine {
        struct cluster_engine face;
        bool is_held, is_change_held; /* the bus was full */
        bool has_news;                /* its next report is due at once */
        bool is_other;                /* gateways have other requests there than it reported, */
        int64_t count_ns;             /* which they are told from this time on */
        struct service_event event;   /* held */
        const void *payload;
        struct service_change change;
        int64_t due_ns; /* its next step */
    } * engines;        /* (n_engines) */
    struct node_link {  /* one for each gateway that ever opened a session */
        struct cluster_link link;
        uint32_t cohort, cohort_here; /* the last that it sent, and its number here */
    } * links;                        /* (n_links) */
    int n_links;
    struct node_lead lead;
    uint32_t n_cohorts; /* each gateway numbers its own from 0; here the numbers run through */
    struct node_lives lives;
    struct node_load load;
    struct cluster_roster roster;
    int64_t now_ns, next_report_ns;
    int64_t leaves_ns, kept_ns; /* it leaves since; when a request last left with its KV; 0: not */
    struct message_report report; /* scratch */
};

static bool tell_manager(struct cluster_node *node, const void *message, size_t n_bytes)
{
    const struct bus_port *port = &node->options.port;
    return port->send(port->self, node->options.manager, message, n_bytes, NULL, 0);
}

/* Passes on a gateway's wish to the manager that decides. If it is lost, the gateway says it
 * again. */
static void tell_wish(struct cluster_node *node, const struct message_head *head, size_t n_bytes)
{
    if (node->options.fence == NULL)
        (void)tell_manager(node, head, n_bytes);
    else
        node_lead_pass_on(&node->lead, head, n_bytes);
}

/* Sends to every gateway that has a session. Returns false when one of them had no room. */
static bool tell_gateways(struct cluster_node *node, void *message, size_t n_bytes)
{
    bool have_all = true;
    for (int i = 0; i < node->n_links; i++)
        if (node->links[i].link.session != 0)
            have_all &= cluster_link_send(&node->links[i].link, message, n_bytes, NULL, 0);
    return have_all;
}

static bool post_event(struct cluster_node *node, struct cluster_link *link, int engine,
                       const struct service_event *event, const void *payload)
{
    struct message_event message;
    message.head = cluster_message_head(MESSAGE_EVENT, node->options.port.address,
                                        sizeof message + (size_t)event->n_bytes);
    message.head.engine = (uint16_t)engine;
    message.head.id = event->id;
    message.event = *event;
    message.event.engine = (uint16_t)engine;
    message.event.served_ns =
        event->served_ns > 0 ? max_i64(node->now_ns - event->served_ns, 0) : -1;
    return cluster_link_send(link, &message, sizeof message, payload, (size_t)event->n_bytes);
}

/* Every engine's next report is due at once. */
static void have_news(struct cluster_node *node)
{
    for (int e = 0; e < node->options.n_engines; e++)
        node->engines[e].has_news = true;
}

/* ---- Sessions. ---- */

/* Returns NULL when it never opened a session. */
static struct node_link *find_link(struct cluster_node *node, uint16_t from)
{
    for (int i = 0; i < node->n_links; i++)
        if (node->links[i].link.peer == from)
            return &node->links[i];
    return NULL;
}

static void cancel_life(struct cluster_node *node, const struct node_life *life)
{
    struct cluster_engine *engine = &node->engines[life->engine].face;
    engine->service.cancel(engine->service.self, life->id, life->epoch);
    node->engines[life->engine].due_ns = 0;
}

/* Ends all requests of the session here, because the gateway takes them back. */
static void end_session(struct cluster_node *node, struct node_link *from)
{
    struct cluster_link *link = &from->link;
    if (link->session == 0)
        return;
    log_line(LOG_WARN, "node", "the session with gateway %d is over", link->peer);
    for (uint32_t i = 0; i < node->lives.n; i++) {
        struct node_life *life = &node->lives.of[i];
        if (life->session != link->session)
            continue;
        life->session = 0;
        cancel_life(node, life);
    }
    cluster_link_end(link);
}

static void begin_session(struct cluster_node *node, const struct message_head *head)
{
    struct node_link *from = find_link(node, head->from);
    if (head->session == 0 || (from != NULL && from->link.session == head->session))
        return;
    if (from == NULL && node->n_links == LIMIT_GATEWAYS)
        return;
    if (from == NULL) {
        size_t n = (size_t)node->n_links;
        node->links = mem_grow(node->links, n * sizeof *from, (n + 1) * sizeof *from);
        from = &node->links[node->n_links++];
        from->link = (struct cluster_link){ .port = node->options.port, .peer = head->from };
        node_load_fit(&node->load, node->n_links, 1);
    }
    end_session(node, from);
    cluster_link_begin(&from->link, head->session, node->now_ns);
    from->cohort = 0;
    have_news(node); /* its first reports */
}

/* ---- Mail from the bus. False means that the engine has no room, and the message stays where it
 * is. ---- */

/* Members of a cohort come one behind the other, so a link has one cohort in progress. */
static uint32_t cohort_here(struct cluster_node *node, struct node_link *from, uint32_t cohort)
{
    if (cohort == 0)
        return 0;
    if (from->cohort != cohort) {
        node->n_cohorts += node->n_cohorts == UINT32_MAX ? 2 : 1; /* 0 is none */
        from->cohort = cohort;
        from->cohort_here = node->n_cohorts;
    }
    return from->cohort_here;
}

static struct node_life life_of(const struct cluster_node *node, const struct node_link *from,
                                const struct message_submit *m, const struct request *request)
{
    return (struct node_life){ .id = request->id,
                               .session = from->link.session,
                               .epoch = request->epoch,
                               .engine = m->head.engine,
                               .peer = (uint16_t)(from - node->links),
                               .service = request->service,
                               .n_prompt = request->n_prompt,
                               .n_tokens = request->n_tokens,
                               .n_predicted =
                                   min_i32(max_i32(request->n_predicted, 0), LIMIT_CONTEXT),
                               .first_ns = request->first_ns,
                               .load = m->load };
}

/* Returns false when no engine takes it now. */
static bool let_in(struct cluster_node *node, struct node_link *from,
                   const struct message_submit *m, int service)
{
    struct cluster_engine *engine = &node->engines[m->head.engine].face;
    struct node_life *earlier = node_lives_find(&node->lives, m->request.id);
    struct request request = m->request;
    if (earlier != NULL) { /* the rest of an earlier submission must end first */
        if (earlier->session == 0 || earlier->session == from->link.session)
            cancel_life(node, earlier); /* else it is another gateway's, and stays */
        return false;
    }
    cluster_message_request_of_spans(&request, node->now_ns);
    request.service = (uint16_t)service;
    request.cohort = cohort_here(node, from, request.cohort);
    const struct node_life life = life_of(node, from, m, &request);
    if (request.ticket != 0 && node->options.learn != NULL)
        node->options.learn(node->options.learn_self, request.ticket, &m->place);
    if (!node->options.fits(engine->report(engine->self), &request) ||
        !node_lives_add(&node->lives, &life))
        return false;
    if (engine->service.submit(engine->service.self, &request, (const void *)(m + 1))) {
        node->engines[m->head.engine].is_other = true;
        return true;
    }
    node_lives_remove(&node->lives, node_lives_find(&node->lives, life.id));
    return false;
}

/* No request may run on a different model than it was meant for. So one for a service or an adapter
 * that is not here is returned. */
static bool take_submit(struct cluster_node *node, struct node_link *from,
                        const struct message_submit *m)
{
    int service = cluster_roster_find(&node->roster, m->head.service);
    bool is_there = service >= 0 && m->adapter == 0 && node->leaves_ns == 0; /* none has adapters */
    const struct service_event back = { .id = m->request.id,
                                        .epoch = m->request.epoch,
                                        .what = SERVICE_RETURNED,
                                        .why = is_there ? SERVICE_FULL : SERVICE_DRAINING,
                                        .position = m->request.n_tokens };
    return (is_there && let_in(node, from, m, service)) ||
           post_event(node, &from->link, m->head.engine, &back, NULL);
}

/* Tells a gateway that its request cannot be read, if the message has the request's id. */
static bool refuse_message(struct cluster_node *node, struct cluster_link *link,
                           const struct message_head *head, size_t n_bytes)
{
    static const char why[] = "the node could not read the request";
    const struct message_submit *m = (const void *)head;
    log_line(LOG_WARN, "node", "refused a malformed message of %zu bytes", n_bytes);
    if (link == NULL || n_bytes < sizeof *m || head->kind != MESSAGE_SUBMIT)
        return true;
    const struct service_event failed = { .id = m->request.id,
                                          .epoch = m->request.epoch,
                                          .what = SERVICE_ENDED,
                                          .why = SERVICE_FAILED,
                                          .position = max_i32(m->request.n_tokens, 0),
                                          .n_bytes = sizeof why - 1 };
    int engine = head->engine < node->options.n_engines ? head->engine : 0;
    return post_event(node, link, engine, &failed, why);
}

/* Tells the leading manager what came of its order when this node does not have the model: it can't
 * load it (yet), and it has nothing to unload. */
static void say_lacking(struct cluster_node *node, const struct message_head *head, const char *why)
{
    struct service_change change = { .engine = head->engine, .status = SERVICE_UNLOADED };
    if (head->kind == MESSAGE_LOAD) {
        change.status = SERVICE_BROKEN;
        change.cause = STATUS_BUSY;
        (void)fault_set(&change.fault, STATUS_BUSY, "%s", why);
    }
    struct message_change message =
        cluster_message_change(node->options.port.address, head->service, &change);
    if (!node_lead_send(&node->lead, &message, sizeof message))
        node_lead_end(&node->lead); /* no order is in progress after it */
}

static void obey(struct cluster_node *node, const struct message_head *head)
{
    struct cluster_engine *engine = &node->engines[head->engine].face;
    int service = cluster_roster_find(&node->roster, head->service);
    if (head->kind != MESSAGE_DRAIN && service < 0) {
        say_lacking(node, head, "the node does not have the model yet"); /* or not any more */
        return;
    }
    if (head->kind == MESSAGE_LOAD && node->leaves_ns > 0) {
        say_lacking(node, head, "the node's process ends");
        return;
    }
    node->engines[head->engine].due_ns = 0;
    switch (head->kind) {
    case MESSAGE_LOAD:
        engine->load(engine->self, service);
        break;
    case MESSAGE_UNLOAD:
    case MESSAGE_OUST:
        engine->unload(engine->self, service, head->kind == MESSAGE_OUST);
        break;
    case MESSAGE_SLEEP:
        if (engine->sleep != NULL)
            engine->sleep(engine->self, service);
        else
            engine->unload(engine->self, service, false);
        break;
    case MESSAGE_DRAIN:
        engine->drain(engine->self);
        break;
    default:
        break; /* not for a node */
    }
}

static bool is_of_session(const struct message_head *head)
{
    return head->kind == MESSAGE_OPEN || head->kind == MESSAGE_SUBMIT ||
           head->kind == MESSAGE_CANCEL || head->kind == MESSAGE_BEAT ||
           head->kind == MESSAGE_CLOSED || head->kind == MESSAGE_WANT ||
           head->kind == MESSAGE_SPACE || head->kind == MESSAGE_DEMAND ||
           head->kind == MESSAGE_RESEND;
}

/* A message of a gateway that counts. */
static bool take_counted(struct cluster_node *node, struct node_link *from,
                         const struct message_head *head, size_t n_bytes)
{
    const struct node_life *life;
    if (!cluster_message_is_valid(head, n_bytes, node->options.n_engines))
        return refuse_message(node, &from->link, head, n_bytes);
    switch (head->kind) {
    case MESSAGE_SUBMIT:
        node->engines[head->engine].due_ns = 0;
        return take_submit(node, from, (const void *)head);
    case MESSAGE_CANCEL:
        life = node_lives_find(&node->lives, head->id);
        if (life != NULL && life->epoch == head->epoch && life->session == head->session)
            cancel_life(node, life);
        return true;
    case MESSAGE_WANT:
    case MESSAGE_SPACE:
        tell_wish(node, head, n_bytes);
        return true;
    case MESSAGE_DEMAND: /* only a manager of many nodes reads it */
        if (node->options.fence != NULL)
            node_lead_pass_on(&node->lead, head, n_bytes);
        return true;
    case MESSAGE_CLOSED:
        end_session(node, from);
        return true;
    default:
        return true;
    }
}

/* Returns false when the answer has no room; then the message stays where it is. */
static bool take_from_gateway(struct cluster_node *node, const struct message_head *head,
                              size_t n_bytes)
{
    if (head->kind == MESSAGE_OPEN)
        begin_session(node, head);
    struct node_link *from = find_link(node, head->from);
    struct cluster_link none = { .port = node->options.port, .peer = head->from };
    switch (cluster_link_take(from != NULL ? &from->link : &none, head)) {
    case CLUSTER_LINK_COUNTS:
        if (take_counted(node, from, head, n_bytes))
            return true;
        cluster_link_untake(&from->link);
        return false;
    case CLUSTER_LINK_MISSING:
        end_session(node, from);
        return true;
    default:
        return true;
    }
}

static void take_from_lead(struct cluster_node *node, const struct message_head *head,
                           size_t n_bytes)
{
    uint64_t session = node->lead.link.session;
    if (!cluster_message_is_valid(head, n_bytes, node->options.n_engines))
        (void)refuse_message(node, NULL, head, n_bytes);
    else if (node_lead_take(&node->lead, head, node->now_ns))
        obey(node, head);
    if (node->lead.link.session != session)
        have_news(node); /* its first reports */
}

/* Orders outside of a session are those of the node's own process, on a bus that knows it. */
static bool may_order(const struct bus_port *port, const struct message_head *head)
{
    return !port->can_lose || port->n_local == 0 || head->from < port->n_local;
}

static void take_mail(struct cluster_node *node)
{
    const struct bus_port *port = &node->options.port;
    const void *message;
    size_t n_bytes;
    while (port->peek(port->self, port->address, &message, &n_bytes)) {
        const struct message_head *head = message;
        bool is_read = n_bytes >= sizeof *head && head->version == MESSAGE_VERSION;
        if (is_read && node_lead_is_for(&node->lead, head)) {
            take_from_lead(node, head, n_bytes);
        } else if (is_read && is_of_session(head)) {
            if (!take_from_gateway(node, head, n_bytes))
                return;
        } else if (is_read && may_order(port, head) &&
                   cluster_message_is_valid(head, n_bytes, node->options.n_engines)) {
            obey(node, head);
        } else {
            (void)refuse_message(node, NULL, head, n_bytes);
        }
        port->pop(port->self, port->address);
    }
}

/* ---- News of the engines. ---- */

static void follow(struct node_life *life, const struct service_event *event, int64_t now_ns)
{
    if (event->what != SERVICE_TOKENS)
        return;
    life->n_tokens = event->position + event->n_tokens;
    if (life->first_ns == 0)
        life->first_ns = now_ns;
}

/* Drops events of an orphan. Returns false when its gateway has no room now. */
static bool send_event(struct cluster_node *node, int e, const struct service_event *event,
                       const void *payload)
{
    struct node_life *life = node_lives_find(&node->lives, event->id);
    if (life == NULL || life->epoch != event->epoch)
        return true;
    struct cluster_link *link = &node->links[life->peer].link;
    if (life->session != 0 && life->session == link->session &&
        !post_event(node, link, e, event, payload))
        return false;
    follow(life, event, node->now_ns);
    if (event->what == SERVICE_RETURNED && event->n_kept > 0 && node->leaves_ns > 0)
        node->kept_ns = node->now_ns;
    if (event->what == SERVICE_RETURNED || event->what == SERVICE_ENDED) {
        node_lives_remove(&node->lives, life);
        node->engines[e].is_other = true;
    }
    return true;
}

static bool send_events(struct cluster_node *node, int e)
{
    struct node_engine *engine = &node->engines[e];
    const struct service *service = &engine->face.service;
    for (int i = 0; i < EVENTS_PER_STEP; i++) {
        if (!engine->is_held && !service->next(service->self, &engine->event, &engine->payload))
            return true;
        engine->is_held = !send_event(node, e, &engine->event, engine->payload);
        if (engine->is_held)
            return false;
    }
    return false;
}

static struct message_change change_of(const struct cluster_node *node,
                                       const struct service_change *change)
{
    const struct cluster_roster *roster = &node->roster;
    bool is_there = roster->lives[change->service] == change->life;
    return cluster_message_change(node->options.port.address,
                                  is_there ? roster->names[change->service] : 0, change);
}

static void send_changes(struct cluster_node *node, int e)
{
    struct node_engine *engine = &node->engines[e];
    for (;;) {
        if (!engine->is_change_held &&
            !engine->face.next_change(engine->face.self, &engine->change))
            return;
        engine->change.engine = (uint16_t)e;
        struct message_change message = change_of(node, &engine->change);
        /* A gateway may get it twice without harm, since an unchanged status is no news. */
        engine->is_change_held = !tell_gateways(node, &message, sizeof message) ||
                                 !tell_manager(node, &message, sizeof message) ||
                                 !node_lead_send(&node->lead, &message, sizeof message);
        if (engine->is_change_held)
            return;
        engine->has_news = true; /* so that routers learn of it at once */
    }
}

static bool has_several_gateways(const struct cluster_node *node)
{
    int n = 0;
    for (int i = 0; i < node->n_links && n < 2; i++)
        n += node->links[i].link.session != 0;
    return n == 2;
}

/* Sends the engine's report to each gateway, with what the other gateways have there. */
static void report_to_gateways(struct cluster_node *node, int e)
{
    node->engines[e].is_other = false;
    node->engines[e].count_ns = node->now_ns + COUNT_NS;
    node_load_count(&node->load, &node->lives, e, node->now_ns);
    for (int i = 0; i < node->n_links; i++) {
        struct cluster_link *link = &node->links[i].link;
        if (link->session == 0)
            continue;
        const struct route_others *others = node_load_of_others(&node->load, i);
        size_t n_bytes = cluster_message_write_others(others, &node->roster, &node->report);
        (void)cluster_link_send(link, &node->report, n_bytes, NULL, 0);
    }
}

/* Makes the engine's report. Returns its bytes; 0 for an engine that starts and has not reported
 * yet, which does not mean bad health. */
static size_t make_report(struct cluster_node *node, int e)
{
    const struct cluster_engine *engine = &node->engines[e].face;
    const struct engine_report *report = engine->report(engine->self);
    struct message_report *message = &node->report;
    if (report->memory_bytes == 0)
        return 0;
    message->head = cluster_message_head(MESSAGE_REPORT, node->options.port.address, 0);
    message->head.engine = (uint16_t)e;
    message->place = node->options.place;
    message->place.engine = (uint16_t)e;
    size_t n_bytes = cluster_message_write_report(report, &node->roster, message, node->now_ns);
    message->report.is_draining |= node->leaves_ns > 0;
    return n_bytes;
}

/* Returns false for an engine that has not reported yet. */
static bool send_report(struct cluster_node *node, int e)
{
    struct message_report *message = &node->report;
    size_t n_bytes = make_report(node, e);
    if (n_bytes == 0)
        return false;
    /* A report without room is just late, and the next one has newer data. */
    (void)tell_manager(node, message, n_bytes);
    (void)node_lead_send(&node->lead, message, n_bytes);
    report_to_gateways(node, e);
    node->engines[e].has_news = false;
    return true;
}

/* Tells gateways soon what the others have on an engine. Returns when that is due. */
static int64_t count_soon(struct cluster_node *node, int e, bool has_several)
{
    struct node_engine *engine = &node->engines[e];
    if (!engine->is_other || !has_several)
        return TIME_NEVER;
    if (engine->count_ns <= node->now_ns && make_report(node, e) > 0)
        report_to_gateways(node, e);
    return engine->is_other ? max_i64(engine->count_ns, node->now_ns + TIME_NS_PER_MS) : TIME_NEVER;
}

/* Returns when the next is due. */
static int64_t step_engine(struct cluster_node *node, int e, int64_t now_ns)
{
    struct node_engine *engine = &node->engines[e];
    int64_t due_ns = engine->face.step(engine->face.self, now_ns);
    if (!send_events(node, e))
        due_ns = now_ns;
    send_changes(node, e);
    return engine->is_change_held ? min_i64(due_ns, now_ns + TIME_NS_PER_MS) : due_ns;
}

int64_t cluster_node_step(struct cluster_node *node, int64_t now_ns)
{
    int64_t wake = TIME_NEVER;
    bool is_due = now_ns >= node->next_report_ns, have_all = true;
    bool steps_all = is_due || !node->options.is_passive;
    int n = node->options.n_engines;
    node->now_ns = now_ns;
    take_mail(node);
    for (int i = 0; i < node->n_links; i++)
        if (!cluster_link_step(&node->links[i].link, now_ns, &wake))
            end_session(node, &node->links[i]);
    node_lead_step(&node->lead, now_ns, &wake);
    for (int e = 0; e < n; e++) {
        if (steps_all || node->engines[e].due_ns <= now_ns)
            node->engines[e].due_ns = step_engine(node, e, now_ns);
        wake = min_i64(wake, node->engines[e].due_ns);
    }
    if (is_due)
        have_news(node);
    bool has_several = has_several_gateways(node);
    for (int e = 0; e < n; e++) {
        if (node->engines[e].has_news)
            have_all &= send_report(node, e);
        wake = min_i64(wake, count_soon(node, e, has_several));
    }
    if (is_due)
        node->next_report_ns = now_ns + node->options.report_ns;
    if (!have_all)
        node->next_report_ns = min_i64(node->next_report_ns, now_ns + TIME_NS_PER_MS);
    return min_i64(wake, node->next_report_ns);
}

/* Its models leave, also with requests. */
static void begin_to_leave(struct cluster_node *node, int64_t now_ns)
{
    log_line(LOG_INFO, "node", "returns %u requests, since the process ends", node->lives.n);
    node->leaves_ns = now_ns;
    for (int e = 0; e < node->options.n_engines; e++) {
        const struct cluster_engine *engine = &node->engines[e].face;
        const struct engine_report *report = engine->report(engine->self);
        for (int s = 0; (s = set_next(&report->listed, s, report->n_services)) >= 0; s++)
            if (report->services[s].status == SERVICE_LOADED)
                engine->unload(engine->self, s, true);
        node->engines[e].due_ns = 0;
    }
    have_news(node);
}

bool cluster_node_leave(struct cluster_node *node, int64_t now_ns)
{
    if (node->leaves_ns == 0 && node->lives.n == 0)
        return true;
    if (node->leaves_ns == 0)
        begin_to_leave(node, now_ns);
    bool is_empty =
        node->lives.n == 0 && (node->kept_ns == 0 || now_ns >= node->kept_ns + LEAVE_KEEP_NS);
    return is_empty || now_ns >= node->leaves_ns + LEAVE_NS_MAX;
}

uint32_t cluster_node_n_requests(const struct cluster_node *node)
{
    return node->lives.n;
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
    node->engines = mem_take(sizeof *node->engines * (size_t)options->n_engines);
    for (int e = 0; e < options->n_engines; e++)
        node->engines[e].face = options->engines[e];
    cluster_roster_init(&node->roster);
    for (int s = 0; s < options->n_services; s++)
        cluster_roster_add(&node->roster, s, &options->services[s]);
    node_load_fit(&node->load, 0, options->n_services);
    node_lives_init(&node->lives, options->n_requests_max);
    node_lead_init(&node->lead, &options->port, options->fence);
    return node;
}

void cluster_node_add_service(struct cluster_node *node, int service,
                              const struct service_spec *spec)
{
    cluster_roster_add(&node->roster, service, spec);
    node_load_fit(&node->load, 0, service + 1);
    have_news(node);
}

void cluster_node_remove_service(struct cluster_node *node, int service)
{
    cluster_roster_remove(&node->roster, service);
    have_news(node);
}

void cluster_node_close(struct cluster_node *node)
{
    cluster_roster_free(&node->roster);
    node_lives_free(&node->lives);
    node_load_free(&node->load);
    for (int i = 0; i < node->n_links; i++)
        cluster_link_free(&node->links[i].link);
    cluster_link_free(&node->lead.link);
    mem_give(node->links);
    mem_give(node->engines);
    mem_give(node);
}
