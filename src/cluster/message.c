/* Makes wire messages with a head, and checks received ones before their content is used. */
#include "cluster/message.h"

#include "base/time.h"
#include <string.h>

static const uint32_t fixed_bytes[MESSAGE_N] = {
    [MESSAGE_SUBMIT] = sizeof(struct message_submit),
    [MESSAGE_CANCEL] = sizeof(struct message_head),
    [MESSAGE_EVENT] = sizeof(struct message_event),
    [MESSAGE_REPORT] = offsetof(struct message_report, report.services),
    [MESSAGE_CHANGE] = sizeof(struct message_change),
    [MESSAGE_LOAD] = sizeof(struct message_head),
    [MESSAGE_UNLOAD] = sizeof(struct message_head),
    [MESSAGE_OUST] = sizeof(struct message_head),
    [MESSAGE_SLEEP] = sizeof(struct message_head),
    [MESSAGE_DRAIN] = sizeof(struct message_head),
    [MESSAGE_WANT] = sizeof(struct message_head),
    [MESSAGE_SPACE] = sizeof(struct message_space),
    [MESSAGE_ASK] = sizeof(struct message_ask),
    [MESSAGE_ANSWER] = sizeof(struct message_answer),
    [MESSAGE_OPEN] = sizeof(struct message_head),
    [MESSAGE_BEAT] = sizeof(struct message_head),
    [MESSAGE_CLOSED] = sizeof(struct message_head),
    [MESSAGE_LEAD] = sizeof(struct message_lead),
    [MESSAGE_FENCE] = sizeof(struct message_fence),
    [MESSAGE_DEMAND] = sizeof(struct message_demand),
    [MESSAGE_RESEND] = sizeof(struct message_head),
};

struct message_head cluster_message_head(enum message_kind kind, uint16_t from, size_t n_bytes)
{
    return (struct message_head){ .version = MESSAGE_VERSION,
                                  .kind = (uint16_t)kind,
                                  .n_bytes = (uint32_t)n_bytes,
                                  .from = from };
}

struct message_change cluster_message_change(uint16_t from, uint64_t name,
                                             const struct service_change *change)
{
    struct message_change message = {
        .head = cluster_message_head(MESSAGE_CHANGE, from, sizeof message), .change = *change
    };
    message.head.engine = change->engine;
    message.head.service = name;
    message.change.engine = message.change.service = message.change.life = 0;
    return message;
}

bool cluster_message_read_change(const struct message_change *message,
                                 const struct cluster_roster *roster, struct service_change *change)
{
    int service = cluster_roster_find(roster, message->head.service);
    *change = message->change;
    if (service < 0)
        return false;
    change->engine = message->head.engine;
    change->service = (uint16_t)service;
    change->life = roster->lives[service];
    return true;
}

static bool is_within(int64_t n, int bits)
{
    return n >= 0 && n <= INT64_C(1) << bits;
}

enum { SPAN_BITS = 61 };

/* Spans may be negative: a deadline that has passed, or a clock that was read a little later. */
static bool is_span(int64_t ns)
{
    return is_within(ns < 0 ? -(ns + 1) : ns, SPAN_BITS);
}

static bool is_valid_submit(const struct message_submit *m, size_t n_bytes)
{
    size_t body_bytes = n_bytes - sizeof *m;
    const struct request_body *body = (const void *)(m + 1);
    if (m->request.service != 0 || m->request.variant != 0 || m->place.zero != 0 || m->load < 0 ||
        m->load > ROUTE_LOAD_MAX || !request_body_is_valid(body, body_bytes, LIMIT_VOCABULARY))
        return false;
    return is_span(m->request.arrived_ns) && is_span(m->request.first_ns) &&
           is_span(m->request.served_ns) &&
           (m->request.deadline_ns == TIME_NEVER || is_span(m->request.deadline_ns)) &&
           m->request.n_prompt >= 1 && m->request.n_prompt <= m->request.n_tokens &&
           (uint32_t)m->request.n_tokens == body->n_tokens &&
           m->request.n_tokens < m->request.n_tokens_max &&
           m->request.n_tokens_max <= LIMIT_CONTEXT;
}

static bool is_valid_event(const struct message_event *m, size_t n_bytes)
{
    return is_span(m->event.served_ns) &&
           service_event_is_valid(&m->event, m + 1, n_bytes - sizeof *m);
}

static const void *names_of(const struct message_report *message)
{
    return &message->report.services[message->report.n_services];
}

static const void *others_of(const struct message_report *message)
{
    return (const uint64_t *)names_of(message) + message->report.n_services;
}

enum { OTHERS_BITS = 50 }; /* so that sums over all services do not wrap */

/* No part is larger than the whole, so that differences are not negative. */
static bool are_valid_others(const struct route_others *o)
{
    bool are_within =
        is_within(o->n, 20) && is_within(o->n_waiting, 20) && o->n_waiting <= o->n &&
        is_within(o->n_prompt, OTHERS_BITS) && is_within(o->n_new, OTHERS_BITS) &&
        is_within(o->n_expected, OTHERS_BITS) && is_within(o->n_waiting_tokens, OTHERS_BITS) &&
        is_within(o->decoding_ns, SPAN_BITS) && is_within(o->load, OTHERS_BITS);
    return are_within && o->n_new <= o->n_expected &&
           o->n_waiting_tokens <= o->n_prompt + o->n_new;
}

static bool is_valid_report(const struct message_report *m, size_t n_bytes)
{
    const struct engine_report *r = &m->report;
    if (m->place.zero != 0 || !set_is_empty(&r->listed) || !report_is_valid(r, LIMIT_SERVICES))
        return false;
    size_t n_plain = cluster_message_report_bytes(r->n_services);
    if (n_bytes == n_plain)
        return true;
    const struct route_others *others = others_of(m);
    bool is_valid = n_bytes == n_plain + sizeof *others * (size_t)r->n_services;
    for (int i = 0; i < r->n_services && is_valid; i++)
        is_valid = are_valid_others(&others[i]);
    return is_valid;
}

/* Its values stay in the gateway's mirror until the next report. */
static bool is_valid_change(const struct message_change *m)
{
    const struct service_change *change = &m->change;
    return change->engine == 0 && change->service == 0 && change->life == 0 &&
           report_change_is_valid(change);
}

/* The gateway asks the manager only these; it knows the rest itself. */
static bool is_valid_ask(const struct message_ask *m)
{
    return m->kind == CONTROL_LOAD || m->kind == CONTROL_UNLOAD || m->kind == CONTROL_SLEEP ||
           m->kind == CONTROL_DRAIN;
}

/* ---- Times as spans. ---- */

void cluster_message_request_to_spans(struct request *request, int64_t now_ns)
{
    request->arrived_ns = now_ns - request->arrived_ns;
    request->served_ns = now_ns - request->served_ns;
    request->first_ns = request->first_ns > 0 ? max_i64(now_ns - request->first_ns, 0) : -1;
    if (request->deadline_ns != TIME_NEVER)
        request->deadline_ns -= now_ns;
}

void cluster_message_request_of_spans(struct request *request, int64_t now_ns)
{
    request->arrived_ns = now_ns - request->arrived_ns;
    request->served_ns = now_ns - request->served_ns;
    request->first_ns = request->first_ns >= 0 ? now_ns - request->first_ns : 0;
    if (request->deadline_ns != TIME_NEVER)
        request->deadline_ns += now_ns;
}

/* ---- Reports. ---- */

size_t cluster_message_write_report(const struct engine_report *report,
                                    const struct cluster_roster *roster,
                                    struct message_report *message, int64_t now_ns)
{
    struct engine_report *out = &message->report;
    uint64_t names[LIMIT_SERVICES];
    int n = 0;
    memcpy(out, report, engine_report_bytes(0));
    out->engine = 0;
    out->listed = (struct set){ { 0 } };
    out->now_ns = max_i64(now_ns - report->now_ns, 0);
    for (int s = 0; (s = set_next(&report->listed, s, report->n_services)) >= 0; s++) {
        if (!set_has(&roster->there, s) || roster->lives[s] != report->services[s].life)
            continue;
        out->services[n] = report->services[s];
        names[n++] = roster->names[s];
    }
    out->n_services = n;
    memcpy(&out->services[n], names, sizeof names[0] * (size_t)n);
    message->head.n_bytes = (uint32_t)cluster_message_report_bytes(n);
    return message->head.n_bytes;
}

size_t cluster_message_write_others(const struct route_others *others,
                                    const struct cluster_roster *roster,
                                    struct message_report *message)
{
    int n = message->report.n_services;
    size_t n_bytes = cluster_message_report_bytes(n);
    const uint64_t *names = names_of(message);
    struct route_others *to = (void *)(&message->report.services[n]);
    to = (void *)((uint64_t *)(void *)to + n);
    for (int i = 0; i < n && others != NULL; i++)
        to[i] = others[cluster_roster_find(roster, names[i])];
    if (others != NULL)
        n_bytes += sizeof *to * (size_t)n;
    message->head.n_bytes = (uint32_t)n_bytes;
    return n_bytes;
}

void cluster_message_read_others(const struct message_report *message,
                                 const struct cluster_roster *roster, int n_services,
                                 struct route_others *others)
{
    int n = message->report.n_services;
    bool has_some = message->head.n_bytes > cluster_message_report_bytes(n);
    const uint64_t *names = names_of(message);
    const struct route_others *from = others_of(message);
    for (int s = 0; s < n_services; s++)
        others[s] = (struct route_others){ 0 };
    for (int i = 0; i < n && has_some; i++) {
        int s = cluster_roster_find(roster, names[i]);
        if (s >= 0 && s < n_services)
            others[s] = from[i];
    }
}

/* Reads the rows, and returns the set of their services. */
static struct set read_rows(const struct message_report *message,
                            const struct cluster_roster *roster, struct engine_report *report)
{
    const struct engine_report *from = &message->report;
    const uint64_t *names = names_of(message);
    struct set listed = { { 0 } };
    for (int i = 0; i < from->n_services; i++) {
        int s = cluster_roster_find(roster, names[i]);
        if (s < 0 || s >= report->n_services)
            continue;
        set_add(&listed, s);
        report->services[s] = from->services[i];
        report->services[s].life = roster->lives[s];
    }
    return listed;
}

void cluster_message_read_report(const struct message_report *message,
                                 const struct cluster_roster *roster, struct engine_report *report,
                                 int64_t now_ns)
{
    const struct engine_report *from = &message->report;
    const struct set listed = read_rows(message, roster, report);
    const struct set gone = set_without(&report->listed, &listed);
    uint16_t engine = report->engine;
    int32_t n_services = report->n_services;
    for (int s = 0; (s = set_next(&gone, s, LIMIT_SERVICES)) >= 0; s++)
        report->services[s] = (struct service_report){ 0 };
    memcpy(report, from, engine_report_bytes(0));
    report->engine = engine;
    report->n_services = n_services;
    report->listed = listed;
    report->now_ns = now_ns - from->now_ns;
}

/* A new epoch is one more than the highest that a node reports, so a damaged one would stay for
 * good. Orders carry 32 bits of it. */
static bool is_valid_fence(const struct message_fence *message)
{
    return message->verdict <= STORE_CANNOT_REMEMBER && message->kept.epoch <= UINT64_C(1) << 31;
}

static bool is_valid_demand(const struct message_demand *m)
{
    return m->zero == 0 && m->number > 0 && m->n_engines_wanted >= 0 &&
           m->n_engines_wanted <= LIMIT_ENGINES && monitor_bin_is_valid(&m->sums);
}

bool cluster_message_is_valid(const void *message, size_t n_bytes, int n_engines)
{
    const struct message_head *head = message;
    if (n_bytes < sizeof *head || n_bytes > MESSAGE_BYTES_MAX || head->version != MESSAGE_VERSION ||
        head->kind >= MESSAGE_N || head->n_bytes != n_bytes)
        return false;
    bool has_tail =
        head->kind == MESSAGE_SUBMIT || head->kind == MESSAGE_EVENT || head->kind == MESSAGE_REPORT;
    if (has_tail ? n_bytes < fixed_bytes[head->kind] : n_bytes != fixed_bytes[head->kind])
        return false;
    if (head->engine >= n_engines || head->zero != 0)
        return false;
    switch (head->kind) {
    case MESSAGE_SUBMIT:
        return is_valid_submit(message, n_bytes);
    case MESSAGE_EVENT:
        return is_valid_event(message, n_bytes);
    case MESSAGE_REPORT:
        return is_valid_report(message, n_bytes);
    case MESSAGE_CHANGE:
        return is_valid_change(message);
    case MESSAGE_SPACE:
        return report_bytes_are_valid(((const struct message_space *)message)->n_bytes);
    case MESSAGE_ASK:
        return is_valid_ask(message);
    case MESSAGE_FENCE:
        return is_valid_fence(message);
    case MESSAGE_DEMAND:
        return is_valid_demand(message);
    case MESSAGE_ANSWER:
        return fault_is_text(&((const struct message_answer *)message)->fault);
    default:
        return true;
    }
}
