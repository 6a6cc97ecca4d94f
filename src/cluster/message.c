/* Wire messages: made with a head, checked before anything in them is believed. */
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
    [MESSAGE_DRAIN] = sizeof(struct message_head),
    [MESSAGE_WANT] = sizeof(struct message_head),
    [MESSAGE_SPACE] = sizeof(struct message_space),
    [MESSAGE_ASK] = sizeof(struct message_ask),
    [MESSAGE_ANSWER] = sizeof(struct message_answer),
    [MESSAGE_OPEN] = sizeof(struct message_head),
    [MESSAGE_BEAT] = sizeof(struct message_head),
    [MESSAGE_CLOSED] = sizeof(struct message_head),
};

struct message_head cluster_message_head(enum message_kind kind, uint16_t from, size_t n_bytes)
{
    return (struct message_head){ .version = MESSAGE_VERSION,
                                  .kind = (uint16_t)kind,
                                  .n_bytes = (uint32_t)n_bytes,
                                  .from = from };
}

struct message_change cluster_message_change(uint16_t from, const struct service_change *change)
{
    struct message_change message = {
        .head = cluster_message_head(MESSAGE_CHANGE, from, sizeof message), .change = *change
    };
    message.head.engine = change->engine;
    message.head.service = change->service;
    message.head.life = change->life;
    return message;
}

static bool is_within(int64_t n, int bits)
{
    return n >= 0 && n <= INT64_C(1) << bits;
}

/* What routers, the manager and the metrics reckon with: times, bytes and counts that a machine can
 * have, and little enough of them that sums over all services do not wrap. */
enum {
    BYTES_BITS = 52,
    TOKEN_BYTES_BITS = 30,
    REQUESTS_BITS = 20,
    SUM_BITS = 52,
    NS_BITS = 62,
    SPAN_BITS = 61
};

/* Spans may be negative: a deadline that has passed, a clock that was read a little later. */
static bool is_span(int64_t ns)
{
    return is_within(ns < 0 ? -(ns + 1) : ns, SPAN_BITS);
}

static bool is_valid_submit(const struct message_submit *m, size_t n_bytes, int n_services)
{
    size_t body_bytes = n_bytes - sizeof *m;
    const struct request_body *body = (const void *)(m + 1);
    if (m->request.service >= n_services ||
        !request_body_is_valid(body, body_bytes, LIMIT_VOCABULARY))
        return false;
    return is_span(m->request.arrived_ns) && is_span(m->request.first_ns) &&
           is_span(m->request.served_ns) &&
           (m->request.deadline_ns == TIME_NEVER || is_span(m->request.deadline_ns)) &&
           m->request.n_prompt >= 1 && m->request.n_prompt <= m->request.n_tokens &&
           (uint32_t)m->request.n_tokens == body->n_tokens &&
           m->request.n_tokens < m->request.n_tokens_max &&
           m->request.n_tokens_max <= LIMIT_CONTEXT;
}

/* How likely tokens were, behind those that come with it: no list is longer than its room. */
static bool are_logprobs(const struct message_event *m)
{
    size_t n = (size_t)m->event.n_tokens, n_bytes = (size_t)m->event.n_bytes;
    const unsigned char *at = (const unsigned char *)(m + 1) + n * sizeof(int32_t);
    if (n_bytes - n * sizeof(int32_t) < n * sizeof(struct token_logprobs))
        return true; /* it has none */
    for (size_t i = 0; i < n; i++) {
        struct token_logprobs logprobs;
        memcpy(&logprobs, at + i * sizeof(logprobs), sizeof(logprobs));
        if (logprobs.n_top < 0 || logprobs.n_top > LIMIT_TOP_LOGPROBS)
            return false;
    }
    return true;
}

static bool is_valid_event(const struct message_event *m, size_t n_bytes)
{
    const struct service_event *e = &m->event;
    if (!is_span(e->served_ns) || e->what > SERVICE_ENDED || e->why >= SERVICE_WHY_N ||
        e->n_bytes < 0 || e->n_tokens < 0 || e->position < 0)
        return false;
    if ((size_t)e->n_bytes != n_bytes - sizeof *m)
        return false;
    return e->what != SERVICE_TOKENS ||
           ((size_t)e->n_tokens * sizeof(int32_t) <= (size_t)e->n_bytes && are_logprobs(m));
}

/* A byte that is neither 0 nor 1 is no bool, and reading it as one is undefined. */
static bool is_bool(const bool *at)
{
    return *(const unsigned char *)at <= 1;
}

static bool are_within(const int64_t *numbers, size_t n, int bits)
{
    bool are = true;
    for (size_t i = 0; i < n; i++)
        are = are && is_within(numbers[i], bits);
    return are;
}

static bool is_part(double part) /* of a pool, or what it is over its due */
{
    return part >= 0; /* false for NaN */
}

static bool is_valid_row(const struct service_report *row)
{
    const int64_t bytes[] = { row->weights_bytes,   row->activation_bytes, row->kv_used_bytes,
                              row->kv_cached_bytes, row->kv_held_bytes,    row->kv_quota_bytes };
    const int64_t sums[] = { row->n_prefix_queries, row->n_prefix_hits,  row->n_preempted,
                             row->n_swapped,        row->n_pad_tokens,   row->n_invalid_tokens,
                             row->n_static_batches, row->n_static_seats, row->n_static_early,
                             row->n_batches,        row->n_batch_rows,   row->n_exceeded,
                             row->n_forced,         row->n_arrived };
    return row->status <= SERVICE_BROKEN && row->progress_percent <= 100 &&
           are_within(bytes, COUNT_OF(bytes), BYTES_BITS) &&
           are_within(sums, COUNT_OF(sums), SUM_BITS) &&
           is_within(row->kv_bytes_per_token, TOKEN_BYTES_BITS) &&
           is_within(row->n_waiting, REQUESTS_BITS) && is_within(row->n_running, REQUESTS_BITS) &&
           is_within(row->solo_ns, NS_BITS) && is_within(row->remaining_ns, NS_BITS) &&
           is_part(row->kv_share) && is_part(row->kv_r) && coefficients_are_sane(&row->perf);
}

static bool is_valid_report(const struct message_report *m, size_t n_bytes, int n_services)
{
    const struct engine_report *r = &m->report;
    const int64_t bytes[] = { r->memory_bytes, r->kv_pool_bytes, r->kv_free_bytes,
                              r->kv_table_bytes };
    const int64_t times[] = { r->now_ns, r->step_ns, r->host_ns };
    int n = set_count(&r->listed);
    bool is_right = r->n_services >= 0 && r->n_services <= n_services &&
                    set_next(&r->listed, r->n_services, SET_MAX) < 0 &&
                    n_bytes == cluster_message_report_bytes(n) && is_bool(&r->is_draining) &&
                    is_bool(&r->is_healthy) && are_within(bytes, COUNT_OF(bytes), BYTES_BITS) &&
                    are_within(times, COUNT_OF(times), NS_BITS) &&
                    is_within(r->n_steps, SUM_BITS) && is_within(r->n_requests, REQUESTS_BITS) &&
                    is_within(r->n_requests_max, REQUESTS_BITS);
    for (int i = 0; is_right && i < n; i++)
        is_right = is_valid_row(&r->services[i]);
    return is_right;
}

static bool is_text(const struct fault *fault)
{
    return memchr(fault->text, 0, sizeof fault->text) != NULL;
}

/* What it says stands in the gateway's mirror until the next report. */
static bool is_valid_change(const struct message_change *m)
{
    const struct service_change *change = &m->change;
    return change->engine == m->head.engine && change->service == m->head.service &&
           change->life == m->head.life && change->status <= SERVICE_BROKEN &&
           change->cause <= STATUS_IO && is_within(change->weights_bytes, BYTES_BITS) &&
           is_within(change->activation_bytes, BYTES_BITS) && is_text(&change->fault);
}

/* What the gateway asks of the manager; the rest it knows itself. */
static bool is_valid_ask(const struct message_ask *m)
{
    return m->kind == CONTROL_LOAD || m->kind == CONTROL_UNLOAD || m->kind == CONTROL_DRAIN;
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
                                    struct message_report *message, int64_t now_ns)
{
    int n = 0;
    memcpy(&message->report, report, engine_report_bytes(0));
    message->report.now_ns = max_i64(now_ns - report->now_ns, 0);
    for (int s = 0; (s = set_next(&report->listed, s, report->n_services)) >= 0; s++)
        message->report.services[n++] = report->services[s];
    message->head.n_bytes = (uint32_t)cluster_message_report_bytes(n);
    return message->head.n_bytes;
}

void cluster_message_read_report(const struct message_report *message, struct engine_report *report,
                                 int64_t now_ns)
{
    const struct engine_report *from = &message->report;
    const struct set gone = set_without(&report->listed, &from->listed);
    int n = 0;
    for (int s = 0; (s = set_next(&gone, s, LIMIT_SERVICES)) >= 0; s++)
        report->services[s] = (struct service_report){ 0 };
    memcpy(report, from, engine_report_bytes(0));
    report->now_ns = now_ns - from->now_ns;
    for (int s = 0; (s = set_next(&from->listed, s, from->n_services)) >= 0; s++)
        report->services[s] = from->services[n++];
}

bool cluster_message_is_valid(const void *message, size_t n_bytes, int n_engines, int n_services)
{
    const struct message_head *head = message;
    if (n_bytes < sizeof *head || head->version != MESSAGE_VERSION || head->kind >= MESSAGE_N ||
        head->n_bytes != n_bytes)
        return false;
    bool has_tail =
        head->kind == MESSAGE_SUBMIT || head->kind == MESSAGE_EVENT || head->kind == MESSAGE_REPORT;
    if (has_tail ? n_bytes < fixed_bytes[head->kind] : n_bytes != fixed_bytes[head->kind])
        return false;
    if (head->engine >= n_engines || head->service >= n_services)
        return false;
    switch (head->kind) {
    case MESSAGE_SUBMIT:
        return is_valid_submit(message, n_bytes, n_services);
    case MESSAGE_EVENT:
        return is_valid_event(message, n_bytes);
    case MESSAGE_REPORT:
        return is_valid_report(message, n_bytes, n_services);
    case MESSAGE_CHANGE:
        return is_valid_change(message);
    case MESSAGE_SPACE:
        return is_within(((const struct message_space *)message)->n_bytes, BYTES_BITS);
    case MESSAGE_ASK:
        return is_valid_ask(message);
    case MESSAGE_ANSWER:
        return is_text(&((const struct message_answer *)message)->fault);
    default:
        return true;
    }
}
