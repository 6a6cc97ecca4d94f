/* A unit: its interface, and one step of it. */
#include "run/unit.h"

#include "base/mem.h"
#include "base/time.h"
#include "run/guides.h"
#include "run/unit_device.h"
#include "run/unit_loader.h"
#include "run/unit_moves.h"
#include "run/unit_sleep.h"
#include <stdio.h>
#include <string.h>

int64_t run_unit_step(struct run_unit *unit, int64_t now_ns)
{
    struct engine_host_answer answer;
    wake_clear(&unit->loader_wake);
    (void)engine_host_report(unit->host); /* read, so that its wake is reset */
    while (engine_host_answer(unit->host, &answer))
        run_unit_moves_take(unit, &answer, now_ns);
    run_unit_moves_step(unit);
    run_unit_sleep_step(unit);
    run_unit_moves_repeat(unit);
    int64_t wake_ns = run_unit_device_step(unit, now_ns);
    for (int i = 0; i < unit->n_services && atomic_load(&unit->job.phase) == JOB_NONE; i++) {
        if (unit->services[i].state == UNIT_QUEUED && unit->device == UNIT_DEVICE_OPEN)
            run_unit_moves_start(unit, i, now_ns);
    }
    for (int i = 0; i < LIMIT_MODELS; i++) {
        if (unit->services[i].ask_pending || unit->drain_pending)
            return now_ns + TIME_NS_PER_MS;
    }
    return wake_ns;
}

/* ---- The interface. ---- */

static bool is_there(const struct run_unit_service *s)
{
    return s->state >= UNIT_UNLOADED;
}

enum run_unit_presence run_unit_presence(const struct run_unit *unit, int service)
{
    static const enum run_unit_presence presences[] = { [UNIT_NONE] = RUN_UNIT_NONE,
                                                        [UNIT_ADDING] = RUN_UNIT_ADDING,
                                                        [UNIT_REFUSED] = RUN_UNIT_REFUSED,
                                                        [UNIT_READY] = RUN_UNIT_READY,
                                                        [UNIT_REMOVING] = RUN_UNIT_REMOVING };
    const struct run_unit_service *s = &unit->services[service];
    CHECK(service >= 0 && service < LIMIT_MODELS);
    return is_there(s) ? RUN_UNIT_THERE : presences[s->state];
}

const char *run_unit_refusal(const struct run_unit *unit, int service)
{
    return unit->services[service].refusal;
}

void run_unit_add_service(struct run_unit *unit, int service, const struct run_unit_joins *joins)
{
    CHECK(run_unit_presence(unit, service) == RUN_UNIT_NONE);
    struct run_unit_service *s = &unit->services[service];
    const struct perf *perf = &joins->perf;
    *s = (struct run_unit_service){ .state = UNIT_ADDING,
                                    .service = *joins->service,
                                    .layout = *joins->layout,
                                    .path = mem_copy_text(joins->path),
                                    .spec = joins->spec,
                                    .tokenizer = joins->tokenizer,
                                    .kv_dtype = joins->kv_dtype,
                                    .adapters = joins->adapters,
                                    .perf = *perf,
                                    .has_perf = perf->c3_ps[0] + perf->c2_ps[0] > 0 };
    run_unit_moves_ask_added(unit, service);
}

void run_unit_admit_service(struct run_unit *unit, int service)
{
    CHECK(run_unit_presence(unit, service) == RUN_UNIT_READY);
    unit->services[service].state = UNIT_UNLOADED;
}

bool run_unit_remove_service(struct run_unit *unit, int service)
{
    struct run_unit_service *s = &unit->services[service];
    if (s->state == UNIT_REFUSED) {
        run_unit_moves_clear(s);
        return true;
    }
    if (s->state != UNIT_READY && s->state != UNIT_UNLOADED)
        return false;
    run_unit_loader_end_sleep(unit, s);
    s->state = UNIT_REMOVING;
    run_unit_moves_ask_removed(unit, service);
    return true;
}

void run_unit_load(struct run_unit *unit, int service)
{
    struct run_unit_service *s = &unit->services[service];
    CHECK(service >= 0 && service < LIMIT_MODELS);
    if (!is_there(s))
        return;
    if (s->state == UNIT_UNLOADED) {
        s->state = UNIT_QUEUED;
        run_unit_moves_tell_under_way(unit, service, SERVICE_LOADING);
    }
    if (s->state < UNIT_LEAVING && unit->device == UNIT_DEVICE_OPEN) {
        s->wants_out = s->even_busy = s->wants_sleep = false;
        if (s->state == UNIT_LOADED)
            s->sleep_bytes = 0;
    }
}

void run_unit_unload(struct run_unit *unit, int service, bool even_busy)
{
    struct run_unit_service *s = &unit->services[service];
    CHECK(service >= 0 && service < LIMIT_MODELS);
    if (!is_there(s))
        return;
    s->wants_sleep = false;
    if (s->state == UNIT_LOADED)
        s->sleep_bytes = 0;
    if (s->state == UNIT_UNLOADED && s->is_asleep) {
        run_unit_loader_end_sleep(unit, s);
        run_unit_moves_tell(unit, service, SERVICE_UNLOADED, STATUS_OK, NULL);
        return;
    }
    if (s->state == UNIT_UNLOADED || s->state == UNIT_LEAVING || s->state == UNIT_DOZING ||
        s->state == UNIT_GONE)
        return;
    if (s->state == UNIT_QUEUED) {
        run_unit_loader_end_sleep(unit, s);
        s->state = UNIT_UNLOADED;
        run_unit_moves_tell(unit, service, SERVICE_UNLOADED, STATUS_CANCELLED, NULL);
        return;
    }
    s->wants_out = true;
    s->even_busy |= even_busy;
    if (s->state == UNIT_OPENING || s->state == UNIT_PACKING)
        atomic_store(&unit->progress.cancel, true);
}

void run_unit_sleep(struct run_unit *unit, int service)
{
    CHECK(service >= 0 && service < LIMIT_MODELS);
    run_unit_sleep_order(unit, service);
}

void run_unit_drain(struct run_unit *unit)
{
    unit->drain_pending = true;
}

/* Compiles a grammar here, on the owner's thread, where no worker of this process did so. */
static bool submit(void *self, const struct request *request, const struct request_body *body)
{
    struct run_unit *unit = self;
    const struct run_unit_service *s = &unit->services[request->service];
    if (body->grammar_kind != 0 && s->spec != NULL)
        run_guides_prepare(unit->options.grammars, s->tokenizer, s->spec->n_vocabulary, body);
    return unit->inner.submit(unit->inner.self, request, body);
}

static void cancel(void *self, uint64_t id, uint32_t epoch)
{
    struct run_unit *unit = self;
    unit->inner.cancel(unit->inner.self, id, epoch);
}

static bool next(void *self, struct service_event *event, const void **payload)
{
    struct run_unit *unit = self;
    return unit->inner.next(unit->inner.self, event, payload);
}

static int wait_fd(void *self)
{
    struct run_unit *unit = self;
    return unit->inner.wait_fd(unit->inner.self);
}

struct service run_unit_service(struct run_unit *unit)
{
    unit->inner = engine_host_service(unit->host);
    return (struct service){ unit, submit, cancel, next, wait_fd };
}

int run_unit_loading(const struct run_unit *unit)
{
    int phase = atomic_load(&unit->job.phase);
    return phase != JOB_NONE && phase < JOB_WANT_DEVICE ? unit->job.service : -1;
}

int run_unit_load_fd(struct run_unit *unit)
{
    return unit->loader_wake.fd;
}

bool run_unit_next_change(struct run_unit *unit, struct service_change *change)
{
    if (unit->next_change == unit->n_changes)
        return false;
    *change = unit->changes[unit->next_change++];
    return true;
}

static uint8_t status_of(enum run_unit_load state)
{
    switch (state) {
    case UNIT_UNLOADED:
        return SERVICE_UNLOADED;
    case UNIT_LOADED:
        return SERVICE_LOADED;
    case UNIT_LEAVING:
    case UNIT_DOZING:
    case UNIT_GONE:
        return SERVICE_DRAINING_OUT;
    default:
        return SERVICE_LOADING;
    }
}

const struct engine_report *run_unit_report(struct run_unit *unit)
{
    const struct engine_report *report = engine_host_report(unit->host);
    memcpy(&unit->report, report, engine_report_bytes(report->n_services));
    unit->report.engine = unit->options.host.engine.id;
    unit->report.n_services = unit->n_services;
    unit->report.listed = (struct set){ { 0 } };
    for (int i = 0; i < unit->n_services; i++) {
        struct run_unit_service *s = &unit->services[i];
        if (!is_there(s))
            continue;
        set_add(&unit->report.listed, i);
        if (unit->report.services[i].life != s->service.life) /* of the number's earlier service */
            unit->report.services[i] = (struct service_report){ .life = s->service.life };
        unit->report.services[i].status = status_of(s->state);
        unit->report.services[i].sleep_bytes =
            s->state == UNIT_UNLOADED && s->is_asleep ? s->sleep_bytes : 0;
        unit->report.services[i].n_wakes = s->n_wakes;
        unit->report.services[i].copy_permille = s->copy_permille;
        unit->report.services[i].load_ns = s->load_ns;
        unit->report.services[i].progress_percent =
            s->state == UNIT_LOADED    ? 100
            : s->state == UNIT_PACKING ? (uint8_t)atomic_load(&unit->progress.percent)
                                       : 0;
    }
    return &unit->report;
}

struct run_unit *run_unit_open(const struct run_unit_options *options)
{
    struct run_unit *unit = mem_take(sizeof *unit);
    unit->options = *options;
    unit->n_services = options->host.engine.n_services;
    for (int i = 0; i < unit->n_services; i++) {
        unit->services[i].state = UNIT_UNLOADED;
        unit->services[i].service = options->host.engine.services[i];
        unit->services[i].path = mem_copy_text(options->paths[i]);
        unit->services[i].spec = options->specs ? options->specs[i] : NULL;
        unit->services[i].tokenizer = options->tokenizers ? options->tokenizers[i] : NULL;
        unit->services[i].kv_dtype = options->kv_dtypes[i];
        unit->services[i].adapters = options->adapters != NULL ? options->adapters[i] : NULL;
        if (options->perfs)
            unit->services[i].perf = options->perfs[i];
        unit->services[i].has_perf =
            unit->services[i].perf.c3_ps[0] + unit->services[i].perf.c2_ps[0] > 0;
    }
    const struct run_lane_options executor = { options->device, options->n_rows_max,
                                               options->n_logit_rows_max, options->host.engine.id,
                                               options->grammars };
    unit->executor = run_executor_open(&executor);
    struct engine_host_options host = options->host;
    host.engine.memory_bytes -= options->device->context_bytes; /* the driver's memory */
    host.engine.exec = run_executor_exec(unit->executor);
    unit->host = engine_host_open(&host);
    wake_open(&unit->job_wake);
    wake_open(&unit->loader_wake);
    snprintf(unit->name, sizeof unit->name, "load-%d", options->host.engine.id);
    pace_begin(&unit->pace, unit->name);
    unit->loader = thread_start(unit->name, run_unit_loader, unit);
    return unit;
}

struct compute_device *run_unit_close(struct run_unit *unit)
{
    atomic_store(&unit->progress.cancel, true);
    atomic_store(&unit->is_closing, true);
    wake_up(&unit->job_wake);
    thread_join(unit->loader);
    engine_host_close(unit->host);
    run_executor_close(unit->executor);
    weights_close(unit->job.weights);
    run_adapters_close(unit->job.adapters);
    for (int i = 0; i < LIMIT_MODELS; i++) {
        run_unit_loader_close(unit, &unit->services[i]);
        mem_give(unit->services[i].path);
    }
    wake_close(&unit->job_wake);
    wake_close(&unit->loader_wake);
    struct compute_device *device = unit->options.device;
    mem_give(unit);
    return device;
}
