/* The manager loads and unloads models on engines, only by messages. */
#include "cluster/manager.h"

#include "base/log.h"
#include "base/mem.h"
#include "cluster/manager_move.h"
#include "cluster/manager_orders.h"
#include "cluster/manager_plan.h"
#include "cluster/manager_room.h"
#include "cluster/message.h"
#include <string.h>

static const int64_t FRESH_NS =
    TIME_NS_PER_S; /* a model that was loaded for requests waits for them this long */
static const int64_t REPORT_NS_MAX =
    5 * TIME_NS_PER_S; /* without a newer report for this long, the last one counts */
static const int64_t HELD_NS = 300 * TIME_NS_PER_MS; /* a gateway silent for this long holds
                                                        nothing for a loaded model */
/* With more engines than this, reports and changes are followed by a plan at most every PLAN_NS. */
enum { MANY_ENGINES = 64 };
static const int64_t PLAN_NS = 10 * TIME_NS_PER_MS;
static const int64_t LACKING_NS = TIME_NS_PER_S; /* until a node without the model is asked again */
static const char BUSY_SENTENCE[] = "has requests: a busy model is not unloaded";

/* ---- Mail. ---- */

/* Callers that wanted it out are satisfied. */
static void answer_out(struct cluster_manager *m, int service)
{
    if (manager_orders_is_loaded_anywhere(m, service))
        return;
    manager_orders_answer(m, service, CONTROL_UNLOAD, STATUS_OK, NULL);
    manager_orders_answer(m, service, CONTROL_SLEEP, STATUS_OK, NULL);
}

static void take_report(struct cluster_manager *m, int e, const struct message_report *message)
{
    struct set listed = m->reports[e].listed; /* what is not any more is news, too */
    m->reports[e].n_services = m->options.n_services;
    cluster_message_read_report(message, &m->roster, &m->reports[e], m->now_ns);
    set_add_all(&listed, &m->reports[e].listed);
    set_add_all(&m->of_engines[e].known, &listed);
    m->of_engines[e].has_report = true;
    for (int s = 0; (s = set_next(&listed, s, m->options.n_services)) >= 0; s++) {
        const struct service_report *report = &m->reports[e].services[s];
        struct manager_place *place = manager_room_place(m, e, s);
        bool is_busy = report->n_waiting + report->n_running > 0;
        if (report->status == SERVICE_LOADED && place->status != SERVICE_LOADED)
            place->idle_since_ns = place->loaded_ns = m->now_ns;
        bool was_used = report->n_arrived != place->n_arrived; /* also for less than a report */
        if (is_busy)
            place->idle_since_ns = TIME_NEVER;
        else if (place->idle_since_ns == TIME_NEVER || was_used)
            place->idle_since_ns = m->now_ns;
        if (was_used)
            place->fresh_until_ns = 0;
        place->n_arrived = report->n_arrived;
        place->status = report->status;
        place->is_asleep = report->sleep_bytes > 0;
        if (report->weights_bytes > 0)
            m->need_bytes[s] = report->weights_bytes + report->activation_bytes;
        /* An engine says nothing to an unload of a model that it does not have. A node that
         * started anew gets such an order, if the manager knew only what it had before. */
        if (place->is_asked_out && report->status == SERVICE_UNLOADED) {
            place->is_asked_out = false;
            answer_out(m, s);
        }
    }
}

/* It is loaded now, or still is: an engine keeps a model that has requests. */
static void take_loaded(struct cluster_manager *m, struct manager_place *place, int service,
                        enum status cause)
{
    struct manager_want *want = &m->wants[service];
    if (cause == STATUS_BUSY) {
        place->is_asked_out = false;
        place->idle_since_ns = TIME_NEVER;
        manager_orders_refuse(m, service, CONTROL_UNLOAD, STATUS_BUSY, BUSY_SENTENCE);
        manager_orders_refuse(m, service, CONTROL_SLEEP, STATUS_BUSY, BUSY_SENTENCE);
    } else {
        place->idle_since_ns = place->loaded_ns = m->now_ns;
        place->fresh_until_ns = want->is_for_requests ? m->now_ns + FRESH_NS : 0;
        /* A service that was placed on certain engines has copies on all of them. */
        if (set_has(&m->wanted, service) && !set_is_empty(&m->services[service].engines))
            manager_orders_make_due(m, service);
    }
    want->is_for_requests = false;
    set_remove(&m->wanted, service);
    manager_orders_answer(m, service, CONTROL_LOAD, STATUS_OK, NULL);
}

/* It stays loaded, since host memory has no room for its weights. A caller that wanted it to sleep
 * learns that; without one it leaves all the same. */
static void take_sleepless(struct cluster_manager *m, const struct service_change *change)
{
    bool is_asked = false;
    for (int i = 0; i < m->n_asks; i++)
        is_asked = is_asked || (m->asks[i].service == change->service &&
                                m->asks[i].kind == CONTROL_SLEEP && !m->asks[i].is_answered);
    manager_room_place(m, change->engine, change->service)->is_asked_out = false;
    if (is_asked) {
        manager_orders_answer(m, change->service, CONTROL_SLEEP, STATUS_TOO_LARGE, &change->fault);
        set_remove(&m->wanted, change->service);
        manager_orders_answer(m, change->service, CONTROL_LOAD, STATUS_OK, NULL);
    } else {
        manager_orders_out(m, MESSAGE_UNLOAD, change->engine, change->service,
                           "host memory has no room for it to sleep");
    }
}

/* A load failed. Another engine is tried at once, since the fault may be this one's alone: a
 * damaged file, or too little memory. When none is left, waiting gateways learn why. */
static void take_broken(struct cluster_manager *m, const struct service_change *change)
{
    struct manager_place *place = manager_room_place(m, change->engine, change->service);
    bool is_lacking = change->cause == STATUS_BUSY; /* its node does not have the model yet */
    place->is_asked_out = false;
    place->avoid_until_ns =
        m->now_ns + (is_lacking ? LACKING_NS : SERVICE_LOAD_AGAIN_S * TIME_NS_PER_S);
    if (!is_lacking && !manager_room_is_anywhere(m, change->service) &&
        !manager_room_has_hope(m, change->service))
        manager_orders_note_broken(m, change->service, (enum status)change->cause, &change->fault);
    answer_out(m, change->service);
}

static void take_change(struct cluster_manager *m, const struct service_change *change)
{
    struct manager_place *place = manager_room_place(m, change->engine, change->service);
    int service = change->service;
    set_add(&m->of_engines[change->engine].known, service);
    place->is_asked_in = false;
    place->status = change->status;
    place->is_asleep = change->sleep_bytes > 0;
    if (change->status == SERVICE_LOADED && change->cause == STATUS_TOO_LARGE) {
        take_sleepless(m, change);
        return;
    }
    switch (change->status) {
    case SERVICE_LOADING:
    case SERVICE_DRAINING_OUT:
        break; /* its end will be reported */
    case SERVICE_LOADED:
        take_loaded(m, place, service, (enum status)change->cause);
        break;
    case SERVICE_BROKEN:
        take_broken(m, change);
        break;
    default:
        place->is_asked_out = false;
        answer_out(m, service);
        if (!manager_room_is_anywhere(m, service) && !set_has(&m->wanted, service))
            manager_orders_refuse(m, service, CONTROL_LOAD, STATUS_CANCELLED,
                                  "was unloaded while it loaded");
        break;
    }
}

/* Orders it out of an engine, for an unload or a sleep that was asked for. */
static void order_out(struct cluster_manager *m, int e, const struct manager_ask *ask)
{
    bool is_sleep = ask->kind == CONTROL_SLEEP;
    const struct manager_place *place = manager_room_place(m, e, ask->service);
    set_remove(&m->of_engines[e].due, ask->service);
    if (manager_room_is_in(place) || (place->is_asleep && !is_sleep))
        manager_orders_out(m, is_sleep ? MESSAGE_SLEEP : MESSAGE_UNLOAD, e, ask->service, "asked");
}

/* Returns whether a router holds requests for the model. Sleeps that come again and again would
 * otherwise keep it from them for ever. */
static bool is_awaited(const struct cluster_manager *m, int service)
{
    const struct manager_want *want = &m->wants[service];
    bool is_held = set_has(&m->wanted, service) && want->is_for_requests;
    for (int e = 0; e < m->nodes.n_engines; e++) {
        const struct manager_place *place = manager_room_place(m, e, service);
        is_held = is_held || place->held_until_ns > m->now_ns ||
                  place->fresh_until_ns > m->now_ns; /* they are on their way to it */
    }
    return is_held;
}

/* A model is busy by reports that were made after the call. So a client that has all its answers
 * may unload at once. */
static void judge_unload(struct cluster_manager *m, struct manager_ask *ask)
{
    bool is_busy = false, is_there = false, is_known = true;
    int service = ask->service;
    for (int e = 0; e < m->nodes.n_engines; e++) {
        const struct manager_place *place = manager_room_place(m, e, service);
        is_there = is_there || manager_room_is_in(place) ||
                   (place->is_asleep && ask->kind == CONTROL_UNLOAD);
        if (place->status != SERVICE_LOADED || place->idle_since_ns != TIME_NEVER)
            continue;
        is_busy = true;
        is_known = is_known && m->reports[e].now_ns > ask->asked_ns;
    }
    bool is_held = ask->kind == CONTROL_SLEEP && is_awaited(m, service);
    if (((is_busy && !is_known) || is_held) && m->now_ns < ask->asked_ns + REPORT_NS_MAX)
        return; /* judged again at the next step */
    ask->is_judged = true;
    if (is_busy || is_held) {
        manager_orders_refuse(m, service, ask->kind, STATUS_BUSY, BUSY_SENTENCE);
    } else if (!is_there) {
        manager_orders_answer(m, service, ask->kind, STATUS_OK, NULL);
    } else {
        set_remove(&m->wanted, service);
        for (int e = 0; e < m->nodes.n_engines; e++)
            order_out(m, e, ask);
    }
}

/* Returns whether an engine has the model and was not told to let it go. */
static bool stays_anywhere(const struct cluster_manager *m, int service)
{
    for (int e = 0; e < m->nodes.n_engines; e++) {
        const struct manager_place *place = manager_room_place(m, e, service);
        if (place->status == SERVICE_LOADED && !place->is_asked_out)
            return true;
    }
    return false;
}

static void take_ask(struct cluster_manager *m, const struct message_ask *message, int service)
{
    if (message->kind == CONTROL_DRAIN) {
        for (int e = 0; e < m->nodes.n_engines; e++)
            (void)manager_orders_post(m, MESSAGE_DRAIN, e, 0);
        return;
    }
    if (m->n_asks == MANAGER_ASKS_MAX)
        return;
    m->asks[m->n_asks++] = (struct manager_ask){ .id = message->head.id,
                                                 .kind = message->kind,
                                                 .service = (uint16_t)service,
                                                 .asked_ns = m->now_ns };
    if (message->kind == CONTROL_SLEEP && !m->options.may_sleep) {
        manager_orders_refuse(m, service, CONTROL_SLEEP, STATUS_TOO_LARGE,
                              "can't sleep, since this server has no sleep_bytes: unload it");
    } else if (message->kind == CONTROL_UNLOAD || message->kind == CONTROL_SLEEP) {
        judge_unload(m, &m->asks[m->n_asks - 1]);
    } else if (stays_anywhere(m, service)) {
        manager_orders_answer(m, service, CONTROL_LOAD, STATUS_OK, NULL);
    } else if (set_has(&m->dismissed, service)) {
        manager_orders_refuse(m, service, CONTROL_LOAD, STATUS_CANCELLED, MANAGER_ORDERS_GONE);
    } else {
        set_add(&m->wanted, service);
        m->wants[service].until_ns = TIME_NEVER;
        m->wants[service].broken_until_ns = 0;       /* an operator may try again at once, */
        for (int e = 0; e < m->nodes.n_engines; e++) /* also where the last load failed */
            manager_room_place(m, e, service)->avoid_until_ns = 0;
    }
}

/* Keeps a model in use while a router holds its requests. Returns false when it is on no engine, or
 * leaving. */
static bool keep_held(struct cluster_manager *m, int service)
{
    bool is_there = false;
    for (int e = 0; e < m->nodes.n_engines; e++) {
        struct manager_place *place = manager_room_place(m, e, service);
        if (place->status != SERVICE_LOADED || place->is_asked_out)
            continue;
        is_there = true;
        place->held_until_ns = m->now_ns + HELD_NS;
        if (place->idle_since_ns != TIME_NEVER)
            place->idle_since_ns = m->now_ns;
    }
    return is_there;
}

static void take_want(struct cluster_manager *m, int service)
{
    struct manager_want *want = &m->wants[service];
    if (keep_held(m, service) || set_has(&m->dismissed, service))
        return;
    if (want->said_ns + MANAGER_WANT_NS <= m->now_ns)
        want->since_ns = m->now_ns;
    want->said_ns = m->now_ns;
    if (!set_has(&m->wanted, service) || want->until_ns != TIME_NEVER)
        want->until_ns = m->now_ns + MANAGER_WANT_NS;
    want->is_for_requests = true;
    set_add(&m->wanted, service);
}

/* Gives an answer that has begun what it needs. Models leave with their requests, which wait for
 * them. Pinned models, and those loaded at start, come back after it. */
static void oust(struct cluster_manager *m, int engine, int service)
{
    manager_orders_out(m, MESSAGE_OUST, engine, service,
                       "an answer that has begun needs its memory");
    const struct service_spec *spec = &m->services[service];
    if (manager_room_is_anywhere(m, service) || set_has(&m->dismissed, service) ||
        (!spec->is_loaded_at_start && spec->keep_alive_ns >= 0))
        return;
    m->wants[service].until_ns = TIME_NEVER;
    set_add(&m->wanted, service);
}

/* A request needs space on an engine that other models have, so the longest idle of them leave, if
 * that can be enough. One leaves even if the bytes would suffice, since the sender was refused. */
static void take_space(struct cluster_manager *m, const struct message_space *message, int e,
                       int service)
{
    struct residency_model residents[LIMIT_SERVICES];
    struct residency_eviction eviction;
    int own = -1;
    int64_t free_bytes;
    const struct set *known = &m->of_engines[e].known;
    if (message->insists)
        m->of_engines[e].awaited_until_ns = m->now_ns + HELD_NS;
    for (int s = 0; (s = set_next(known, s, m->options.n_services)) >= 0; s++) {
        if (manager_room_place(m, e, s)->is_asked_out ||
            manager_room_place(m, e, s)->status == SERVICE_DRAINING_OUT)
            return; /* its bytes become free, so the request tries again */
    }
    int32_t n = manager_room_list(m, e, residents, &free_bytes);
    for (int32_t i = 0; i < n; i++)
        own = residents[i].service == service ? i : own;
    if (own < 0)
        return; /* it left: requests want it in again */
    int64_t total_bytes = manager_room_bytes(m, e) - residents[own].n_bytes;
    residents[own] = residents[--n];
    if (message->insists)
        manager_room_open(m, e, residents, n);
    residency_evict(residents, n, max_i64(message->n_bytes, free_bytes + 1), free_bytes,
                    total_bytes, &eviction);
    for (int32_t i = 0; i < eviction.n_victims; i++) {
        if (message->insists)
            oust(m, e, eviction.victims[i]);
        else
            manager_orders_out(m, manager_orders_idle(m), e, eviction.victims[i],
                               "another model's request needs its memory");
    }
}

/* Returns whether a control call names no service. */
static bool is_of_all(const struct message_head *head)
{
    return head->kind == MESSAGE_ASK &&
           ((const struct message_ask *)(const void *)head)->kind == CONTROL_DRAIN;
}

static void take_from_node(struct cluster_manager *m, int node, const struct message_head *head)
{
    const void *message = head;
    int engine = m->nodes.first_engine[node] + head->engine;
    struct service_change change;
    int service = cluster_roster_find(&m->roster, head->service);
    if (head->kind == MESSAGE_REPORT)
        take_report(m, engine, message);
    else if (head->kind == MESSAGE_WANT && service >= 0) /* a gateway's, which the node passed on */
        take_want(m, service);
    else if (head->kind == MESSAGE_SPACE && service >= 0)
        take_space(m, message, engine, service);
    else if (head->kind == MESSAGE_DEMAND && service >= 0 && m->options.hears_demand != NULL)
        m->options.hears_demand(m->options.self, service, message);
    if (head->kind != MESSAGE_CHANGE || !cluster_message_read_change(message, &m->roster, &change))
        return; /* or it is of a service that has left */
    change.engine = (uint16_t)engine;
    take_change(m, &change);
}

static void take_from_gateway(struct cluster_manager *m, const struct message_head *head)
{
    const void *message = head;
    int service = cluster_roster_find(&m->roster, head->service);
    if (service < 0 && !is_of_all(head))
        return; /* of a service that has left */
    if (head->kind == MESSAGE_WANT)
        take_want(m, service);
    else if (head->kind == MESSAGE_SPACE)
        take_space(m, message, head->engine, service);
    else if (head->kind == MESSAGE_ASK)
        take_ask(m, message, service);
}

static void take_mail(struct cluster_manager *m)
{
    const struct bus_port *port = &m->options.port;
    const void *message;
    size_t n_bytes;
    while (port->peek(port->self, port->address, &message, &n_bytes)) {
        const struct message_head *head = message;
        int node = n_bytes >= sizeof *head ? cluster_nodes_find(&m->nodes, head->from) : -1;
        int n_engines = node >= 0 ? m->nodes.of[node].n_engines : m->nodes.n_engines;
        if (!cluster_message_is_valid(message, n_bytes, n_engines))
            log_line(LOG_WARN, "manager", "dropped a malformed message of %zu bytes", n_bytes);
        else if (node >= 0)
            take_from_node(m, node, head);
        else
            take_from_gateway(m, head);
        m->has_news = m->has_news || node < 0 ||
                      (n_bytes >= sizeof *head &&
                       (head->kind == MESSAGE_WANT || head->kind == MESSAGE_SPACE));
        port->pop(port->self, port->address);
    }
}

static int64_t unload_expired(struct cluster_manager *m)
{
    int64_t wake = TIME_NEVER;
    for (int e = 0; e < m->nodes.n_engines && m->any_expires; e++) {
        struct residency_model residents[LIMIT_SERVICES];
        uint16_t expired[LIMIT_SERVICES];
        int64_t free_bytes, next_ns;
        int32_t n = manager_room_list(m, e, residents, &free_bytes);
        int32_t n_expired = residency_expired(residents, n, m->now_ns, expired, &next_ns);
        for (int32_t i = 0; i < n_expired; i++)
            manager_orders_out(m, manager_orders_idle(m), e, expired[i],
                               "idle for longer than its keep_alive");
        wake = min_i64(wake, next_ns);
    }
    return wake;
}

/* Each wanted model has one place by now. This adds as many more as fit without eviction, of models
 * that are loaded at start or placed on several engines, so that every engine that may serve one
 * does. */
static void fill(struct cluster_manager *m)
{
    int n = m->options.n_services;
    for (int s = 0; (s = set_next(&m->wanted, s, n)) >= 0; s++) {
        if (!manager_room_is_anywhere(m, s))
            return;
    }
    for (int e = 0; e < m->nodes.n_engines && m->n_due > 0; e++) {
        struct manager_engine *engine = &m->of_engines[e];
        struct set *due = &engine->due;
        if (!engine->has_due || !engine->has_report || engine->is_unplanned ||
            engine->awaited_until_ns > m->now_ns)
            continue;
        engine->has_due = false;
        m->n_due--;
        for (int s = 0; (s = set_next(due, s, n)) >= 0; s++) {
            struct residency_model residents[LIMIT_SERVICES];
            int64_t free_bytes;
            set_remove(due, s);
            if (manager_room_is_in(manager_room_place(m, e, s)))
                continue;
            (void)manager_room_list(m, e, residents, &free_bytes);
            if (free_bytes >= m->need_bytes[s])
                manager_orders_in(m, e, s);
        }
    }
}

/* Decides unloads that wait for a report, and sends answers that wait for room. */
static int64_t judge_unloads(struct cluster_manager *m)
{
    int64_t wake = TIME_NEVER;
    for (int i = 0; i < m->n_asks; i++) {
        struct manager_ask *ask = &m->asks[i];
        bool is_out = ask->kind == CONTROL_UNLOAD || ask->kind == CONTROL_SLEEP;
        if (!is_out || ask->is_judged || ask->is_answered)
            continue;
        judge_unload(m, ask);
        wake = min_i64(wake, ask->asked_ns + REPORT_NS_MAX);
    }
    manager_orders_say_answers(m);
    return wake;
}

/* Sends out models that leave for good. Loads are cancelled, and a model with requests waits for a
 * report without any. */
static void send_out_dismissed(struct cluster_manager *m)
{
    for (int s = 0; (s = set_next(&m->dismissed, s, m->options.n_services)) >= 0; s++) {
        for (int e = 0; e < m->nodes.n_engines; e++) {
            const struct manager_place *place = manager_room_place(m, e, s);
            bool is_busy = place->status == SERVICE_LOADED && place->idle_since_ns == TIME_NEVER;
            if (manager_room_is_in(place) && !place->is_asked_out && !is_busy)
                manager_orders_out(m, MESSAGE_UNLOAD, e, s, "it leaves this server");
        }
    }
}

/* Returns whether a plan may wait, since only reports and changes came. */
static bool may_wait(const struct cluster_manager *m)
{
    return m->nodes.n_engines > MANY_ENGINES && !m->has_news && m->now_ns < m->wake_ns &&
           m->now_ns < m->planned_ns + PLAN_NS;
}

static int64_t plan(struct cluster_manager *m)
{
    int64_t now_ns = m->now_ns;
    m->has_news = false;
    m->planned_ns = now_ns;
    manager_room_count(m);
    send_out_dismissed(m);
    int64_t wake = m->options.is_silent ? TIME_NEVER : unload_expired(m);
    wake = min_i64(wake, manager_plan_step(m));
    wake = min_i64(wake, manager_move_step(m));
    for (int s = 0; (s = set_next(&m->wanted, s, m->options.n_services)) >= 0; s++) {
        if (m->wants[s].until_ns <= now_ns)
            set_remove(&m->wanted, s);
        else if (!manager_room_is_anywhere(m, s))
            manager_orders_bring_in(m, s);
        if (set_has(&m->wanted, s))
            wake = min_i64(wake, now_ns + MANAGER_RETRY_NS);
    }
    fill(m);
    wake = min_i64(wake, judge_unloads(m));
    VERIFY(manager_room_is_sound(m));
    m->is_counted = false;
    return wake;
}

int64_t cluster_manager_step(struct cluster_manager *m, int64_t now_ns)
{
    m->now_ns = now_ns;
    take_mail(m);
    if (m->is_frozen)
        return TIME_NEVER;
    if (may_wait(m))
        return min_i64(m->wake_ns, m->planned_ns + PLAN_NS);
    m->wake_ns = plan(m);
    return m->wake_ns;
}

struct cluster_manager *cluster_manager_open(const struct cluster_manager_options *options)
{
    struct cluster_manager *m = mem_take(sizeof *m);
    size_t n = (size_t)max_i32(options->n_services, options->n_services_max);
    m->options = *options;
    cluster_roster_init(&m->roster);
    m->options.n_services = 0;
    m->options.n_services_max = (int)n;
    m->services = mem_take(sizeof *m->services * n);
    cluster_nodes_init(&m->nodes, options->nodes, options->n_nodes);
    size_t n_engines = (size_t)m->nodes.n_engines;
    m->reports = mem_take(sizeof *m->reports * n_engines);
    m->places = mem_take(sizeof *m->places * n_engines * n);
    m->of_engines = mem_take(sizeof *m->of_engines * n_engines);
    m->drained = mem_take(sizeof *m->drained * (size_t)set_n_words(m->nodes.n));
    for (int s = 0; s < options->n_services; s++)
        cluster_manager_add_service(m, s, &options->services[s], options->need_bytes[s]);
    return m;
}

void cluster_manager_add_service(struct cluster_manager *m, int s, const struct service_spec *spec,
                                 int64_t need_bytes)
{
    CHECK(s >= 0 && s < m->options.n_services_max);
    cluster_roster_add(&m->roster, s, spec);
    m->options.n_services = max_i32(m->options.n_services, s + 1);
    m->services[s] = *spec;
    m->need_bytes[s] = need_bytes;
    m->wants[s] = (struct manager_want){ .until_ns = TIME_NEVER };
    m->n_copies[s] = 0;
    m->pins[s] = (struct manager_pin){ 0 };
    set_remove(&m->paused, s);
    set_remove(&m->news, s);
    m->any_expires = m->any_expires || spec->keep_alive_ns >= 0;
    if (spec->is_loaded_at_start && !m->options.is_silent)
        manager_orders_want(m, s);
}

void cluster_manager_dismiss_service(struct cluster_manager *m, int s)
{
    manager_orders_dismiss(m, s);
}

bool cluster_manager_remove_service(struct cluster_manager *m, int s)
{
    for (int e = 0; e < m->nodes.n_engines; e++) {
        const struct manager_place *place = manager_room_place(m, e, s);
        if (manager_room_is_in(place) || place->is_asked_out ||
            place->status == SERVICE_DRAINING_OUT)
            return false;
    }
    manager_orders_dismiss(m, s);
    manager_orders_answer(m, s, CONTROL_UNLOAD, STATUS_OK, NULL);
    manager_orders_answer(m, s, CONTROL_SLEEP, STATUS_OK, NULL);
    manager_orders_say_answers(m);
    for (int e = 0; e < m->nodes.n_engines; e++) {
        *manager_room_place(m, e, s) = (struct manager_place){ 0 };
        set_remove(&m->of_engines[e].known, s);
        set_remove(&m->reports[e].listed, s);
        m->reports[e].services[s] = (struct service_report){ 0 };
    }
    set_remove(&m->dismissed, s);
    cluster_roster_remove(&m->roster, s);
    m->services[s] = (struct service_spec){ 0 };
    return true;
}

void cluster_manager_close(struct cluster_manager *m)
{
    manager_move_free(m);
    cluster_roster_free(&m->roster);
    cluster_nodes_free(&m->nodes);
    mem_give(m->services);
    mem_give(m->reports);
    mem_give(m->places);
    mem_give(m->of_engines);
    mem_give(m->drained);
    mem_give(m);
}
