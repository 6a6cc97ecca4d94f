/* The parent's side of an engine's process: its interface, and the records that come from it. */
#include "process/unit_state.h"

#include "base/log.h"
#include "base/mem.h"
#include "base/time.h"
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { RECORD_BYTES_MAX = 256 << 10, CHANGES_KEPT = 2 * LIMIT_MODELS };
static const int64_t HEALTH_NS = 2 * TIME_NS_PER_S; /* a restart that takes longer is bad health */
static const int CLOSE_MS_MAX = 5000;

/* ---- To the process. ---- */

static bool put(struct process_unit *u, const void *part1, size_t n1, const void *part2, size_t n2)
{
    if (u->state != PROCESS_STARTING && u->state != PROCESS_RUNNING)
        return false;
    if (!ring_put_within(u->channel.down, u->channel.down_bytes, part1, n1, part2, n2))
        return false;
    wake_up(&u->channel.down_wake);
    return true;
}

static bool put_simple(struct process_unit *u, enum process_record_kind kind, int service)
{
    const struct process_record record = { (uint32_t)kind, service };
    return put(u, &record, sizeof record, NULL, 0);
}

/* Says what is wanted of a service. The process gets the same again if it starts anew. */
static void ask(struct process_unit *u, int service)
{
    struct process_unit_service *s = &u->services[service];
    const struct process_unload unload = { { PROCESS_UNLOAD, service }, s->even_busy };
    s->has_ask = s->wants_loaded ? !put_simple(u, PROCESS_LOAD, service)
                                 : !put(u, &unload, sizeof unload, NULL, 0);
    s->has_ask = s->has_ask && (u->state == PROCESS_STARTING || u->state == PROCESS_RUNNING);
}

static bool put_cancel(struct process_unit *u, const struct process_unit_request *r)
{
    const struct process_cancel record = { { .kind = PROCESS_CANCEL }, r->id, r->epoch };
    return put(u, &record, sizeof record, NULL, 0);
}

static bool put_add(struct process_unit *u, int service)
{
    struct process_add record = { .head = { PROCESS_ADD, service } };
    record.service = u->flat->services[service];
    return put(u, &record, sizeof record, NULL, 0);
}

/* The ring is empty, and all of this fits. Services after the first ones are added, and so are those that
 * have the number of one that has left; the child waits at each until it can. */
void process_unit_brief(struct process_unit *u)
{
    for (int i = 0; i < u->n_services; i++) {
        struct process_unit_service *s = &u->services[i];
        bool is_first = i < u->flat->n_services;
        s->has_add = s->has_admit = s->has_ask = false;
        if (is_first && s->presence != RUN_UNIT_THERE)
            CHECK(put_simple(u, PROCESS_REMOVE, i));
        if (s->presence == RUN_UNIT_REMOVING)
            s->presence = RUN_UNIT_NONE;
        if (s->presence == RUN_UNIT_READY) /* it has to answer again */
            s->presence = RUN_UNIT_ADDING;
        if (s->presence == RUN_UNIT_ADDING || (!is_first && s->presence == RUN_UNIT_THERE))
            CHECK(put_add(u, i));
        if (!is_first && s->presence == RUN_UNIT_THERE)
            CHECK(put_simple(u, PROCESS_ADMIT, i));
        if (s->presence == RUN_UNIT_THERE && s->wants_loaded)
            CHECK(put_simple(u, PROCESS_LOAD, i));
    }
    u->has_drain = false;
    if (u->wants_drain)
        CHECK(put_simple(u, PROCESS_DRAIN, 0));
}

/* Repeats what found a full ring. */
static bool repeat(struct process_unit *u)
{
    bool is_all = true;
    for (int i = 0; i < u->n_services; i++) {
        struct process_unit_service *s = &u->services[i];
        s->has_add = s->has_add && !put_add(u, i);
        s->has_admit = s->has_admit && !put_simple(u, PROCESS_ADMIT, i);
        if (s->has_ask)
            ask(u, i);
        is_all = is_all && !s->has_add && !s->has_admit && !s->has_ask;
    }
    for (uint32_t i = 0; i < u->n_requests_max && u->n_cancels > 0; i++) {
        struct process_unit_request *r = &u->requests[i];
        if (!r->wants_cancel || !put_cancel(u, r))
            continue;
        r->wants_cancel = false;
        u->n_cancels--;
    }
    u->has_drain = u->has_drain && !put_simple(u, PROCESS_DRAIN, 0);
    return is_all && u->n_cancels == 0 && !u->has_drain;
}

/* ---- From the process. ---- */

void process_unit_tell(struct process_unit *u, int service, enum service_status status,
                       enum status cause, const struct fault *fault)
{
    const struct service_report *row = &u->report.services[service];
    if (u->n_changes == (int)COUNT_OF(u->changes)) {
        u->n_changes -= u->next_change;
        memmove(u->changes, u->changes + u->next_change,
                sizeof u->changes[0] * (size_t)u->n_changes);
        u->next_change = 0;
    }
    CHECK(u->n_changes < (int)COUNT_OF(u->changes));
    /* A load that failed leaves it unloaded: only the change has the reason. */
    u->services[service].status = status == SERVICE_BROKEN ? SERVICE_UNLOADED : status;
    u->changes[u->n_changes++] =
        (struct service_change){ .engine = u->id,
                                 .service = (uint16_t)service,
                                 .life = u->flat->services[service].spec.life,
                                 .status = (uint8_t)status,
                                 .cause = (uint8_t)cause,
                                 .weights_bytes = row->weights_bytes,
                                 .activation_bytes = row->activation_bytes };
    if (fault != NULL)
        u->changes[u->n_changes - 1].fault = *fault;
}

static void take_change(struct process_unit *u, const struct service_change *change)
{
    struct process_unit_service *s = &u->services[change->service];
    if (s->presence != RUN_UNIT_THERE ||
        change->life != u->flat->services[change->service].spec.life)
        return;
    bool is_end = change->status == SERVICE_UNLOADED || change->status == SERVICE_BROKEN;
    process_unit_tell(u, change->service, (enum service_status)change->status,
                      (enum status)change->cause, &change->fault);
    u->changes[u->n_changes - 1].weights_bytes = change->weights_bytes;
    u->changes[u->n_changes - 1].activation_bytes = change->activation_bytes;
    if (change->status == SERVICE_LOADED)
        s->wants_loaded = true; /* also when an unload was refused */
    if (!is_end)
        return;
    s->wants_loaded = false;
    s->want_bytes = 0;
    if (u->options.weights != NULL)
        process_weights_release(u->options.weights, u->id, change->service);
}

static void take_report(struct process_unit *u, const struct process_report *m)
{
    int32_t n_restarts = u->report.n_restarts;
    int n = u->report.n_services;
    for (int s = m->report.n_services; s < n; s++)
        u->report.services[s] = (struct service_report){ 0 };
    memcpy(&u->report, &m->report, engine_report_bytes(m->report.n_services));
    u->report.n_restarts = n_restarts;
    u->report.is_down = false;
}

static void take_presence(struct process_unit *u, const struct process_presence *m)
{
    struct process_unit_service *s = &u->services[m->head.service];
    if (m->presence == RUN_UNIT_NONE && s->presence == RUN_UNIT_REMOVING)
        s->presence = RUN_UNIT_NONE;
    if (m->presence != RUN_UNIT_NONE && s->presence == RUN_UNIT_ADDING)
        s->presence = (enum run_unit_presence)m->presence;
    s->refusal = m->why;
}

static void take_want(struct process_unit *u, const struct process_want *m)
{
    struct process_unit_service *s = &u->services[m->head.service];
    if (u->options.weights == NULL || s->presence != RUN_UNIT_THERE ||
        m->n_bytes > u->flat->engine.memory_bytes)
        return;
    s->want_bytes = m->n_bytes;
    if (m->n_bytes == 0) /* cancelled */
        process_weights_release(u->options.weights, u->id, m->head.service);
}

/* Answers a process that waits for weights, when they are there. */
static void lend(struct process_unit *u, int service)
{
    struct process_unit_service *s = &u->services[service];
    const struct process_service *flat = &u->flat->services[service];
    const struct process_weights_want want = { u->id, service, flat->spec.life, flat->path,
                                               s->want_bytes };
    struct process_weights_answer answer = { .state = PROCESS_WEIGHTS_WAITS };
    struct process_lent record = { .head = { PROCESS_LENT, service } };
    process_weights_use(u->options.weights, &want, &answer);
    if (answer.state == PROCESS_WEIGHTS_WAITS)
        return;
    record.status = answer.state == PROCESS_WEIGHTS_READY ? STATUS_OK : answer.status;
    record.file_hash = answer.lent.file_hash;
    record.fault = answer.fault;
    if (record.status == STATUS_OK && !process_channel_send_fd(&u->channel, answer.lent.fd))
        return; /* the socket is full: at the next step */
    if (put(u, &record, sizeof record, NULL, 0))
        s->want_bytes = 0;
}

static void distrust(struct process_unit *u, const char *why)
{
    u->is_distrusted = true;
    process_unit_life_kill(u, why);
}

/* Copies the oldest record of a ring and takes it out. Returns false when there is none, or none
 * that counts. */
static bool read_record(struct process_unit *u, struct ring *ring, uint64_t capacity,
                        bool (*is_valid)(const void *record, size_t n_bytes))
{
    const void *record;
    size_t n_bytes;
    if (u->state == PROCESS_DOWN || u->is_distrusted ||
        !ring_peek_within(ring, capacity, &record, &n_bytes))
        return false;
    bool is_short = n_bytes <= RECORD_BYTES_MAX;
    if (is_short)
        memcpy(u->record, record, n_bytes);
    ring_pop_within(ring, capacity);
    if (is_short && is_valid(u->record, n_bytes))
        return true;
    distrust(u, "wrote a record that no engine writes, and was killed");
    return false;
}

static void take_record(struct process_unit *u, const void *record)
{
    const struct process_record *head = record;
    switch (head->kind) {
    case PROCESS_CHANGE:
        take_change(u, &((const struct process_change *)record)->change);
        return;
    case PROCESS_REPORT:
        take_report(u, record);
        return;
    case PROCESS_PRESENCE:
        take_presence(u, record);
        return;
    case PROCESS_WANT:
        take_want(u, record);
        return;
    default:
        if (u->state == PROCESS_STARTING)
            u->state = PROCESS_RUNNING;
        u->has_run = true;
        return;
    }
}

void process_unit_take(struct process_unit *u)
{
    while (u->n_changes - u->next_change < (int)COUNT_OF(u->changes) - CHANGES_KEPT &&
           read_record(u, u->channel.up, u->channel.up_bytes, process_record_is_valid))
        take_record(u, u->record);
}

static bool next_event(struct process_unit *u, struct service_event *event, const void **payload)
{
    if (!read_record(u, u->channel.events, u->channel.events_bytes, process_record_is_event))
        return false;
    memcpy(event, u->record, sizeof *event);
    event->engine = u->id;
    *payload = u->record + sizeof *event;
    if (process_unit_requests_take(u, event, *payload))
        return true;
    distrust(u, "sent an event that its request can't have, and was killed");
    return false;
}

/* ---- As a struct service. ---- */

static bool submit(void *self, const struct request *request, const struct request_body *body)
{
    struct process_unit *u = self;
    const struct process_submit record = { { .kind = PROCESS_SUBMIT }, *request };
    if (u->state != PROCESS_RUNNING || u->is_killed || request->service >= u->n_services ||
        !process_unit_requests_add(u, request))
        return false;
    if (put(u, &record, sizeof record, body, body != NULL ? body->n_bytes : 0))
        return true;
    process_unit_requests_remove(u, request->id);
    return false;
}

static void cancel(void *self, uint64_t id, uint32_t epoch)
{
    struct process_unit *u = self;
    struct process_unit_request *r = process_unit_requests_find(u, id);
    if (r == NULL || r->epoch != epoch || r->wants_cancel || put_cancel(u, r))
        return;
    r->wants_cancel = true;
    u->n_cancels++;
}

static bool next(void *self, struct service_event *event, const void **payload)
{
    struct process_unit *u = self;
    if (next_event(u, event, payload))
        return true;
    if (u->state != PROCESS_DOWN) {
        wake_clear(&u->channel.up_wake); /* what came since is seen now, and later news wakes */
        process_unit_take(u);
        if (next_event(u, event, payload))
            return true;
    }
    if (u->state != PROCESS_OVER)
        return false;
    *payload = NULL;
    if (process_unit_requests_next_lost(u, event))
        return true;
    process_unit_life_down(u, time_now_ns());
    return false;
}

static int wait_fd(void *self)
{
    return ((struct process_unit *)self)->options.epoll_fd;
}

struct service process_unit_service(struct process_unit *unit)
{
    return (struct service){ unit, submit, cancel, next, wait_fd };
}

/* ---- The other functions of a unit. ---- */

int64_t process_unit_step(struct process_unit *u, int64_t now_ns)
{
    int64_t wake_ns = process_unit_life_step(u, now_ns);
    bool is_up = u->state == PROCESS_STARTING || u->state == PROCESS_RUNNING;
    bool is_all = !is_up || repeat(u);
    if (u->options.weights != NULL)
        process_weights_step(u->options.weights);
    for (int i = 0; i < u->n_services && is_up; i++)
        if (u->services[i].want_bytes > 0)
            lend(u, i);
    if (u->report.is_down && u->report.is_healthy)
        u->report.is_healthy = now_ns - u->over_ns < HEALTH_NS;
    return is_all ? wake_ns : min_i64(wake_ns, now_ns + TIME_NS_PER_MS);
}

void process_unit_load(struct process_unit *u, int service)
{
    struct process_unit_service *s = &u->services[service];
    if (s->presence != RUN_UNIT_THERE)
        return;
    if (s->aside_until_ns > time_now_ns()) {
        process_unit_tell(u, service, SERVICE_BROKEN, STATUS_BAD_INPUT, &s->refusal);
        return;
    }
    s->aside_until_ns = 0;
    if (s->status == SERVICE_UNLOADED)
        process_unit_tell(u, service, SERVICE_LOADING, STATUS_OK, NULL);
    s->wants_loaded = true;
    s->even_busy = false;
    ask(u, service);
}

void process_unit_unload(struct process_unit *u, int service, bool even_busy)
{
    struct process_unit_service *s = &u->services[service];
    if (s->presence != RUN_UNIT_THERE || s->status == SERVICE_UNLOADED)
        return;
    s->wants_loaded = false;
    s->even_busy |= even_busy;
    if (u->state == PROCESS_OVER || u->state == PROCESS_DOWN) {
        process_unit_tell(u, service, SERVICE_UNLOADED, STATUS_CANCELLED, NULL);
        if (u->options.weights != NULL)
            process_weights_release(u->options.weights, u->id, service);
        return;
    }
    ask(u, service);
}

void process_unit_drain(struct process_unit *u)
{
    u->wants_drain = true;
    u->has_drain = !put_simple(u, PROCESS_DRAIN, 0);
}

enum run_unit_presence process_unit_presence(const struct process_unit *u, int service)
{
    return u->services[service].presence;
}

const char *process_unit_refusal(const struct process_unit *u, int service)
{
    return u->services[service].refusal.text;
}

void process_unit_add_service(struct process_unit *u, int service,
                              const struct run_unit_joins *joins)
{
    struct process_unit_service *s = &u->services[service];
    CHECK(s->presence == RUN_UNIT_NONE);
    *s = (struct process_unit_service){ .presence = RUN_UNIT_ADDING };
    u->report.services[service] = (struct service_report){ .life = joins->service->life };
    u->n_services = max_i32(u->n_services, service + 1);
    if (!process_options_write_service(&u->flat->services[service], joins)) {
        s->presence = RUN_UNIT_REFUSED;
        (void)fault_set(&s->refusal, STATUS_BAD_INPUT, "its path is too long");
        return;
    }
    s->has_add = !put_add(u, service);
}

void process_unit_admit_service(struct process_unit *u, int service)
{
    CHECK(u->services[service].presence == RUN_UNIT_READY);
    u->services[service].presence = RUN_UNIT_THERE;
    u->services[service].has_admit = !put_simple(u, PROCESS_ADMIT, service);
}

bool process_unit_remove_service(struct process_unit *u, int service)
{
    struct process_unit_service *s = &u->services[service];
    if (s->status != SERVICE_UNLOADED || s->wants_loaded || s->n_live > 0)
        return false;
    bool is_up = u->state == PROCESS_STARTING || u->state == PROCESS_RUNNING;
    if (is_up && !put_simple(u, PROCESS_REMOVE, service))
        return false;
    s->presence = is_up ? RUN_UNIT_REMOVING : RUN_UNIT_NONE;
    return true;
}

bool process_unit_next_change(struct process_unit *u, struct service_change *change)
{
    if (u->next_change == u->n_changes)
        return false;
    *change = u->changes[u->next_change++];
    return true;
}

const struct engine_report *process_unit_report(struct process_unit *u)
{
    struct engine_report *report = &u->report;
    report->engine = u->id;
    report->n_services = u->n_services;
    report->listed = (struct set){ { 0 } };
    for (int i = 0; i < u->n_services; i++) {
        const struct process_unit_service *s = &u->services[i];
        uint16_t life = u->flat->services[i].spec.life;
        struct service_report *row = &report->services[i];
        if (s->presence != RUN_UNIT_THERE)
            continue;
        set_add(&report->listed, i);
        if (row->life != life)
            *row = (struct service_report){ .life = life };
        row->status = (uint8_t)s->status;
        if (s->status != SERVICE_LOADING)
            row->progress_percent = s->status == SERVICE_LOADED ? 100 : 0;
        else if (u->options.weights != NULL)
            row->progress_percent = (uint8_t)process_weights_percent(u->options.weights, i);
        if (report->is_down)
            row->n_waiting = row->n_running = 0;
    }
    if (report->is_down)
        report->n_requests = 0;
    return report;
}

/* ---- Opening and closing. ---- */

struct process_unit *process_unit_make(const struct process_unit_options *options)
{
    struct process_unit *u = mem_take(sizeof *u);
    const struct run_unit_options *from = options->unit;
    const struct engine_options *engine = &from->host.engine;
    u->options = *options;
    u->options.unit = NULL;
    u->id = engine->id;
    u->child.pidfd = u->child.log_fd = -1;
    snprintf(u->name, sizeof u->name, "engine-%d", (int)engine->id);
    u->flat = mem_take(process_options_bytes(LIMIT_MODELS));
    u->record = mem_take(RECORD_BYTES_MAX);
    process_options_write(u->flat, from, &options->device);
    u->flat->is_lent = options->weights != NULL;
    u->flat->n_services = u->n_services = engine->n_services;
    for (int s = 0; s < u->n_services; s++) {
        const struct run_unit_joins joins = { .service = &engine->services[s],
                                              .layout = &engine->layouts[s],
                                              .path = from->paths[s],
                                              .spec = from->specs[s],
                                              .kv_dtype = from->kv_dtypes[s],
                                              .perf = from->perfs[s] };
        if (!process_options_write_service(&u->flat->services[s], &joins))
            base_refuse("the path of model %s is too long", engine->services[s].name);
        u->services[s].presence = RUN_UNIT_THERE;
    }
    process_unit_requests_open(u, 2 * engine->n_requests_max);
    u->state = PROCESS_DOWN;
    return u;
}

struct process_unit *process_unit_open(const struct process_unit_options *options)
{
    struct process_unit *u = process_unit_make(options);
    process_unit_life_start(u, time_now_ns());
    return u;
}

/* The process sees the end of its socket and leaves by itself; else it is killed. */
void process_unit_close(struct process_unit *u)
{
    if (u->state != PROCESS_DOWN) {
        close(u->channel.socket);
        u->channel.socket = -1;
        wake_up(&u->channel.down_wake);
        struct pollfd end = { .fd = u->child.pidfd, .events = POLLIN };
        (void)poll(&end, 1, u->child.pid > 0 ? CLOSE_MS_MAX : 0);
        process_child_say(&u->child);
        process_child_end(&u->child);
        process_channel_close(&u->channel);
    }
    process_unit_requests_close(u);
    mem_give(u->flat);
    mem_give(u->record);
    mem_give(u);
}
