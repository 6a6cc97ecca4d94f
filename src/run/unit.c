/* A unit: the state machine that loads models into one engine and unloads them.
 *
 * There are two threads: the owner's (every function here) and the loader's (loader_thread). They
 * share `job` under its phase: the owner sets WANT_*, and the loader answers HAVE_* or FAILED. The
 * phase determines which of the two may access the rest of the job. */
#include "run/unit.h"

#include "base/log.h"
#include "base/mem.h"
#include "base/pace.h"
#include "base/team.h"
#include "base/time.h"
#include "base/wake.h"
#include "run/profile.h"
#include <stdio.h>
#include <string.h>

enum load_state {
    UNIT_NONE, /* the number has no service */
    UNIT_ADDING,
    UNIT_REFUSED,
    UNIT_READY, /* its engine has it, but it is not visible yet */
    UNIT_REMOVING,
    UNIT_UNLOADED,
    UNIT_QUEUED,
    UNIT_OPENING,
    UNIT_ROOM,
    UNIT_PACKING,
    UNIT_JOINING,
    UNIT_LOADED,
    UNIT_LEAVING, /* the engine checks whether it can release it */
    UNIT_GONE     /* its memory is freed, its bytes are still booked */
};
enum job_phase { JOB_NONE, JOB_WANT_OPEN, JOB_HAVE_OPEN, JOB_WANT_PACK, JOB_HAVE_PACK, JOB_FAILED };

struct job { /* the one load in flight */
    _Atomic int phase;
    int service;
    struct weights *weights;
    struct run_model *model;
    int64_t weights_bytes, activation_bytes;
    struct perf perf;
    int64_t said_ns; /* time of the last change of phase for the other thread */
    enum status status;
    struct fault fault;
};
struct unit_service {
    enum load_state state;
    bool wants_out;   /* unload as soon as the state allows */
    bool even_busy;   /* also with requests, which are returned */
    bool ask_pending; /* a call to the engine that did not fit its inbox */
    struct service_spec service;
    struct kv_layout layout; /* of a service that is ADDING */
    const char *refusal;     /* of a service that is REFUSED */
    char *path;
    const struct model_spec *spec; /* expected of the file; NULL = any */
    enum dtype kv_dtype;
    struct perf perf; /* known already, when has_perf */
    bool has_perf;
    struct run_model model;
    int64_t begun_ns;
};
struct run_unit {
    struct run_unit_options options;
    struct engine_host *host;
    struct run_executor *executor;
    struct unit_service services[LIMIT_MODELS];
    int n_services; /* the highest number that a service ever had, plus one */
    struct thread *loader;
    char name[16];
    struct pace pace; /* of the owner's thread */
    struct wake job_wake, loader_wake;
    struct job job;
    struct run_progress progress;
    _Atomic bool is_closing;
    bool drain_pending;
    struct service_change changes[4 * LIMIT_MODELS];
    int n_changes, next_change;
    struct engine_report report;
};

/* ---- The loader's thread. ---- */

/* Checks the spec. Blocks are cut and prompts are tokenized for the model that the file held at
 * start. Another model would write past its blocks and look up tokens that it does not have. */
static enum status check_spec(const struct run_unit *unit, const struct job *job,
                              struct fault *fault)
{
    const struct unit_service *s = &unit->services[job->service];
    const struct model_spec *now = weights_spec(job->weights), *then = s->spec;
    if (!then || (now->n_layers == then->n_layers && now->n_kv_heads == then->n_kv_heads &&
                  now->head_dim == then->head_dim && now->n_vocabulary == then->n_vocabulary &&
                  now->n_positions_max == then->n_positions_max))
        return STATUS_OK;
    return fault_set(fault, STATUS_BAD_INPUT,
                     "%.150s holds another model than at the start: restart the server to use it",
                     s->path);
}

static enum status load_header(struct run_unit *unit, struct job *job)
{
    enum status status =
        weights_open(&job->weights, unit->services[job->service].path, &job->fault);
    if (status == STATUS_OK)
        status = check_spec(unit, job, &job->fault);
    if (status != STATUS_OK)
        return status;
    job->weights_bytes = run_model_packed_bytes(job->weights, unit->options.device);
    job->activation_bytes =
        run_model_peak_bytes(job->weights, unit->options.device, unit->options.n_rows_max,
                             unit->options.n_logit_rows_max);
    return STATUS_OK;
}

static enum status load_weights(struct run_unit *unit, struct job *job)
{
    struct weights *weights = job->weights;
    job->weights = NULL;
    const struct run_model_options options = { .device = unit->options.device,
                                               .kv_dtype = unit->services[job->service].kv_dtype,
                                               .progress = &unit->progress };
    enum status status = run_model_open(job->model, weights, &options, &job->fault);
    if (status != STATUS_OK)
        return status;
    if (unit->services[job->service].has_perf) {
        job->perf = unit->services[job->service].perf;
        return STATUS_OK;
    }
    const struct run_profile_options profile = {
        .budget_ns = unit->options.profile_ns,
        .n_rows_max = min_i32(unit->options.n_rows_max, 256),
        .n_decodes_max = min_i32(unit->options.n_logit_rows_max, 32),
        /* Booked for the batches of a model that has none so far. */
        .bytes_max = job->activation_bytes,
    };
    run_profile(job->model, &profile, &job->perf);
    return STATUS_OK;
}

static void loader_thread(void *arg)
{
    struct run_unit *unit = arg;
    struct job *job = &unit->job;
    struct pace pace;
    thread_give_way(); /* requests take precedence over a load */
    pace_begin(&pace, unit->name);
    while (!atomic_load(&unit->is_closing)) {
        wake_wait(&unit->job_wake, -1);
        wake_clear(&unit->job_wake);
        int phase = atomic_load(&job->phase);
        if (phase != JOB_WANT_OPEN && phase != JOB_WANT_PACK)
            continue;
        (void)pace_due(&pace, job->said_ns, "began a load later than told by");
        job->status = phase == JOB_WANT_OPEN ? load_header(unit, job) : load_weights(unit, job);
        job->said_ns = time_now_ns();
        int done = phase == JOB_WANT_OPEN ? JOB_HAVE_OPEN : JOB_HAVE_PACK;
        atomic_store(&job->phase, job->status == STATUS_OK ? done : JOB_FAILED);
        wake_up(&unit->loader_wake);
    }
}

/* ---- The owner's thread: one load at a time. ---- */

static void tell(struct run_unit *unit, int service, enum service_status status, enum status cause,
                 const struct fault *fault)
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
    if (fault)
        change->fault = *fault;
}

/* Reports progress. Progress is only for display: when no reader takes the reports, the final ones
 * keep their room. */
static void tell_under_way(struct run_unit *unit, int service, enum service_status status)
{
    if (unit->n_changes - unit->next_change < (int)COUNT_OF(unit->changes) / 2)
        tell(unit, service, status, STATUS_OK, NULL);
}

static void start_job(struct run_unit *unit, int service, int64_t now_ns)
{
    struct unit_service *s = &unit->services[service];
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
    struct job *job = &unit->job;
    bool is_broken = job->status != STATUS_CANCELLED && job->status != STATUS_BUSY;
    tell(unit, job->service, is_broken ? SERVICE_BROKEN : SERVICE_UNLOADED, job->status,
         &job->fault);
    if (is_broken)
        log_line(LOG_ERROR, "load", "%s can't be loaded: %s",
                 unit->services[job->service].service.name, job->fault.text);
    unit->services[job->service].state = UNIT_UNLOADED;
    unit->services[job->service].wants_out = unit->services[job->service].even_busy = false;
    atomic_store(&job->phase, JOB_NONE);
}

static void ask_closed(struct run_unit *unit, int service)
{
    struct unit_service *s = &unit->services[service];
    s->state = UNIT_GONE;
    s->ask_pending = !engine_host_close_service(unit->host, service);
}

/* Fails the load in flight. The engine's booking for it is released first, because a client that
 * learns of the end may ask again at once. */
static void fail_job(struct run_unit *unit, enum status cause)
{
    struct job *job = &unit->job;
    struct unit_service *s = &unit->services[job->service];
    weights_close(job->weights);
    job->weights = NULL;
    job->status = cause;
    atomic_store(&job->phase, JOB_FAILED);
    if (s->state == UNIT_ROOM || s->state == UNIT_PACKING)
        ask_closed(unit, job->service);
    else
        end_failed_job(unit);
}

static void ask_room(struct run_unit *unit)
{
    struct job *job = &unit->job;
    struct unit_service *s = &unit->services[job->service];
    s->state = UNIT_ROOM;
    s->ask_pending =
        !engine_host_make_room(unit->host, job->service, job->weights_bytes, job->activation_bytes);
}

static void join_engine(struct run_unit *unit)
{
    struct job *job = &unit->job;
    struct unit_service *s = &unit->services[job->service];
    bool is_first = s->state != UNIT_JOINING; /* or repeated, since the engine's inbox was full */
    if (is_first) {
        enum status status =
            run_executor_put_model(unit->executor, job->service, &s->model, &job->fault);
        if (status != STATUS_OK) {
            run_model_close(&s->model);
            fail_job(unit, status);
            return;
        }
    }
    s->state = UNIT_JOINING;
    if (unit->options.steady > 0 && is_first) { /* the engine expects what it will see */
        job->perf.prefill_scale *= (float)unit->options.steady;
        job->perf.decode_scale *= (float)unit->options.steady;
        run_executor_hold_steady(unit->executor, job->service, &job->perf);
    }
    s->ask_pending = !engine_host_open_service(unit->host, job->service, &job->perf);
}

static void step_job(struct run_unit *unit)
{
    struct job *job = &unit->job;
    struct unit_service *s = &unit->services[job->service];
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
    struct job *job = &unit->job;
    struct unit_service *s = &unit->services[answer->service];
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
    struct unit_service *s = &unit->services[answer->service];
    s->wants_out = s->even_busy = false;
    if (!answer->is_done) {
        s->state = UNIT_LOADED;
        tell(unit, answer->service, SERVICE_LOADED, STATUS_BUSY, NULL);
        return;
    }
    run_executor_remove_model(unit->executor, answer->service);
    run_model_close(&s->model);
    ask_closed(unit, answer->service);
}

static void take_closed(struct run_unit *unit, const struct engine_host_answer *answer)
{
    struct job *job = &unit->job;
    if (atomic_load(&job->phase) == JOB_FAILED && job->service == answer->service) {
        end_failed_job(unit);
        return;
    }
    unit->services[answer->service].state = UNIT_UNLOADED;
    tell(unit, answer->service, SERVICE_UNLOADED, STATUS_OK, NULL);
}

static void take_added(struct run_unit *unit, const struct engine_host_answer *answer)
{
    struct unit_service *s = &unit->services[answer->service];
    s->state = answer->is_done ? UNIT_READY : UNIT_REFUSED;
    s->refusal = answer->why;
    if (answer->is_done)
        unit->n_services = max_i32(unit->n_services, answer->service + 1);
}

/* Makes the number free again. */
static void clear_service(struct unit_service *s)
{
    mem_give(s->path);
    *s = (struct unit_service){ .state = UNIT_NONE };
}

static void take_removed(struct run_unit *unit, const struct engine_host_answer *answer)
{
    struct unit_service *s = &unit->services[answer->service];
    if (answer->is_done)
        clear_service(s);
    else
        s->ask_pending = true; /* a request of it has an unread event */
}

static void take_answer(struct run_unit *unit, const struct engine_host_answer *answer,
                        int64_t now_ns)
{
    struct unit_service *s = &unit->services[answer->service];
    switch (answer->what) {
    case ENGINE_HOST_ROOM:
        take_room(unit, answer);
        break;
    case ENGINE_HOST_OPENED:
        s->state = UNIT_LOADED;
        atomic_store(&unit->job.phase, JOB_NONE);
        tell(unit, answer->service, SERVICE_LOADED, STATUS_OK, NULL);
        log_line(LOG_INFO, "load", "%s is ready after %lld ms (%lld MiB of weights)",
                 s->service.name, (long long)((now_ns - s->begun_ns) / TIME_NS_PER_MS),
                 (long long)(s->model.weights_bytes >> 20));
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
        tell_under_way(unit, service, SERVICE_DRAINING_OUT);
    unit->services[service].state = UNIT_LEAVING;
    unit->services[service].ask_pending =
        !engine_host_empty_service(unit->host, service, unit->services[service].even_busy);
}

static void ask_added(struct run_unit *unit, int service)
{
    struct unit_service *s = &unit->services[service];
    s->ask_pending = !engine_host_add_service(unit->host, service, &s->service, &s->layout);
}

static void ask_removed(struct run_unit *unit, int service)
{
    unit->services[service].ask_pending = !engine_host_remove_service(unit->host, service);
}

/* Repeats calls that found a full inbox. */
static void repeat_asks(struct run_unit *unit)
{
    for (int i = 0; i < LIMIT_MODELS; i++) {
        struct unit_service *s = &unit->services[i];
        if (s->ask_pending && s->state == UNIT_ROOM)
            ask_room(unit);
        else if (s->ask_pending && s->state == UNIT_JOINING)
            join_engine(unit);
        else if (s->ask_pending && s->state == UNIT_LEAVING)
            ask_out(unit, i);
        else if (s->ask_pending && s->state == UNIT_GONE)
            ask_closed(unit, i);
        else if (s->ask_pending && s->state == UNIT_ADDING)
            ask_added(unit, i);
        else if (s->ask_pending && s->state == UNIT_REMOVING)
            ask_removed(unit, i);
        else if (s->state == UNIT_LOADED && s->wants_out)
            ask_out(unit, i);
    }
    if (unit->drain_pending)
        unit->drain_pending = !engine_host_drain(unit->host);
}

int64_t run_unit_step(struct run_unit *unit, int64_t now_ns)
{
    struct engine_host_answer answer;
    wake_clear(&unit->loader_wake);
    (void)engine_host_report(unit->host); /* read, so that its wake is reset */
    while (engine_host_answer(unit->host, &answer))
        take_answer(unit, &answer, now_ns);
    step_job(unit);
    repeat_asks(unit);
    for (int i = 0; i < unit->n_services && atomic_load(&unit->job.phase) == JOB_NONE; i++) {
        if (unit->services[i].state == UNIT_QUEUED)
            start_job(unit, i, now_ns);
    }
    for (int i = 0; i < LIMIT_MODELS; i++) {
        if (unit->services[i].ask_pending || unit->drain_pending)
            return now_ns + TIME_NS_PER_MS;
    }
    return TIME_NEVER;
}

/* ---- The interface. ---- */

static bool is_there(const struct unit_service *s)
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
    const struct unit_service *s = &unit->services[service];
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
    struct unit_service *s = &unit->services[service];
    const struct perf *perf = &joins->perf;
    *s = (struct unit_service){ .state = UNIT_ADDING,
                                .service = *joins->service,
                                .layout = *joins->layout,
                                .path = mem_copy_text(joins->path),
                                .spec = joins->spec,
                                .kv_dtype = joins->kv_dtype,
                                .perf = *perf,
                                .has_perf = perf->c3_ps[0] + perf->c2_ps[0] > 0 };
    ask_added(unit, service);
}

void run_unit_admit_service(struct run_unit *unit, int service)
{
    CHECK(run_unit_presence(unit, service) == RUN_UNIT_READY);
    unit->services[service].state = UNIT_UNLOADED;
}

bool run_unit_remove_service(struct run_unit *unit, int service)
{
    struct unit_service *s = &unit->services[service];
    if (s->state == UNIT_REFUSED) {
        clear_service(s);
        return true;
    }
    if (s->state != UNIT_READY && s->state != UNIT_UNLOADED)
        return false;
    s->state = UNIT_REMOVING;
    ask_removed(unit, service);
    return true;
}

void run_unit_load(struct run_unit *unit, int service)
{
    struct unit_service *s = &unit->services[service];
    CHECK(service >= 0 && service < LIMIT_MODELS);
    if (!is_there(s))
        return;
    if (s->state == UNIT_UNLOADED) {
        s->state = UNIT_QUEUED;
        tell_under_way(unit, service, SERVICE_LOADING);
    }
    if (s->state != UNIT_LEAVING && s->state != UNIT_GONE)
        s->wants_out = s->even_busy = false;
}

void run_unit_unload(struct run_unit *unit, int service, bool even_busy)
{
    struct unit_service *s = &unit->services[service];
    CHECK(service >= 0 && service < LIMIT_MODELS);
    if (!is_there(s) || s->state == UNIT_UNLOADED || s->state == UNIT_LEAVING ||
        s->state == UNIT_GONE)
        return;
    if (s->state == UNIT_QUEUED) {
        s->state = UNIT_UNLOADED;
        tell(unit, service, SERVICE_UNLOADED, STATUS_CANCELLED, NULL);
        return;
    }
    s->wants_out = true;
    s->even_busy |= even_busy;
    if (s->state == UNIT_OPENING || s->state == UNIT_PACKING)
        atomic_store(&unit->progress.cancel, true);
}

void run_unit_drain(struct run_unit *unit)
{
    unit->drain_pending = true;
}

struct service run_unit_service(struct run_unit *unit)
{
    return engine_host_service(unit->host);
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

static uint8_t status_of(enum load_state state)
{
    switch (state) {
    case UNIT_UNLOADED:
        return SERVICE_UNLOADED;
    case UNIT_LOADED:
        return SERVICE_LOADED;
    case UNIT_LEAVING:
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
        struct unit_service *s = &unit->services[i];
        if (!is_there(s))
            continue;
        set_add(&unit->report.listed, i);
        if (unit->report.services[i].life != s->service.life) /* of the number's earlier service */
            unit->report.services[i] = (struct service_report){ .life = s->service.life };
        unit->report.services[i].status = status_of(s->state);
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
        unit->services[i].kv_dtype = options->kv_dtypes[i];
        if (options->perfs)
            unit->services[i].perf = options->perfs[i];
        unit->services[i].has_perf =
            unit->services[i].perf.c3_ps[0] + unit->services[i].perf.c2_ps[0] > 0;
    }
    const struct run_lane_options executor = { options->device, options->n_rows_max,
                                               options->n_logit_rows_max, options->host.engine.id };
    unit->executor = run_executor_open(&executor);
    struct engine_host_options host = options->host;
    host.engine.memory_bytes -= options->device->context_bytes; /* the driver's memory */
    host.engine.exec = run_executor_exec(unit->executor);
    unit->host = engine_host_open(&host);
    wake_open(&unit->job_wake);
    wake_open(&unit->loader_wake);
    snprintf(unit->name, sizeof unit->name, "load-%d", options->host.engine.id);
    pace_begin(&unit->pace, unit->name);
    unit->loader = thread_start(unit->name, loader_thread, unit);
    return unit;
}

void run_unit_close(struct run_unit *unit)
{
    atomic_store(&unit->progress.cancel, true);
    atomic_store(&unit->is_closing, true);
    wake_up(&unit->job_wake);
    thread_join(unit->loader);
    engine_host_close(unit->host);
    run_executor_close(unit->executor);
    weights_close(unit->job.weights);
    for (int i = 0; i < LIMIT_MODELS; i++) {
        if (unit->services[i].model.weights)
            run_model_close(&unit->services[i].model);
        mem_give(unit->services[i].path);
    }
    wake_close(&unit->job_wake);
    wake_close(&unit->loader_wake);
    mem_give(unit);
}
