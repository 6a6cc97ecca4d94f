/* The manager: brings models in and out of engines, by messages alone. */
#include "cluster/manager.h"

#include "base/log.h"
#include "base/mem.h"
#include "base/time.h"
#include "cluster/message.h"
#include "place/residency.h"
#include <string.h>

enum { ASKS_MAX = 256 }; /* as many as a gateway has under way */
static const int64_t FRESH_NS =
    TIME_NS_PER_S; /* a model that was loaded for requests waits for them so long */
static const int64_t WANT_NS =
    TIME_NS_PER_S; /* a gateway that is silent for so long wants it no more */
static const int64_t REPORT_NS_MAX =
    5 * TIME_NS_PER_S; /* an engine that is silent for so long is as its last report says */
static const int64_t HELD_NS =
    300 * TIME_NS_PER_MS; /* and holds nothing for a model that is loaded */
static const char BUSY_SENTENCE[] = "has requests: a busy model is not unloaded";
static const int64_t RETRY_NS =
    20 * TIME_NS_PER_MS; /* between looks while a wanted model waits for room */

struct place {      /* a service on an engine */
    uint8_t status; /* of the last report */
    bool is_asked_in, is_asked_out;
    int64_t idle_since_ns; /* TIME_NEVER while it has requests */
    int64_t n_arrived;     /* requests that it ever got, by the last report */
    int64_t
        fresh_until_ns;    /* loaded for requests that are on their way to it: not evicted before */
    int64_t held_until_ns; /* a gateway holds requests for it, as between two slices: the same */
};
struct of_engine {
    struct set known;         /* services that were ever more than nothing here */
    struct set due;           /* to be loaded here as well, if that costs nobody his place */
    int64_t awaited_until_ns; /* an answer that has begun is to have the bytes: no model comes */
};
struct want {
    int64_t until_ns;     /* gateways say it again and again while requests are held */
    bool is_for_requests; /* they are held at a gateway */
    int64_t broken_until_ns;
    enum status cause;
    struct fault fault;
};
struct ask { /* a load or unload that somebody waits for */
    uint64_t id;
    uint8_t kind;
    uint16_t service;
    bool is_judged;   /* an unload that was ordered, if it may be */
    bool is_answered; /* said as soon as the gateway's mail has room */
    int64_t asked_ns;
    enum status status;
    struct fault fault;
};
struct cluster_manager {
    struct cluster_manager_options options;
    struct service_spec *services;
    int64_t need_bytes[LIMIT_SERVICES];
    struct place *places;         /* (n_engines, n_services) */
    struct of_engine *of_engines; /* (n_engines) */
    struct want wants[LIMIT_SERVICES];
    struct set wanted;  /* services */
    struct set has_due; /* engines whose `due` is not empty */
    bool any_expires;   /* some service has a keep-alive */
    struct engine_report *reports;
    bool has_report[LIMIT_ENGINES];
    struct ask asks[ASKS_MAX];
    int n_asks;
    int64_t now_ns;
};

static bool post(struct cluster_manager *m, uint16_t to, const void *message, size_t n_bytes)
{
    const struct bus_port *port = &m->options.port;
    return port->send(port->self, to, message, n_bytes, NULL, 0);
}

static bool post_order(struct cluster_manager *m, enum message_kind kind, int engine, int service)
{
    struct message_head head = cluster_message_head(kind, m->options.port.address, sizeof head);
    head.engine = (uint16_t)engine;
    head.service = (uint16_t)service;
    return post(m, m->options.node, &head, sizeof head);
}

/* ---- What is there. ---- */

/* What models may have of an engine. */
static int64_t bytes_of(const struct cluster_manager *m, int engine)
{
    return max_i64(0, m->reports[engine].memory_bytes - m->options.kept_bytes);
}

static struct place *place_of(const struct cluster_manager *m, int engine, int service)
{
    return &m->places[engine * m->options.n_services + service];
}

static bool may_serve(const struct cluster_manager *m, int engine, int service)
{
    return service_spec_allows(&m->services[service].engines, engine);
}

static bool is_in(const struct place *place)
{
    return place->is_asked_in || place->status == SERVICE_LOADED ||
           place->status == SERVICE_LOADING;
}

static bool is_anywhere(const struct cluster_manager *m, int service)
{
    for (int e = 0; e < m->options.n_engines; e++) {
        if (is_in(place_of(m, e, service)) && !place_of(m, e, service)->is_asked_out)
            return true;
    }
    return false;
}

static bool is_loaded_anywhere(const struct cluster_manager *m, int service)
{
    for (int e = 0; e < m->options.n_engines; e++) {
        if (place_of(m, e, service)->status == SERVICE_LOADED)
            return true;
    }
    return false;
}

static bool is_idle(const struct cluster_manager *m, const struct place *place)
{
    /* Who came home from it just now may be on its way to it again: a gateway says so by then. */
    int64_t heard_ns = m->now_ns - RETRY_NS;
    return place->status == SERVICE_LOADED && place->fresh_until_ns <= m->now_ns &&
           place->held_until_ns <= m->now_ns && place->idle_since_ns <= heard_ns;
}

/* The models of an engine as residency sees them; *free_bytes is what neither they nor orders under
 * way have claimed. */
static int32_t list_residents(const struct cluster_manager *m, int engine,
                              struct residency_model *out, int64_t *free_bytes)
{
    int32_t n = 0;
    *free_bytes = bytes_of(m, engine);
    const struct set *known = &m->of_engines[engine].known;
    for (int s = 0; (s = set_next(known, s, m->options.n_services)) >= 0; s++) {
        const struct place *place = place_of(m, engine, s);
        const struct service_report *report = &m->reports[engine].services[s];
        if (!is_in(place) && place->status != SERVICE_DRAINING_OUT)
            continue;
        int64_t n_bytes = report->weights_bytes + report->activation_bytes;
        n_bytes = n_bytes > 0 ? n_bytes : m->need_bytes[s];
        if (place->is_asked_out)
            continue; /* its bytes come back: the loader waits for them */
        *free_bytes -= n_bytes;
        out[n++] =
            (struct residency_model){ .service = (uint16_t)s,
                                      .n_bytes = n_bytes,
                                      .keep_alive_ns = m->services[s].keep_alive_ns,
                                      .idle_since_ns =
                                          is_idle(m, place) ? place->idle_since_ns : TIME_NEVER };
    }
    return n;
}

/* ---- Orders. ---- */

static void order_out(struct cluster_manager *m, enum message_kind kind, int engine, int service,
                      const char *why)
{
    if (!post_order(m, kind, engine, service))
        return;
    place_of(m, engine, service)->is_asked_out = true;
    log_line(LOG_INFO, "manager", "unloading %s from engine %d: %s", m->services[service].name,
             engine, why);
}

static void order_in(struct cluster_manager *m, int engine, int service)
{
    set_add(&m->of_engines[engine].known, service);
    place_of(m, engine, service)->is_asked_in = post_order(m, MESSAGE_LOAD, engine, service);
}

static bool post_answer(struct cluster_manager *m, const struct ask *ask)
{
    struct message_answer message = { .status = (uint8_t)ask->status, .fault = ask->fault };
    message.head = cluster_message_head(MESSAGE_ANSWER, m->options.port.address, sizeof message);
    message.head.service = ask->service;
    message.head.id = ask->id;
    return post(m, m->options.gateway, &message, sizeof message);
}

/* Says what is answered. What finds no room is said at a later step. */
static void say_answers(struct cluster_manager *m)
{
    int n_kept = 0;
    for (int i = 0; i < m->n_asks; i++) {
        if (!m->asks[i].is_answered || !post_answer(m, &m->asks[i]))
            m->asks[n_kept++] = m->asks[i];
    }
    m->n_asks = n_kept;
}

/* Said at the end of the step. */
static void answer_asks(struct cluster_manager *m, int service, uint8_t kind, enum status status,
                        const struct fault *fault)
{
    for (int i = 0; i < m->n_asks; i++) {
        struct ask *ask = &m->asks[i];
        if (ask->service != service || ask->kind != kind || ask->is_answered)
            continue;
        ask->is_answered = true;
        ask->status = status;
        if (fault)
            ask->fault = *fault;
    }
}

/* Whoever waits for the model is told why it does not come. */
static void tell_broken(struct cluster_manager *m, int service)
{
    struct want *want = &m->wants[service];
    struct message_change message = { .status = SERVICE_BROKEN,
                                      .cause = (uint8_t)want->cause,
                                      .fault = want->fault };
    set_remove(&m->wanted, service);
    message.head = cluster_message_head(MESSAGE_CHANGE, m->options.port.address, sizeof message);
    message.head.service = (uint16_t)service;
    (void)post(m, m->options.gateway, &message,
               sizeof message); /* lost: the gateway wants again and is told again */
    answer_asks(m, service, CONTROL_LOAD, want->cause, &want->fault);
}

/* The load failed: nobody tries again for a while, counted from now. */
static void note_broken(struct cluster_manager *m, int service, enum status cause,
                        const struct fault *fault)
{
    struct want *want = &m->wants[service];
    want->cause = cause;
    want->fault = *fault;
    want->broken_until_ns = m->now_ns + SERVICE_LOAD_AGAIN_S * TIME_NS_PER_S;
    tell_broken(m, service);
}

/* The engine that can take the model with the fewest evictions, then with most bytes left. -1: none
 * now; *never: none ever. */
static int choose_engine(const struct cluster_manager *m, int service,
                         struct residency_eviction *eviction, bool *never)
{
    int best = -1;
    *never = true;
    for (int e = 0; e < m->options.n_engines; e++) {
        struct residency_model residents[LIMIT_SERVICES];
        struct residency_eviction out;
        int64_t free_bytes;
        if (!may_serve(m, e, service) || !m->has_report[e])
            continue;
        /* How that ends is heard first. */
        if (place_of(m, e, service)->is_asked_out ||
            m->of_engines[e].awaited_until_ns > m->now_ns) {
            *never = false;
            continue;
        }
        int32_t n = list_residents(m, e, residents, &free_bytes);
        residency_evict(residents, n, m->need_bytes[service], free_bytes, bytes_of(m, e), &out);
        *never = *never && out.never;
        if (out.never || out.must_wait)
            continue;
        if (best < 0 || out.n_victims < eviction->n_victims ||
            (out.n_victims == eviction->n_victims && out.free_bytes > eviction->free_bytes)) {
            best = e;
            *eviction = out;
        }
    }
    return best;
}

/* Bytes of models that stay on the engine. */
static int64_t pinned_bytes(const struct cluster_manager *m, int engine)
{
    struct residency_model residents[LIMIT_SERVICES];
    int64_t free_bytes, sum = 0;
    int32_t n = list_residents(m, engine, residents, &free_bytes);
    for (int32_t i = 0; i < n; i++)
        sum += residents[i].keep_alive_ns < 0 ? residents[i].n_bytes : 0;
    return sum;
}

static void refuse_never(struct cluster_manager *m, int service)
{
    struct fault fault;
    int64_t most = 0, pinned = 0;
    for (int e = 0; e < m->options.n_engines; e++) {
        int64_t kept = pinned_bytes(m, e);
        if (!may_serve(m, e, service) || bytes_of(m, e) - kept < most - pinned)
            continue;
        most = bytes_of(m, e);
        pinned = kept;
    }
    fault_set(&fault, STATUS_TOO_LARGE,
              "model %s needs about %.1f MiB, and its engine has %.1f MiB, of which pinned models "
              "keep %.1f MiB",
              m->services[service].name, (double)m->need_bytes[service] * 0x1p-20,
              (double)most * 0x1p-20, (double)pinned * 0x1p-20);
    note_broken(m, service, STATUS_TOO_LARGE, &fault);
}

static void bring_in(struct cluster_manager *m, int service)
{
    struct residency_eviction eviction = { 0 };
    bool never, has_all = true;
    if (m->wants[service].broken_until_ns > m->now_ns) {
        tell_broken(m, service);
        return;
    }
    for (int e = 0; e < m->options.n_engines; e++)
        has_all = has_all && m->has_report[e];
    int engine = choose_engine(m, service, &eviction, &never);
    if (engine < 0) {
        if (never && has_all)
            refuse_never(m, service);
        return; /* looked at again at the next step */
    }
    for (int32_t i = 0; i < eviction.n_victims; i++)
        order_out(m, MESSAGE_UNLOAD, engine, eviction.victims[i], "another model needs its memory");
    order_in(m, engine, service);
}

/* On all engines that may serve it. */
static void make_due(struct cluster_manager *m, int service)
{
    for (int e = 0; e < m->options.n_engines; e++) {
        if (!may_serve(m, e, service))
            continue;
        set_add(&m->of_engines[e].due, service);
        set_add(&m->has_due, e);
    }
}

/* ---- Mail. ---- */

static void take_report(struct cluster_manager *m, const struct message_report *message)
{
    int e = message->head.engine;
    struct set listed = m->reports[e].listed; /* what is not any more is news, too */
    set_add_all(&listed, &message->report.listed);
    cluster_message_read_report(message, &m->reports[e]);
    set_add_all(&m->of_engines[e].known, &listed);
    m->has_report[e] = true;
    for (int s = 0; (s = set_next(&listed, s, m->options.n_services)) >= 0; s++) {
        const struct service_report *report = &m->reports[e].services[s];
        struct place *place = place_of(m, e, s);
        bool is_busy = report->n_waiting + report->n_running > 0;
        if (report->status == SERVICE_LOADED && place->status != SERVICE_LOADED)
            place->idle_since_ns = m->now_ns;
        bool was_used = report->n_arrived != place->n_arrived; /* also for less than a report */
        if (is_busy)
            place->idle_since_ns = TIME_NEVER;
        else if (place->idle_since_ns == TIME_NEVER || was_used)
            place->idle_since_ns = m->now_ns;
        if (was_used)
            place->fresh_until_ns = 0;
        place->n_arrived = report->n_arrived;
        place->status = report->status;
        if (report->weights_bytes > 0)
            m->need_bytes[s] = report->weights_bytes + report->activation_bytes;
    }
}

static void refuse_ask(struct cluster_manager *m, int service, uint8_t kind, enum status status,
                       const char *sentence)
{
    struct fault fault;
    fault_set(&fault, status, "model %s %s", m->services[service].name, sentence);
    answer_asks(m, service, kind, status, &fault);
}

/* Now loaded, or still: an engine lets no model go that has requests. */
static void take_loaded(struct cluster_manager *m, struct place *place, int service,
                        enum status cause)
{
    struct want *want = &m->wants[service];
    if (cause == STATUS_BUSY) {
        place->is_asked_out = false;
        place->idle_since_ns = TIME_NEVER;
        refuse_ask(m, service, CONTROL_UNLOAD, STATUS_BUSY, BUSY_SENTENCE);
    } else {
        place->idle_since_ns = m->now_ns;
        place->fresh_until_ns = want->is_for_requests ? m->now_ns + FRESH_NS : 0;
        /* Who was placed on certain engines has copies on all of them. */
        if (set_has(&m->wanted, service) && !set_is_empty(&m->services[service].engines))
            make_due(m, service);
    }
    want->is_for_requests = false;
    set_remove(&m->wanted, service);
    answer_asks(m, service, CONTROL_LOAD, STATUS_OK, NULL);
}

static void take_change(struct cluster_manager *m, const struct message_change *message)
{
    struct place *place = place_of(m, message->head.engine, message->head.service);
    int service = message->head.service;
    set_add(&m->of_engines[message->head.engine].known, service);
    place->is_asked_in = false;
    place->status = message->status;
    switch (message->status) {
    case SERVICE_LOADING:
    case SERVICE_DRAINING_OUT:
        break; /* its end will be told */
    case SERVICE_LOADED:
        take_loaded(m, place, service, (enum status)message->cause);
        break;
    case SERVICE_BROKEN:
        place->is_asked_out = false;
        if (!is_anywhere(m, service)) /* else that place will do */
            note_broken(m, service, (enum status)message->cause, &message->fault);
        if (!is_loaded_anywhere(m, service)) /* whoever wanted it out has his will */
            answer_asks(m, service, CONTROL_UNLOAD, STATUS_OK, NULL);
        break;
    default:
        place->is_asked_out = false;
        if (!is_loaded_anywhere(m, service))
            answer_asks(m, service, CONTROL_UNLOAD, STATUS_OK, NULL);
        if (!is_anywhere(m, service) && !set_has(&m->wanted, service))
            refuse_ask(m, service, CONTROL_LOAD, STATUS_CANCELLED, "was unloaded while it loaded");
        break;
    }
}

/* A model is busy by reports made after the ask: whoever has all his answers may unload at once. */
static void judge_unload(struct cluster_manager *m, struct ask *ask)
{
    bool is_busy = false, is_there = false, is_known = true;
    int service = ask->service;
    for (int e = 0; e < m->options.n_engines; e++) {
        const struct place *place = place_of(m, e, service);
        is_there = is_there || is_in(place);
        if (place->status != SERVICE_LOADED || place->idle_since_ns != TIME_NEVER)
            continue;
        is_busy = true;
        is_known = is_known && m->reports[e].now_ns > ask->asked_ns;
    }
    if (is_busy && !is_known && m->now_ns < ask->asked_ns + REPORT_NS_MAX)
        return; /* judged again at the next step */
    ask->is_judged = true;
    if (is_busy) {
        refuse_ask(m, service, CONTROL_UNLOAD, STATUS_BUSY, BUSY_SENTENCE);
    } else if (!is_there) {
        answer_asks(m, service, CONTROL_UNLOAD, STATUS_OK, NULL);
    } else {
        set_remove(&m->wanted, service);
        for (int e = 0; e < m->options.n_engines; e++) {
            set_remove(&m->of_engines[e].due, service);
            if (is_in(place_of(m, e, service)))
                order_out(m, MESSAGE_UNLOAD, e, service, "asked");
        }
    }
}

static void take_ask(struct cluster_manager *m, const struct message_ask *message)
{
    int service = message->head.service;
    if (message->kind == CONTROL_DRAIN) {
        for (int e = 0; e < m->options.n_engines; e++)
            (void)post_order(m, MESSAGE_DRAIN, e, 0);
        return;
    }
    if (m->n_asks == ASKS_MAX)
        return;
    m->asks[m->n_asks++] = (struct ask){ .id = message->head.id,
                                         .kind = message->kind,
                                         .service = (uint16_t)service,
                                         .asked_ns = m->now_ns };
    if (message->kind == CONTROL_UNLOAD) {
        judge_unload(m, &m->asks[m->n_asks - 1]);
    } else if (is_loaded_anywhere(m, service)) {
        answer_asks(m, service, CONTROL_LOAD, STATUS_OK, NULL);
    } else {
        set_add(&m->wanted, service);
        m->wants[service].until_ns = TIME_NEVER;
        m->wants[service].broken_until_ns = 0; /* an operator may try again at once */
    }
}

/* A model whose requests a router holds is in use where it is. False: it is nowhere, or leaving. */
static bool keep_held(struct cluster_manager *m, int service)
{
    bool is_there = false;
    for (int e = 0; e < m->options.n_engines; e++) {
        struct place *place = place_of(m, e, service);
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
    struct want *want = &m->wants[service];
    if (keep_held(m, service))
        return;
    if (!set_has(&m->wanted, service) || want->until_ns != TIME_NEVER)
        want->until_ns = m->now_ns + WANT_NS;
    want->is_for_requests = true;
    set_add(&m->wanted, service);
}

/* Whoever is loaded may leave: who is idle first. */
static void open_to_all(const struct cluster_manager *m, int engine,
                        struct residency_model *residents, int32_t n)
{
    for (int32_t i = 0; i < n; i++) {
        struct residency_model *r = &residents[i];
        if (place_of(m, engine, r->service)->status != SERVICE_LOADED)
            continue;
        r->keep_alive_ns = max_i64(r->keep_alive_ns, 0);
        r->idle_since_ns = min_i64(r->idle_since_ns, m->now_ns);
    }
}

/* An answer that has begun gets what it needs: models leave with their requests, which wait for
 * them, and those that are pinned or loaded at start come back behind it. */
static void oust(struct cluster_manager *m, int engine, int service)
{
    order_out(m, MESSAGE_OUST, engine, service, "an answer that has begun needs its memory");
    const struct service_spec *spec = &m->services[service];
    if (is_anywhere(m, service) || (!spec->is_loaded_at_start && spec->keep_alive_ns >= 0))
        return;
    m->wants[service].until_ns = TIME_NEVER;
    set_add(&m->wanted, service);
}

/* A request needs space on an engine that other models have: the longest idle of them leave, if
 * that can be enough. Something does even where the bytes would do, since who says so was refused.
 */
static void take_space(struct cluster_manager *m, const struct message_space *message)
{
    struct residency_model residents[LIMIT_SERVICES];
    struct residency_eviction eviction;
    int e = message->head.engine, own = -1;
    int64_t free_bytes;
    const struct set *known = &m->of_engines[e].known;
    if (message->insists)
        m->of_engines[e].awaited_until_ns = m->now_ns + HELD_NS;
    for (int s = 0; (s = set_next(known, s, m->options.n_services)) >= 0; s++) {
        if (place_of(m, e, s)->is_asked_out || place_of(m, e, s)->status == SERVICE_DRAINING_OUT)
            return; /* its bytes come back: the request tries again */
    }
    int32_t n = list_residents(m, e, residents, &free_bytes);
    for (int32_t i = 0; i < n; i++)
        own = residents[i].service == message->head.service ? i : own;
    if (own < 0)
        return; /* it left: requests want it in again */
    int64_t total_bytes = bytes_of(m, e) - residents[own].n_bytes;
    residents[own] = residents[--n];
    if (message->insists)
        open_to_all(m, e, residents, n);
    residency_evict(residents, n, max_i64(message->n_bytes, free_bytes + 1), free_bytes,
                    total_bytes, &eviction);
    for (int32_t i = 0; i < eviction.n_victims; i++) {
        if (message->insists)
            oust(m, e, eviction.victims[i]);
        else
            order_out(m, MESSAGE_UNLOAD, e, eviction.victims[i],
                      "another model's request needs its memory");
    }
}

static void take_mail(struct cluster_manager *m)
{
    const struct bus_port *port = &m->options.port;
    const void *message;
    size_t n_bytes;
    while (port->peek(port->self, port->address, &message, &n_bytes)) {
        const struct message_head *head = message;
        if (!cluster_message_is_valid(message, n_bytes, m->options.n_engines,
                                      m->options.n_services))
            log_line(LOG_WARN, "manager", "dropped a malformed message of %zu bytes", n_bytes);
        else if (head->kind == MESSAGE_REPORT)
            take_report(m, message);
        else if (head->kind == MESSAGE_CHANGE)
            take_change(m, message);
        else if (head->kind == MESSAGE_WANT)
            take_want(m, head->service);
        else if (head->kind == MESSAGE_SPACE)
            take_space(m, message);
        else if (head->kind == MESSAGE_ASK)
            take_ask(m, message);
        port->pop(port->self, port->address);
    }
}

static int64_t unload_expired(struct cluster_manager *m)
{
    int64_t wake = TIME_NEVER;
    for (int e = 0; e < m->options.n_engines && m->any_expires; e++) {
        struct residency_model residents[LIMIT_SERVICES];
        uint16_t expired[LIMIT_SERVICES];
        int64_t free_bytes, next_ns;
        int32_t n = list_residents(m, e, residents, &free_bytes);
        int32_t n_expired = residency_expired(residents, n, m->now_ns, expired, &next_ns);
        for (int32_t i = 0; i < n_expired; i++)
            order_out(m, MESSAGE_UNLOAD, e, expired[i], "idle for longer than its keep_alive");
        wake = min_i64(wake, next_ns);
    }
    return wake;
}

/* Models that are wanted have one place each by now: then as many more as fit without evicting, of
 * those that are loaded at start or placed on several engines, so that every engine that may serve
 * one does. */
static void fill(struct cluster_manager *m)
{
    int n = m->options.n_services;
    for (int s = 0; (s = set_next(&m->wanted, s, n)) >= 0; s++) {
        if (!is_anywhere(m, s))
            return;
    }
    for (int e = 0; (e = set_next(&m->has_due, e, m->options.n_engines)) >= 0; e++) {
        struct set *due = &m->of_engines[e].due;
        if (!m->has_report[e] || m->of_engines[e].awaited_until_ns > m->now_ns)
            continue;
        set_remove(&m->has_due, e);
        for (int s = 0; (s = set_next(due, s, n)) >= 0; s++) {
            struct residency_model residents[LIMIT_SERVICES];
            int64_t free_bytes;
            set_remove(due, s);
            if (is_in(place_of(m, e, s)))
                continue;
            (void)list_residents(m, e, residents, &free_bytes);
            if (free_bytes >= m->need_bytes[s])
                order_in(m, e, s);
        }
    }
}

/* Unloads that wait for a report, and answers that wait for room. */
static int64_t judge_unloads(struct cluster_manager *m)
{
    int64_t wake = TIME_NEVER;
    for (int i = 0; i < m->n_asks; i++) {
        struct ask *ask = &m->asks[i];
        if (ask->kind != CONTROL_UNLOAD || ask->is_judged || ask->is_answered)
            continue;
        judge_unload(m, ask);
        wake = min_i64(wake, ask->asked_ns + REPORT_NS_MAX);
    }
    say_answers(m);
    return wake;
}

int64_t cluster_manager_step(struct cluster_manager *m, int64_t now_ns)
{
    m->now_ns = now_ns;
    take_mail(m);
    int64_t wake = unload_expired(m);
    for (int s = 0; (s = set_next(&m->wanted, s, m->options.n_services)) >= 0; s++) {
        if (m->wants[s].until_ns <= now_ns)
            set_remove(&m->wanted, s);
        else if (!is_anywhere(m, s))
            bring_in(m, s);
        if (set_has(&m->wanted, s))
            wake = min_i64(wake, now_ns + RETRY_NS);
    }
    fill(m);
    return min_i64(wake, judge_unloads(m));
}

struct cluster_manager *cluster_manager_open(const struct cluster_manager_options *options)
{
    struct cluster_manager *m = mem_take(sizeof *m);
    size_t n = (size_t)options->n_services;
    m->options = *options;
    m->services = mem_take(sizeof *m->services * n);
    memcpy(m->services, options->services, sizeof *m->services * n);
    memcpy(m->need_bytes, options->need_bytes, sizeof(int64_t) * n);
    m->reports = mem_take(sizeof *m->reports * (size_t)options->n_engines);
    m->places = mem_take(sizeof *m->places * (size_t)options->n_engines * n);
    m->of_engines = mem_take(sizeof *m->of_engines * (size_t)options->n_engines);
    for (int s = 0; s < options->n_services; s++) {
        m->wants[s].until_ns = TIME_NEVER;
        m->any_expires = m->any_expires || options->services[s].keep_alive_ns >= 0;
        if (!options->services[s].is_loaded_at_start)
            continue;
        set_add(&m->wanted, s);
        make_due(m, s);
    }
    return m;
}

void cluster_manager_close(struct cluster_manager *m)
{
    mem_give(m->services);
    mem_give(m->reports);
    mem_give(m->places);
    mem_give(m->of_engines);
    mem_give(m);
}
