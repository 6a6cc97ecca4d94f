/* The engine's thread: it takes mail, sends events and answers, and sleeps in between.
 *
 * Mail is a ring of records {uint32 kind, payload}. The owner reads back three rings: events,
 * answers, reports. Each ring has one writer and one reader. Only two flags are shared besides:
 * is_stopping, and is_blocked (an event of the engine did not fit, so the reader wakes it when
 * there is room). The engine takes mail only as far as it can answer it, so the inbox holds back
 * the owner when the owner does not read. */
#include "engine/host.h"

#include "base/mem.h"
#include "base/pace.h"
#include "base/ring.h"
#include "base/team.h"
#include "base/time.h"
#include "base/wake.h"
#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define HOST_RING_BYTES    (4 << 20)
#define HOST_ANSWERS_BYTES (64 << 10)
#define HOST_ASKS_MAX      512 /* calls without an answer; they fit into the ring of answers */
#define HOST_REPORTS_BYTES (64 << 10) /* or more, for an engine of many models */
#define HOST_REPORT_NS     (100 * TIME_NS_PER_MS)
#define HOST_BLOCKED_NS    (TIME_NS_PER_MS) /* looks for room again at least this often */

enum mail_kind {
    MAIL_SUBMIT,
    MAIL_CANCEL,
    MAIL_ROOM,
    MAIL_OPEN,
    MAIL_EMPTY,
    MAIL_CLOSE,
    MAIL_ADD, /* struct mail_add */
    MAIL_REMOVE,
    MAIL_REVIVE,
    MAIL_DRAIN
};
struct mail_submit {
    uint32_t kind, unused;
    struct request request; /* the body's bytes follow */
};
struct mail_cancel {
    uint32_t kind, epoch;
    uint64_t id;
};
struct mail_control {
    uint32_t kind;
    int32_t service;
    bool even_busy; /* EMPTY */
    int64_t weights_bytes, activation_bytes;
    struct perf perf;
};
struct mail_add {
    struct mail_control control;
    struct service_spec spec;
    struct kv_layout layout;
};
struct pending { /* of one service: control calls that take their time */
    bool wants_room, is_emptying;
    int n_closing; /* calls to close it */
    int64_t weights_bytes, activation_bytes;
};

struct engine_host {
    struct engine *engine;
    struct engine_exec exec;
    struct thread *thread;
    char name[16];
    int64_t report_ns;
    int n_services_max;
    struct ring *inbox, *events, *answers, *reports;
    struct wake mail_wake, news_wake;
    struct wake *events_wake; /* news_wake, or the lent one */
    _Atomic bool is_stopping, is_blocked;

    /* The engine's thread alone: */
    int n_services;
    struct pending pending[LIMIT_SERVICES];
    struct engine_report said; /* the last, as it was made */
    bool is_draining, has_news, has_events, drops_events, has_said_lost;
    struct pace pace;
    int64_t host_ns, next_report_ns;
    unsigned char *body; /* a body, aligned */
    size_t body_bytes_max;

    /* The owner's thread alone: */
    bool has_event; /* the record that next showed is still in the ring */
    int n_asks;
    struct mail_cancel *cancels; /* that found the inbox full, oldest first */
    size_t n_cancels, n_cancels_max;
    struct engine_report report;
};

/* ---- The engine's thread. ---- */

static void wake(void *self)
{
    wake_up(&((struct engine_host *)self)->mail_wake);
}

static bool emit(void *self, const struct service_event *event, const void *payload)
{
    struct engine_host *host = self;
    size_t n_bytes = (size_t)event->n_bytes;
    host->has_events = true;
    if (host->drops_events || ring_put(host->events, event, sizeof(*event), payload, n_bytes))
        return true;
    /* It sets the flag, then looks once more. Either we see the room or the reader sees the
     * flag. */
    atomic_exchange(&host->is_blocked, true);
    return ring_put(host->events, event, sizeof(*event), payload, n_bytes);
}

static void report(struct engine_host *host, int64_t now_ns)
{
    struct engine_report *r = &host->said;
    size_t n_bytes = engine_report_bytes(host->n_services);
    memset(r, 0, n_bytes); /* the padding between its fields too, since it leaves as bytes */
    engine_report(host->engine, r, now_ns);
    r->host_ns = host->host_ns;
    host->next_report_ns = now_ns + host->report_ns;
    host->has_news |= ring_put(host->reports, r, n_bytes, NULL, 0); /* full: the next follows */
}

/* The report goes first, so that a reader of the change finds its bytes there. */
static void answer(struct engine_host *host, const struct engine_host_answer *a)
{
    report(host, time_now_ns());
    host->has_news = true;
    CHECK(ring_put(host->answers, a, sizeof(*a), NULL, 0));
}

/* Returns false when its refusal had no room; then it stays in the inbox. */
static bool take_submit(struct engine_host *host, const void *record, size_t n_bytes)
{
    struct mail_submit mail;
    size_t body_bytes = n_bytes - sizeof(mail);
    const struct request_body *body = NULL;
    memcpy(&mail, record, sizeof(mail));
    if (body_bytes > 0 && body_bytes <= host->body_bytes_max) {
        memcpy(host->body, (const unsigned char *)record + sizeof(mail), body_bytes);
        body = (const void *)host->body;
        if (!request_body_is_valid(body, body_bytes, LIMIT_VOCABULARY))
            body = NULL; /* the engine explains the fault */
    }
    return engine_submit(host->engine, &mail.request, body, time_now_ns());
}

/* A call for room that a later call overtakes gets no room. */
static void give_up_room(struct engine_host *host, int service)
{
    if (host->pending[service].wants_room)
        answer(host, &(struct engine_host_answer){ .what = ENGINE_HOST_ROOM,
                                                   .service = (uint16_t)service });
    host->pending[service].wants_room = false;
}

static void answer_emptied(struct engine_host *host, int service, bool is_done)
{
    host->pending[service].is_emptying = false;
    answer(host, &(struct engine_host_answer){ .what = ENGINE_HOST_EMPTIED,
                                               .is_done = is_done,
                                               .service = (uint16_t)service });
}

/* A service with a batch in flight becomes empty when that batch ends. */
static void empty(struct engine_host *host, int service, bool even_busy)
{
    if (!even_busy && engine_is_service_busy(host->engine, service))
        answer_emptied(host, service, false);
    else if (engine_empty_service(host->engine, service, time_now_ns()))
        answer_emptied(host, service, true);
    else
        host->pending[service].is_emptying = true;
}

static void take_control(struct engine_host *host, const struct mail_control *mail)
{
    struct pending *pending = &host->pending[mail->service];
    switch (mail->kind) {
    case MAIL_ROOM:
        give_up_room(host, mail->service);
        pending->wants_room = true;
        pending->weights_bytes = mail->weights_bytes;
        pending->activation_bytes = mail->activation_bytes;
        break;
    case MAIL_OPEN:
        engine_open_service(host->engine, mail->service, &mail->perf, time_now_ns());
        answer(host, &(struct engine_host_answer){ .what = ENGINE_HOST_OPENED,
                                                   .is_done = true,
                                                   .service = (uint16_t)mail->service });
        break;
    case MAIL_EMPTY:
        empty(host, mail->service, mail->even_busy);
        break;
    case MAIL_REMOVE:
        answer(host, &(struct engine_host_answer){ .what = ENGINE_HOST_REMOVED,
                                                   .is_done = engine_remove_service(
                                                       host->engine, mail->service, time_now_ns()),
                                                   .service = (uint16_t)mail->service });
        break;
    case MAIL_CLOSE:
        give_up_room(host, mail->service);
        pending->n_closing++;
        break;
    case MAIL_REVIVE:
        host->has_said_lost = !engine_revive(host->engine, time_now_ns());
        CHECK(!host->has_said_lost);
        answer(host, &(struct engine_host_answer){ .what = ENGINE_HOST_REVIVED, .is_done = true });
        break;
    default:
        CHECK(mail->kind == MAIL_DRAIN);
        engine_drain(host->engine);
        host->is_draining = true;
        break;
    }
}

static void add_service(struct engine_host *host, const struct mail_add *mail)
{
    int service = mail->control.service;
    const char *why =
        engine_has_service(host->engine, service)
            ? "its number is another service's"
            : engine_add_service(host->engine, service, &mail->spec, &mail->layout, time_now_ns());
    if (why == NULL) {
        host->pending[service] = (struct pending){ .n_closing = 0 };
        host->n_services = max_i32(host->n_services, service + 1);
    }
    answer(host, &(struct engine_host_answer){ .what = ENGINE_HOST_ADDED,
                                               .is_done = why == NULL,
                                               .service = (uint16_t)service,
                                               .why = why });
}

static void take_mail(struct engine_host *host)
{
    const void *record;
    size_t n_bytes;
    while (ring_peek(host->inbox, &record, &n_bytes)) {
        uint32_t kind;
        CHECK(n_bytes >= sizeof(kind));
        memcpy(&kind, record, sizeof(kind));
        if (kind == MAIL_SUBMIT) {
            if (!take_submit(host, record, n_bytes))
                return;
        } else if (kind == MAIL_CANCEL) {
            struct mail_cancel mail;
            memcpy(&mail, record, sizeof(mail));
            engine_cancel(host->engine, mail.id, mail.epoch, time_now_ns());
        } else if (kind == MAIL_ADD) {
            struct mail_add mail;
            memcpy(&mail, record, sizeof(mail));
            add_service(host, &mail);
        } else {
            struct mail_control mail;
            memcpy(&mail, record, sizeof(mail));
            take_control(host, &mail);
        }
        ring_pop(host->inbox);
    }
}

/* Continues control calls that take their time: services that close, then rooms being made (from
 * what those leave), the drain. */
static void go_on(struct engine_host *host)
{
    for (int service = 0; service < host->n_services; service++) {
        struct pending *pending = &host->pending[service];
        if (pending->is_emptying)
            empty(host, service, true);
        if (pending->n_closing == 0 || !engine_close_service(host->engine, service, time_now_ns()))
            continue;
        for (; pending->n_closing > 0; pending->n_closing--)
            answer(host, &(struct engine_host_answer){ .what = ENGINE_HOST_CLOSED,
                                                       .is_done = true,
                                                       .service = (uint16_t)service });
    }
    for (int service = 0; service < host->n_services; service++) {
        struct pending *pending = &host->pending[service];
        struct engine_host_answer a = { .what = ENGINE_HOST_ROOM, .service = (uint16_t)service };
        if (!pending->wants_room || pending->n_closing > 0) /* it leaves before it may come back */
            continue;
        a.is_done = engine_make_room(host->engine, service, pending->weights_bytes,
                                     pending->activation_bytes, time_now_ns(), &a.room);
        pending->wants_room = !a.is_done && !a.room.never;
        if (!pending->wants_room)
            answer(host, &a);
    }
    if (!host->has_said_lost && engine_is_lost(host->engine) && engine_is_idle(host->engine) &&
        !engine_lends_host(host->engine)) {
        answer(host, &(struct engine_host_answer){ .what = ENGINE_HOST_LOST, .is_done = true });
        host->has_said_lost = true;
    }
    if (host->is_draining && engine_is_idle(host->engine) && !engine_keeps_kv(host->engine)) {
        answer(host, &(struct engine_host_answer){ .what = ENGINE_HOST_DRAINED, .is_done = true });
        host->is_draining = false;
    }
}

static void sleep_until(struct engine_host *host, int64_t wake_ns)
{
    struct pollfd fds[2] = { { .fd = host->mail_wake.fd, .events = POLLIN },
                             { .fd = host->exec.wait_fd(host->exec.self), .events = POLLIN } };
    int64_t left_ns = max_i64(wake_ns - time_now_ns(), 0);
    struct timespec left = { left_ns / TIME_NS_PER_S, left_ns % TIME_NS_PER_S };
    (void)ppoll(fds, fds[1].fd >= 0 ? 2 : 1, wake_ns == TIME_NEVER ? NULL : &left, NULL);
    (void)pace_due(&host->pace, wake_ns, "woke later than asked by");
}

/* Closes every service, so that no batch begins any more. Returns true when none is in flight. */
static bool stop(struct engine_host *host)
{
    bool is_done = true;
    host->drops_events = true;
    memset(host->pending, 0, sizeof(host->pending));
    for (int service = 0; service < host->n_services; service++)
        is_done &= !engine_has_service(host->engine, service) ||
                   engine_close_service(host->engine, service, time_now_ns());
    return is_done;
}

static bool are_events_lent(const struct engine_host *host)
{
    return host->events_wake != &host->news_wake;
}

static void tell_news(struct engine_host *host)
{
    if (host->has_events)
        wake_up(host->events_wake);
    if (host->has_news && (!host->has_events || are_events_lent(host)))
        wake_up(&host->news_wake);
    host->has_events = host->has_news = false;
}

static void run(void *arg)
{
    struct engine_host *host = arg;
    pace_begin(&host->pace, host->name);
    for (bool is_stopped = false; !is_stopped;) {
        wake_clear(&host->mail_wake);
        int64_t begin_ns = time_now_ns();
        if (atomic_load(&host->is_stopping))
            is_stopped = stop(host);
        else
            take_mail(host);
        int64_t at_ns = pace_took(&host->pace, begin_ns, "taking mail took");
        go_on(host);
        at_ns = pace_took(&host->pace, at_ns, "opening and closing models took");
        int64_t wake_ns = engine_step(host->engine, at_ns);
        at_ns = pace_took(&host->pace, at_ns, "a step took");
        go_on(host);
        int64_t end_ns = pace_took(&host->pace, at_ns, "opening and closing models took");
        host->host_ns += end_ns - begin_ns;
        if (end_ns >= host->next_report_ns)
            report(host, end_ns);
        tell_news(host);
        wake_ns = min_i64(wake_ns, host->next_report_ns);
        if (atomic_load(&host->is_blocked))
            wake_ns = min_i64(wake_ns, end_ns + HOST_BLOCKED_NS);
        if (are_events_lent(host))
            atomic_store(&host->is_blocked, false); /* their reader does not see it */
        if (!is_stopped)
            sleep_until(host, wake_ns);
    }
}

/* ---- Opening and closing, by the owner. ---- */

static struct ring *ring_open(uint64_t capacity)
{
    struct ring *ring = mem_take(ring_bytes(capacity));
    ring_init(ring, capacity);
    return ring;
}

/* A record lies in one piece. In a ring of twice its size it finds room wherever the one before it
 * ended. */
static uint32_t bytes_for(uint64_t n_bytes, uint64_t n_longest)
{
    while (n_bytes < 2 * n_longest)
        n_bytes *= 2;
    return (uint32_t)n_bytes;
}

static uint32_t inbox_bytes_for(const struct engine_host_options *options)
{
    uint32_t n_tokens = (uint32_t)options->engine.n_tokens_max;
    return bytes_for(options->inbox_bytes > 0 ? options->inbox_bytes : HOST_RING_BYTES,
                     sizeof(struct mail_submit) + 16 +
                         request_body_bytes(n_tokens, LIMIT_STOP_IDS, LIMIT_BIASES) +
                         LIMIT_GRAMMAR_BYTES);
}

struct engine_host *engine_host_open(const struct engine_host_options *options)
{
    struct engine_host *host = mem_take(sizeof(*host));
    struct engine_options engine = options->engine;
    uint32_t inbox_bytes = inbox_bytes_for(options);
    host->n_services = engine.n_services;
    host->n_services_max = max_i32(engine.n_services, engine.n_services_max);
    host->inbox = ring_open(inbox_bytes);
    host->events =
        options->events != NULL
            ? options->events
            : ring_open(options->outbox_bytes > 0 ? options->outbox_bytes : HOST_RING_BYTES);
    host->events_wake = options->events != NULL ? options->events_wake : &host->news_wake;
    host->answers = ring_open(HOST_ANSWERS_BYTES);
    host->reports =
        ring_open(bytes_for(HOST_REPORTS_BYTES, engine_report_bytes(host->n_services_max) + 16));
    host->report_ns = options->report_ns > 0 ? options->report_ns : HOST_REPORT_NS;
    host->exec = engine.exec;
    host->body_bytes_max = inbox_bytes;
    host->body = mem_take(host->body_bytes_max);
    wake_open(&host->mail_wake);
    wake_open(&host->news_wake);
    engine.emit = emit;
    engine.emit_self = host;
    engine.wake = wake;
    engine.wake_self = host;
    host->engine = engine_open(&engine);
    snprintf(host->name, sizeof(host->name), "engine-%d", engine.id);
    host->thread = thread_start(host->name, run, host);
    return host;
}

void engine_host_close(struct engine_host *host)
{
    if (host == NULL)
        return;
    atomic_store(&host->is_stopping, true);
    wake_up(&host->mail_wake);
    thread_join(host->thread);
    engine_close(host->engine);
    wake_close(&host->mail_wake);
    wake_close(&host->news_wake);
    mem_give(host->inbox);
    if (!are_events_lent(host))
        mem_give(host->events);
    mem_give(host->answers);
    mem_give(host->reports);
    mem_give(host->body);
    mem_give(host->cancels);
    mem_give(host);
}

/* ---- The owner's thread. ---- */

static bool put_cancel(struct engine_host *host, const struct mail_cancel *mail)
{
    return ring_put(host->inbox, mail, sizeof(*mail), NULL, 0);
}

/* Sends cancels that had no room before. Returns false while some remain, so that nothing overtakes
 * them. */
static bool put_cancels(struct engine_host *host)
{
    size_t n = 0;
    while (n < host->n_cancels && put_cancel(host, &host->cancels[n]))
        n++;
    if (n == 0)
        return host->n_cancels == 0;
    host->n_cancels -= n;
    memmove(host->cancels, host->cancels + n, host->n_cancels * sizeof(*host->cancels));
    wake_up(&host->mail_wake);
    return host->n_cancels == 0;
}

bool engine_host_submit(struct engine_host *host, const struct request *request,
                        const struct request_body *body)
{
    struct mail_submit mail = { .kind = MAIL_SUBMIT, .request = *request };
    if (!put_cancels(host) ||
        !ring_put(host->inbox, &mail, sizeof(mail), body, body != NULL ? body->n_bytes : 0))
        return false;
    wake_up(&host->mail_wake);
    return true;
}

void engine_host_cancel(struct engine_host *host, uint64_t id, uint32_t epoch)
{
    const struct mail_cancel mail = { .kind = MAIL_CANCEL, .epoch = epoch, .id = id };
    if (put_cancels(host) && put_cancel(host, &mail)) {
        wake_up(&host->mail_wake);
        return;
    }
    if (host->n_cancels == host->n_cancels_max) {
        size_t n = host->n_cancels_max > 0 ? 2 * host->n_cancels_max : 64;
        host->cancels = mem_grow(host->cancels, host->n_cancels_max * sizeof(*host->cancels),
                                 n * sizeof(*host->cancels));
        host->n_cancels_max = n;
    }
    host->cancels[host->n_cancels++] = mail;
}

bool engine_host_next(struct engine_host *host, struct service_event *event, const void **payload)
{
    const void *record;
    size_t n_bytes;
    (void)put_cancels(host);
    if (host->has_event) {
        ring_pop(host->events);
        host->has_event = false;
        if (atomic_exchange(&host->is_blocked, false))
            wake_up(&host->mail_wake);
    }
    if (!ring_peek(host->events, &record, &n_bytes)) {
        wake_clear(&host->news_wake);
        if (!ring_is_empty(host->events) || !ring_is_empty(host->answers) ||
            !ring_is_empty(host->reports))
            wake_up(&host->news_wake); /* unread, or just arrived, so it stays readable */
        if (!ring_peek(host->events, &record, &n_bytes))
            return false;
    }
    CHECK(n_bytes >= sizeof(*event));
    memcpy(event, record, sizeof(*event));
    CHECK((size_t)event->n_bytes == n_bytes - sizeof(*event));
    *payload = (const unsigned char *)record + sizeof(*event);
    host->has_event = true;
    return true;
}

int engine_host_wait_fd(struct engine_host *host)
{
    return host->news_wake.fd;
}

static bool put_ask(struct engine_host *host, const struct mail_control *mail, size_t n_bytes)
{
    CHECK(mail->service >= 0 && mail->service < host->n_services_max);
    if (!put_cancels(host) || host->n_asks >= HOST_ASKS_MAX ||
        !ring_put(host->inbox, mail, n_bytes, NULL, 0))
        return false;
    host->n_asks++;
    wake_up(&host->mail_wake);
    return true;
}

static bool ask(struct engine_host *host, const struct mail_control *mail)
{
    return put_ask(host, mail, sizeof(*mail));
}

bool engine_host_add_service(struct engine_host *host, int service, const struct service_spec *spec,
                             const struct kv_layout *layout)
{
    const struct mail_add mail = { .control = { .kind = MAIL_ADD, .service = service },
                                   .spec = *spec,
                                   .layout = *layout };
    return put_ask(host, &mail.control, sizeof(mail));
}

bool engine_host_remove_service(struct engine_host *host, int service)
{
    return ask(host, &(struct mail_control){ .kind = MAIL_REMOVE, .service = service });
}

bool engine_host_make_room(struct engine_host *host, int service, int64_t weights_bytes,
                           int64_t activation_bytes)
{
    return ask(host, &(struct mail_control){ .kind = MAIL_ROOM,
                                             .service = service,
                                             .weights_bytes = weights_bytes,
                                             .activation_bytes = activation_bytes });
}

bool engine_host_open_service(struct engine_host *host, int service, const struct perf *perf)
{
    return ask(host,
               &(struct mail_control){ .kind = MAIL_OPEN, .service = service, .perf = *perf });
}

bool engine_host_close_service(struct engine_host *host, int service)
{
    return ask(host, &(struct mail_control){ .kind = MAIL_CLOSE, .service = service });
}

bool engine_host_empty_service(struct engine_host *host, int service, bool even_busy)
{
    return ask(host, &(struct mail_control){
                         .kind = MAIL_EMPTY, .service = service, .even_busy = even_busy });
}

bool engine_host_revive(struct engine_host *host)
{
    return ask(host, &(struct mail_control){ .kind = MAIL_REVIVE });
}

bool engine_host_drain(struct engine_host *host)
{
    return ask(host, &(struct mail_control){ .kind = MAIL_DRAIN });
}

bool engine_host_answer(struct engine_host *host, struct engine_host_answer *a)
{
    const void *record;
    size_t n_bytes;
    (void)put_cancels(host);
    if (!ring_peek(host->answers, &record, &n_bytes))
        return false;
    CHECK(n_bytes == sizeof(*a));
    memcpy(a, record, sizeof(*a));
    ring_pop(host->answers);
    host->n_asks -= a->what != ENGINE_HOST_LOST;
    return true;
}

const struct engine_report *engine_host_report(struct engine_host *host)
{
    const void *record;
    size_t n_bytes;
    while (ring_peek(host->reports, &record, &n_bytes)) {
        CHECK(n_bytes >= engine_report_bytes(0) && n_bytes <= sizeof(host->report));
        memcpy(&host->report, record, n_bytes);
        CHECK(n_bytes == engine_report_bytes(host->report.n_services));
        ring_pop(host->reports);
    }
    return &host->report;
}

/* ---- As a struct service. ---- */

static bool service_submit(void *self, const struct request *request,
                           const struct request_body *body)
{
    return engine_host_submit(self, request, body);
}
static void service_cancel(void *self, uint64_t id, uint32_t epoch)
{
    engine_host_cancel(self, id, epoch);
}
static bool service_next(void *self, struct service_event *event, const void **payload)
{
    return engine_host_next(self, event, payload);
}
static int service_wait_fd(void *self)
{
    return engine_host_wait_fd(self);
}

struct service engine_host_service(struct engine_host *host)
{
    return (struct service){ host, service_submit, service_cancel, service_next, service_wait_fd };
}
