/* How models come and go in a unit: the owner's side of the state machine. */
#include "run/unit_moves.h"

#include "base/log.h"
#include "base/mem.h"
#include "base/time.h"
#include <stdio.h>
#include "run/unit_device.h"
#include "run/unit_loader.h"

/* ---- One load at a time. ---- */

void run_unit_moves_tell(struct run_unit *unit, int service, enum service_status status,
                         enum status cause, const struct fault *fault)
{
    const struct service_report *report = &engine_host_report(unit->host)->services[service];
    if (unit->next_change == unit->n_changes)
        unit->next_change = unit->n_changes = 0;
    CHECK(unit->n_changes < (int)COUNT_OF(unit->changes));
    struct service_change *change = &unit->changes[unit->n_changes++];
    *change = (struct service_change){ .engine = unit->options.host.engine.id,
                                       .service = (uint16_t)service,
                                       .life = unit->services[service].service.life,
                                       .status = (uint8_t)status,
                                       .cause = (uint8_t)cause,
                                       .weights_bytes = report->weights_bytes,
                                       .activation_bytes = report->activation_bytes };
    if (status == SERVICE_UNLOADED && unit->services[service].is_asleep)
        change->sleep_bytes = unit->services[service].sleep_bytes;
    if (fault)
        change->fault = *fault;
}

/* Reports progress. Progress is only for display: when no reader takes the reports, the final ones
 * keep their room. */
void run_unit_moves_tell_under_way(struct run_unit *unit, int service, enum service_status status)
{
    if (unit->n_changes - unit->next_change < (int)COUNT_OF(unit->changes) / 2)
        run_unit_moves_tell(unit, service, status, STATUS_OK, NULL);
}

void run_unit_moves_start(struct run_unit *unit, int service, int64_t now_ns)
{
    struct run_unit_service *s = &unit->services[service];
    s->state = UNIT_OPENING;
    s->begun_ns = now_ns;
    unit->job.service = service;
    unit->job.model = &s->model;
    unit->job.fault.text[0] = '\0';
    atomic_store(&unit->progress.percent, 0);
    atomic_store(&unit->progress.cancel, false);
    unit->job.said_ns = now_ns;
    atomic_store(&unit->job.phase, JOB_WANT_OPEN);
    wake_up(&unit->job_wake);
}

/* Ends the load in flight without a model. Its cause is reported, and the next one may begin. */
static void end_failed_job(struct run_unit *unit)
{
    struct run_unit_job *job = &unit->job;
    struct run_unit_service *s = &unit->services[job->service];
    if (unit->device != UNIT_DEVICE_OPEN || (s->wants_out && !s->wants_sleep))
        run_unit_loader_end_sleep(unit, s); /* else a model that did not wake sleeps on */
    s->state = UNIT_UNLOADED;
    bool is_broken = job->status != STATUS_CANCELLED && job->status != STATUS_BUSY &&
                     unit->device == UNIT_DEVICE_OPEN; /* else the device failed, not the file */
    run_unit_moves_tell(unit, job->service, is_broken ? SERVICE_BROKEN : SERVICE_UNLOADED,
                        job->status, &job->fault);
    if (is_broken)
        log_line(LOG_ERROR, "load", "%s can't be loaded: %s", s->service.name, job->fault.text);
    s->wants_out = s->even_busy = s->wants_sleep = false;
    atomic_store(&job->phase, JOB_NONE);
}

void run_unit_moves_ask_closed(struct run_unit *unit, int service)
{
    struct run_unit_service *s = &unit->services[service];
    s->state = UNIT_GONE;
    s->ask_pending = !engine_host_close_service(unit->host, service);
}

/* Fails the load in flight. The engine's booking for it is released first, because a client that
 * learns of the end may ask again at once. */
static void fail_job(struct run_unit *unit, enum status cause)
{
    struct run_unit_job *job = &unit->job;
    struct run_unit_service *s = &unit->services[job->service];
    weights_close(job->weights);
    job->weights = NULL;
    job->status = cause;
    atomic_store(&job->phase, JOB_FAILED);
    if (s->state == UNIT_ROOM || s->state == UNIT_PACKING)
        run_unit_moves_ask_closed(unit, job->service);
    else
        end_failed_job(unit);
}

static void ask_room(struct run_unit *unit)
{
    struct run_unit_job *job = &unit->job;
    struct run_unit_service *s = &unit->services[job->service];
    s->state = UNIT_ROOM;
    s->ask_pending =
        !engine_host_make_room(unit->host, job->service, job->weights_bytes, job->activation_bytes);
}

static void join_engine(struct run_unit *unit)
{
    struct run_unit_job *job = &unit->job;
    struct run_unit_service *s = &unit->services[job->service];
    bool is_first = s->state != UNIT_JOINING; /* or repeated, since the engine's inbox was full */
    if (is_first) {
        enum status status =
            run_executor_put_model(unit->executor, job->service, &s->model, &job->fault);
        if (status != STATUS_OK) {
            run_unit_loader_close(unit, s);
            s->is_asleep = false; /* the weights that slept are gone too */
            s->sleep_bytes = 0;
            fail_job(unit, status);
            return;
        }
    }
    if (is_first && s->own_tokenizer != NULL)
        s->tokenizer = s->own_tokenizer;
    if (is_first && s->tokenizer != NULL)
        run_executor_put_tokenizer(unit->executor, job->service, s->tokenizer);
    s->state = UNIT_JOINING;
    if (is_first)
        s->loaded_perf = job->perf;
    if (unit->options.steady > 0 && is_first) { /* the engine plans with the times it will see */
        job->perf.prefill_scale *= (float)unit->options.steady;
        job->perf.decode_scale *= (float)unit->options.steady;
        run_executor_hold_steady(unit->executor, job->service, &job->perf);
    }
    s->ask_pending = !engine_host_open_service(unit->host, job->service, &job->perf);
}

void run_unit_moves_step(struct run_unit *unit)
{
    struct run_unit_job *job = &unit->job;
    struct run_unit_service *s = &unit->services[job->service];
    switch (atomic_load(&job->phase)) {
    case JOB_HAVE_OPEN:
        if (s->state == UNIT_OPENING) {
            (void)pace_due(&unit->pace, job->said_ns, "noticed a load's progress later by");
            if (s->wants_out)
                fail_job(unit, STATUS_CANCELLED);
            else
                ask_room(unit);
        }
        break;
    case JOB_HAVE_PACK:
        if (s->state == UNIT_PACKING) {
            (void)pace_due(&unit->pace, job->said_ns, "noticed a load's progress later by");
            join_engine(unit);
        }
        break;
    case JOB_FAILED:
        /* A file that exceeds limits is broken: it would not load with more memory either. */
        if (s->state != UNIT_GONE)
            fail_job(unit, job->status == STATUS_TOO_LARGE ? STATUS_BAD_INPUT : job->status);
        break;
    default:
        break;
    }
}

/* ---- The engine's answers. ---- */

static double mib(int64_t n_bytes)
{
    return (double)n_bytes / 1048576.0;
}

static void take_room(struct run_unit *unit, const struct engine_host_answer *answer)
{
    struct run_unit_job *job = &unit->job;
    struct run_unit_service *s = &unit->services[answer->service];
    if (s->state != UNIT_ROOM)
        return;
    if (!answer->is_done && answer->room.need_bytes <= answer->room.most_bytes) {
        fail_job(unit, STATUS_BUSY); /* a model that was to leave stays: it has requests */
    } else if (!answer->is_done) {
        fault_set(&job->fault, STATUS_TOO_LARGE,
                  "model %s needs %.1f MiB (weights %.1f, activations %.1f) and this device has "
                  "%.1f MiB for models",
                  s->service.name, mib(answer->room.need_bytes), mib(job->weights_bytes),
                  mib(job->activation_bytes), mib(answer->room.most_bytes));
        fail_job(unit, STATUS_TOO_LARGE);
    } else if (s->wants_out) {
        fail_job(unit, STATUS_CANCELLED);
    } else {
        s->state = UNIT_PACKING;
        job->said_ns = time_now_ns();
        atomic_store(&job->phase, JOB_WANT_PACK);
        wake_up(&unit->job_wake);
    }
}

/* Frees its memory before the engine gives its bytes to others. */
static void take_emptied(struct run_unit *unit, const struct engine_host_answer *answer)
{
    struct run_unit_service *s = &unit->services[answer->service];
    s->wants_out = s->even_busy = false;
    if (!answer->is_done) {
        s->state = UNIT_LOADED;
        s->wants_sleep = false;
        s->sleep_bytes = 0;
        run_unit_moves_tell(unit, answer->service, SERVICE_LOADED, STATUS_BUSY, NULL);
        return;
    }
    run_executor_remove_model(unit->executor, answer->service);
    if (s->wants_sleep) {
        s->state = UNIT_DOZING;
        return;
    }
    s->sleep_bytes = 0; /* a sleep that became an unload had booked them */
    run_unit_loader_close(unit, s);
    run_unit_moves_ask_closed(unit, answer->service);
}

static void take_closed(struct run_unit *unit, const struct engine_host_answer *answer)
{
    struct run_unit_job *job = &unit->job;
    if (atomic_load(&job->phase) == JOB_FAILED && job->service == answer->service) {
        end_failed_job(unit);
        return;
    }
    unit->services[answer->service].state = UNIT_UNLOADED;
    run_unit_moves_tell(unit, answer->service, SERVICE_UNLOADED, STATUS_OK, NULL);
}

static void take_added(struct run_unit *unit, const struct engine_host_answer *answer)
{
    struct run_unit_service *s = &unit->services[answer->service];
    s->state = answer->is_done ? UNIT_READY : UNIT_REFUSED;
    s->refusal = answer->why;
    if (answer->is_done)
        unit->n_services = max_i32(unit->n_services, answer->service + 1);
}

/* Makes the number free again. */
void run_unit_moves_clear(struct run_unit_service *s)
{
    mem_give(s->path);
    *s = (struct run_unit_service){ .state = UNIT_NONE };
}

static void take_removed(struct run_unit *unit, const struct engine_host_answer *answer)
{
    struct run_unit_service *s = &unit->services[answer->service];
    if (answer->is_done)
        run_unit_moves_clear(s);
    else
        s->ask_pending = true; /* a request of it has an unread event */
}

/* The model is there. If it slept, its host memory is free by now. */
static void take_opened(struct run_unit *unit, struct run_unit_service *s)
{
    struct run_unit_job *job = &unit->job;
    double rate = (double)unit->options.device->copy_bytes_per_s * (double)job->copy_ns * 1e-9;
    s->state = UNIT_LOADED;
    s->was_asleep = s->is_asleep;
    s->n_wakes += s->is_asleep;
    s->is_asleep = false;
    s->sleep_bytes = 0;
    s->activation_bytes = job->activation_bytes;
    s->load_ns = job->copy_ns;
    s->copy_permille = rate > 0 ? (int32_t)(1000 * (double)s->model.weights_bytes / rate) : 0;
    atomic_store(&job->phase, JOB_NONE);
}

static void say_loaded(const struct run_unit *unit, const struct run_unit_service *s,
                       int64_t now_ns)
{
    char share[96] = "";
    int64_t rate = unit->options.device->copy_bytes_per_s;
    if (rate > 0)
        snprintf(share, sizeof share, ", %.1f%% of the %.1f GiB/s of a plain copy to the device",
                 s->copy_permille * 0.1, (double)rate * 0x1p-30);
    log_line(LOG_INFO, "load", "%s is %s after %lld ms (%lld MiB of weights in %lld ms%s)",
             s->service.name, s->was_asleep ? "awake" : "ready",
             (long long)((now_ns - s->begun_ns) / TIME_NS_PER_MS),
             (long long)(s->model.weights_bytes >> 20), (long long)(s->load_ns / TIME_NS_PER_MS),
             share);
}

void run_unit_moves_take(struct run_unit *unit, const struct engine_host_answer *answer,
                         int64_t now_ns)
{
    struct run_unit_service *s = &unit->services[answer->service];
    switch (answer->what) {
    case ENGINE_HOST_ROOM:
        take_room(unit, answer);
        break;
    case ENGINE_HOST_OPENED:
        take_opened(unit, s);
        run_unit_moves_tell(unit, answer->service, SERVICE_LOADED, STATUS_OK, NULL);
        say_loaded(unit, s, now_ns);
        break;
    case ENGINE_HOST_LOST:
        run_unit_device_lost(unit, now_ns);
        break;
    case ENGINE_HOST_REVIVED:
        run_unit_device_revived(unit);
        break;
    case ENGINE_HOST_ADDED:
        take_added(unit, answer);
        break;
    case ENGINE_HOST_REMOVED:
        take_removed(unit, answer);
        break;
    case ENGINE_HOST_EMPTIED:
        take_emptied(unit, answer);
        break;
    case ENGINE_HOST_CLOSED:
        take_closed(unit, answer);
        break;
    default:
        break;
    }
}

static void ask_out(struct run_unit *unit, int service)
{
    if (unit->services[service].state != UNIT_LEAVING)
        run_unit_moves_tell_under_way(unit, service, SERVICE_DRAINING_OUT);
    unit->services[service].state = UNIT_LEAVING;
    unit->services[service].ask_pending =
        !engine_host_empty_service(unit->host, service, unit->services[service].even_busy);
}

void run_unit_moves_ask_added(struct run_unit *unit, int service)
{
    struct run_unit_service *s = &unit->services[service];
    s->ask_pending = !engine_host_add_service(unit->host, service, &s->service, &s->layout);
}

void run_unit_moves_ask_removed(struct run_unit *unit, int service)
{
    unit->services[service].ask_pending = !engine_host_remove_service(unit->host, service);
}

/* Repeats calls that found a full inbox. */
void run_unit_moves_repeat(struct run_unit *unit)
{
    for (int i = 0; i < LIMIT_MODELS; i++) {
        struct run_unit_service *s = &unit->services[i];
        if (s->ask_pending && s->state == UNIT_ROOM)
            ask_room(unit);
        else if (s->ask_pending && s->state == UNIT_JOINING)
            join_engine(unit);
        else if (s->ask_pending && s->state == UNIT_LEAVING)
            ask_out(unit, i);
        else if (s->ask_pending && s->state == UNIT_GONE)
            run_unit_moves_ask_closed(unit, i);
        else if (s->ask_pending && s->state == UNIT_ADDING)
            run_unit_moves_ask_added(unit, i);
        else if (s->ask_pending && s->state == UNIT_REMOVING)
            run_unit_moves_ask_removed(unit, i);
        else if (s->state == UNIT_LOADED && s->wants_out)
            ask_out(unit, i);
    }
    if (unit->drain_pending)
        unit->drain_pending = !engine_host_drain(unit->host);
}
