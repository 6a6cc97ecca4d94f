/* The parent's side of an engine's process: its interface. */
#include "process/unit.h"

#include "base/log.h"
#include "base/mem.h"
#include "base/time.h"
#include "process/unit_state.h"
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const int64_t HEALTH_NS = 2 * TIME_NS_PER_S; /* a restart that takes longer is bad health */
static const int CLOSE_MS_MAX = 5000;

/* ---- As a struct service. ---- */

static bool submit(void *self, const struct request *request, const struct request_body *body)
{
    struct process_unit *u = self;
    const struct process_submit record = { { .kind = PROCESS_SUBMIT }, *request };
    if (u->state != PROCESS_RUNNING || u->is_killed || request->service >= u->n_services ||
        !process_unit_requests_add(u, request))
        return false;
    if (process_unit_mail_put(u, &record, sizeof record, body, body != NULL ? body->n_bytes : 0))
        return true;
    process_unit_requests_remove(u, request->id);
    return false;
}

static void cancel(void *self, uint64_t id, uint32_t epoch)
{
    struct process_unit *u = self;
    struct process_unit_request *r = process_unit_requests_find(u, id);
    if (r == NULL || r->epoch != epoch || r->wants_cancel || process_unit_mail_put_cancel(u, r))
        return;
    r->wants_cancel = true;
    u->n_cancels++;
}

static bool next(void *self, struct service_event *event, const void **payload)
{
    struct process_unit *u = self;
    if (process_unit_mail_next(u, event, payload))
        return true;
    if (u->state != PROCESS_DOWN) {
        wake_clear(&u->channel.up_wake); /* what came since is seen now, and later news wakes */
        process_unit_mail_take(u);
        if (process_unit_mail_next(u, event, payload))
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
    bool is_all = !is_up || process_unit_mail_repeat(u);
    if (u->options.weights != NULL)
        process_weights_step(u->options.weights);
    for (int i = 0; i < u->n_services && is_up; i++)
        if (u->services[i].want_bytes > 0)
            process_unit_mail_lend(u, i);
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
        process_unit_mail_tell(u, service, SERVICE_BROKEN, STATUS_BAD_INPUT, &s->refusal);
        return;
    }
    s->aside_until_ns = 0;
    if (s->status == SERVICE_UNLOADED)
        process_unit_mail_tell(u, service, SERVICE_LOADING, STATUS_OK, NULL);
    s->wants_loaded = true;
    s->even_busy = false;
    process_unit_mail_ask(u, service);
}

void process_unit_unload(struct process_unit *u, int service, bool even_busy)
{
    struct process_unit_service *s = &u->services[service];
    if (s->presence != RUN_UNIT_THERE || s->status == SERVICE_UNLOADED)
        return;
    s->wants_loaded = false;
    s->even_busy |= even_busy;
    if (u->state == PROCESS_OVER || u->state == PROCESS_DOWN) {
        process_unit_mail_tell(u, service, SERVICE_UNLOADED, STATUS_CANCELLED, NULL);
        if (u->options.weights != NULL)
            process_weights_release(u->options.weights, u->id, service);
        return;
    }
    process_unit_mail_ask(u, service);
}

void process_unit_drain(struct process_unit *u)
{
    u->wants_drain = true;
    u->has_drain = !process_unit_mail_put_simple(u, PROCESS_DRAIN, 0);
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
    s->has_add = !process_unit_mail_put_add(u, service);
}

void process_unit_admit_service(struct process_unit *u, int service)
{
    CHECK(u->services[service].presence == RUN_UNIT_READY);
    u->services[service].presence = RUN_UNIT_THERE;
    u->services[service].has_admit = !process_unit_mail_put_simple(u, PROCESS_ADMIT, service);
}

bool process_unit_remove_service(struct process_unit *u, int service)
{
    struct process_unit_service *s = &u->services[service];
    if (s->status != SERVICE_UNLOADED || s->wants_loaded || s->n_live > 0)
        return false;
    bool is_up = u->state == PROCESS_STARTING || u->state == PROCESS_RUNNING;
    if (is_up && !process_unit_mail_put_simple(u, PROCESS_REMOVE, service))
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
    u->record = mem_take(PROCESS_UNIT_RECORD_BYTES);
    u->event_record = mem_take(PROCESS_UNIT_RECORD_BYTES);
    process_options_write(u->flat, from, &options->device);
    u->flat->is_lent = options->weights != NULL;
    u->flat->has_exchange = options->door != NULL;
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
    mem_give(u->event_record);
    mem_give(u);
}
