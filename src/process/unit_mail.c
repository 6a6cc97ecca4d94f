/* The records between an engine's process and its parent, at the parent's end. */
#include "process/unit_state.h"

#include "base/mem.h"
#include <string.h>

enum { RECORD_BYTES_MAX = PROCESS_UNIT_RECORD_BYTES, CHANGES_KEPT = 2 * LIMIT_MODELS };

/* ---- To the process. ---- */

bool process_unit_mail_put(struct process_unit *u, const void *part1, size_t n1, const void *part2,
                           size_t n2)
{
    if (u->state != PROCESS_STARTING && u->state != PROCESS_RUNNING)
        return false;
    if (!ring_put_within(u->channel.down, u->channel.down_bytes, part1, n1, part2, n2))
        return false;
    wake_up(&u->channel.down_wake);
    return true;
}

bool process_unit_mail_put_simple(struct process_unit *u, enum process_record_kind kind,
                                  int service)
{
    const struct process_record record = { (uint32_t)kind, service };
    return process_unit_mail_put(u, &record, sizeof record, NULL, 0);
}

/* Says what is wanted of a service. The process gets the same again if it starts anew. */
void process_unit_mail_ask(struct process_unit *u, int service)
{
    struct process_unit_service *s = &u->services[service];
    const struct process_unload unload = { { PROCESS_UNLOAD, service }, s->even_busy };
    s->has_ask = s->wants_loaded ? !process_unit_mail_put_simple(u, PROCESS_LOAD, service)
                                 : !process_unit_mail_put(u, &unload, sizeof unload, NULL, 0);
    s->has_ask = s->has_ask && (u->state == PROCESS_STARTING || u->state == PROCESS_RUNNING);
}

bool process_unit_mail_put_cancel(struct process_unit *u, const struct process_unit_request *r)
{
    const struct process_cancel record = { { .kind = PROCESS_CANCEL }, r->id, r->epoch };
    return process_unit_mail_put(u, &record, sizeof record, NULL, 0);
}

bool process_unit_mail_put_add(struct process_unit *u, int service)
{
    struct process_add record = { .head = { PROCESS_ADD, service } };
    record.service = u->flat->services[service];
    return process_unit_mail_put(u, &record, sizeof record, NULL, 0);
}

/* The ring is empty, and all of this fits. Services after the first ones are added, and so are
 * those that have the number of one that has left; the child waits at each until it can. */
void process_unit_mail_brief(struct process_unit *u)
{
    for (int i = 0; i < u->n_services; i++) {
        struct process_unit_service *s = &u->services[i];
        bool is_first = i < u->flat->n_services;
        s->has_add = s->has_admit = s->has_ask = false;
        if (is_first && s->presence != RUN_UNIT_THERE)
            CHECK(process_unit_mail_put_simple(u, PROCESS_REMOVE, i));
        if (s->presence == RUN_UNIT_REMOVING)
            s->presence = RUN_UNIT_NONE;
        if (s->presence == RUN_UNIT_READY) /* it has to answer again */
            s->presence = RUN_UNIT_ADDING;
        if (s->presence == RUN_UNIT_ADDING || (!is_first && s->presence == RUN_UNIT_THERE))
            CHECK(process_unit_mail_put_add(u, i));
        if (!is_first && s->presence == RUN_UNIT_THERE)
            CHECK(process_unit_mail_put_simple(u, PROCESS_ADMIT, i));
        if (s->presence == RUN_UNIT_THERE && s->wants_loaded)
            CHECK(process_unit_mail_put_simple(u, PROCESS_LOAD, i));
    }
    u->has_drain = false;
    if (u->wants_drain)
        CHECK(process_unit_mail_put_simple(u, PROCESS_DRAIN, 0));
}

/* Repeats what found a full ring. */
bool process_unit_mail_repeat(struct process_unit *u)
{
    bool is_all = true;
    for (int i = 0; i < u->n_services; i++) {
        struct process_unit_service *s = &u->services[i];
        s->has_add = s->has_add && !process_unit_mail_put_add(u, i);
        s->has_admit = s->has_admit && !process_unit_mail_put_simple(u, PROCESS_ADMIT, i);
        if (s->has_ask)
            process_unit_mail_ask(u, i);
        is_all = is_all && !s->has_add && !s->has_admit && !s->has_ask;
    }
    for (uint32_t i = 0; i < u->n_requests_max && u->n_cancels > 0; i++) {
        struct process_unit_request *r = &u->requests[i];
        if (!r->wants_cancel || !process_unit_mail_put_cancel(u, r))
            continue;
        r->wants_cancel = false;
        u->n_cancels--;
    }
    u->has_drain = u->has_drain && !process_unit_mail_put_simple(u, PROCESS_DRAIN, 0);
    return is_all && u->n_cancels == 0 && !u->has_drain;
}

/* ---- From the process. ---- */

void process_unit_mail_tell(struct process_unit *u, int service, enum service_status status,
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
    process_unit_mail_tell(u, change->service, (enum service_status)change->status,
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
void process_unit_mail_lend(struct process_unit *u, int service)
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
    if (record.status == STATUS_OK &&
        !process_channel_send_fd(&u->channel, answer.lent.fd, record.file_hash))
        return; /* the socket is full: at the next step */
    if (process_unit_mail_put(u, &record, sizeof record, NULL, 0))
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
                        bool (*is_valid)(const void *record, size_t n_bytes), unsigned char *to)
{
    const void *record;
    size_t n_bytes;
    if (u->state == PROCESS_DOWN || u->is_distrusted ||
        !ring_peek_within(ring, capacity, &record, &n_bytes))
        return false;
    bool is_short = n_bytes <= RECORD_BYTES_MAX;
    if (is_short)
        memcpy(to, record, n_bytes);
    ring_pop_within(ring, capacity);
    if (is_short && is_valid(to, n_bytes))
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

/* A process that lives may write as fast as this reads, so one call is bounded. */
void process_unit_mail_take(struct process_unit *u)
{
    enum { RECORDS_MAX = 1024 };
    bool lives = u->state == PROCESS_STARTING || u->state == PROCESS_RUNNING;
    int n = 0;
    while ((!lives || n < RECORDS_MAX) &&
           u->n_changes - u->next_change < (int)COUNT_OF(u->changes) - CHANGES_KEPT &&
           read_record(u, u->channel.up, u->channel.up_bytes, process_record_is_valid, u->record)) {
        take_record(u, u->record);
        n++;
    }
    if (lives && n == RECORDS_MAX)
        wake_up(&u->channel.up_wake); /* the rest at the next step */
}

bool process_unit_mail_next(struct process_unit *u, struct service_event *event,
                            const void **payload)
{
    unsigned char *record = u->event_record;
    if (!read_record(u, u->channel.events, u->channel.events_bytes, process_record_is_event,
                     record))
        return false;
    memcpy(event, record, sizeof *event);
    event->engine = u->id;
    *payload = record + sizeof *event;
    if (process_unit_requests_take(u, event, *payload))
        return true;
    distrust(u, "sent an event that its request can't have, and was killed");
    return false;
}
