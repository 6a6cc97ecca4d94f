/* See unit_device.h. */
#include "run/unit_device.h"

#include "base/log.h"
#include "base/time.h"

static const int64_t BACKOFF_NS_FIRST = TIME_NS_PER_S, BACKOFF_NS_MAX = 60 * TIME_NS_PER_S;

void run_unit_device_lost(struct run_unit *unit, int64_t now_ns)
{
    struct run_unit_job *job = &unit->job;
    unit->device = UNIT_DEVICE_LOST;
    unit->reopen_ns = now_ns;
    unit->backoff_ns = BACKOFF_NS_FIRST;
    if (unit->options.reopen == NULL) {
        log_line(LOG_ERROR, "engine",
                 "engine %d: its device can't be opened again: restart the "
                 "server to use it",
                 unit->options.host.engine.id);
        return;
    }
    for (int i = 0; i < unit->n_services; i++) {
        struct run_unit_service *s = &unit->services[i];
        s->wants_sleep = false;
        if (s->state >= UNIT_OPENING && s->state <= UNIT_LOADED)
            s->wants_out = s->even_busy = true;
    }
    if (atomic_load(&job->phase) != JOB_NONE)
        atomic_store(&unit->progress.cancel, true);
}

/* Returns whether nothing of the device is in use. */
static bool is_empty(struct run_unit *unit)
{
    for (int i = 0; i < unit->n_services; i++)
        if (unit->services[i].state > UNIT_QUEUED)
            return false;
    return atomic_load(&unit->job.phase) == JOB_NONE;
}

static void take_answer(struct run_unit *unit, int64_t now_ns)
{
    struct run_unit_job *job = &unit->job;
    int phase = atomic_load(&job->phase);
    if (phase == JOB_HAVE_DEVICE) {
        unit->device = UNIT_DEVICE_REVIVING;
        unit->reopen_ns = now_ns;
        atomic_store(&job->phase, JOB_NONE);
    } else if (phase == JOB_NO_DEVICE) {
        log_line(
            LOG_WARN, "engine", "engine %d: its lost device can't be opened: %s: again in %d s",
            unit->options.host.engine.id, job->fault.text, (int)(unit->backoff_ns / TIME_NS_PER_S));
        unit->reopen_ns = now_ns + unit->backoff_ns;
        unit->backoff_ns = min_i64(2 * unit->backoff_ns, BACKOFF_NS_MAX);
        atomic_store(&job->phase, JOB_NONE);
    }
}

int64_t run_unit_device_step(struct run_unit *unit, int64_t now_ns)
{
    if (unit->device == UNIT_DEVICE_OPEN || unit->options.reopen == NULL)
        return TIME_NEVER;
    take_answer(unit, now_ns);
    if (now_ns < unit->reopen_ns)
        return unit->reopen_ns;
    if (unit->device == UNIT_DEVICE_REVIVING) { /* its inbox may be full */
        unit->reopen_ns = engine_host_revive(unit->host) ? TIME_NEVER : now_ns + TIME_NS_PER_MS;
        return unit->reopen_ns;
    }
    if (is_empty(unit)) {
        unit->job.said_ns = now_ns;
        unit->job.fault.text[0] = '\0';
        atomic_store(&unit->job.phase, JOB_WANT_DEVICE);
        wake_up(&unit->job_wake);
    }
    return TIME_NEVER;
}

void run_unit_device_revived(struct run_unit *unit)
{
    unit->device = UNIT_DEVICE_OPEN;
    log_line(LOG_INFO, "engine", "engine %d: its lost device is open again",
             unit->options.host.engine.id);
}

enum status run_unit_device_reopen(struct run_unit *unit, struct fault *fault)
{
    struct compute_device *device = run_executor_drop_device(unit->executor);
    if (device != NULL)
        device->close(device->self);
    unit->options.device = NULL;
    enum status status = unit->options.reopen(unit->options.reopen_self, &device, fault);
    if (status != STATUS_OK)
        return status;
    status = run_executor_take_device(unit->executor, device, fault);
    if (status == STATUS_OK)
        unit->options.device = device;
    else
        device->close(device->self);
    return status;
}
