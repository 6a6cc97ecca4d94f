/* Puts models to sleep: see unit_sleep.h. */
#include "run/unit_sleep.h"

#include "base/log.h"
#include "base/time.h"
#include "run/unit_loader.h"
#include "run/unit_moves.h"

int64_t run_unit_sleep_booked(const struct run_unit *unit)
{
    int64_t n_bytes = 0;
    for (int i = 0; i < LIMIT_MODELS; i++)
        n_bytes += unit->services[i].sleep_bytes;
    return n_bytes;
}

/* Ends a load under way. A model that was waking sleeps on. */
static void cancel(struct run_unit *unit, int service)
{
    struct run_unit_service *s = &unit->services[service];
    if (s->state == UNIT_QUEUED) {
        s->state = UNIT_UNLOADED;
        run_unit_moves_tell(unit, service, SERVICE_UNLOADED, STATUS_CANCELLED, NULL);
        return;
    }
    s->wants_out = s->wants_sleep = true;
    if (s->state == UNIT_OPENING || s->state == UNIT_PACKING)
        atomic_store(&unit->progress.cancel, true);
}

void run_unit_sleep_order(struct run_unit *unit, int service)
{
    struct run_unit_service *s = &unit->services[service];
    if (s->state > UNIT_UNLOADED && s->state < UNIT_LOADED) {
        cancel(unit, service);
        return;
    }
    if (s->state != UNIT_LOADED || s->wants_out)
        return;
    struct fault fault;
    int64_t booked = run_unit_sleep_booked(unit), n_bytes = s->model.weights_bytes;
    n_bytes += run_adapters_bytes(s->model.adapters); /* they stay where they are */
    if (s->lent == NULL && booked + n_bytes <= unit->options.sleep_bytes) {
        s->sleep_bytes = n_bytes;
        s->wants_out = s->wants_sleep = true;
        return;
    }
    fault_set(&fault, STATUS_TOO_LARGE,
              "model %s needs %.1f MiB of host memory to sleep, and %.1f of the %.1f MiB that its "
              "engine has (sleep_bytes) are taken: unload it, or set sleep_bytes",
              s->service.name, (double)n_bytes * 0x1p-20, (double)booked * 0x1p-20,
              (double)unit->options.sleep_bytes * 0x1p-20);
    run_unit_moves_tell(unit, service, SERVICE_LOADED, STATUS_TOO_LARGE, &fault);
}

static void take_copied(struct run_unit *unit)
{
    struct run_unit_nap *nap = &unit->nap;
    struct run_unit_service *s = &unit->services[nap->service];
    bool is_lost = unit->device != UNIT_DEVICE_OPEN;
    atomic_store(&nap->phase, NAP_NONE);
    s->is_asleep = true;
    if (nap->status == STATUS_OK && !is_lost && s->wants_sleep) {
        log_line(LOG_INFO, "load", "%s sleeps: its %lld MiB of weights lie in host memory",
                 s->service.name, (long long)(s->sleep_bytes >> 20));
    } else {
        if (nap->status != STATUS_OK)
            log_line(LOG_WARN, "load", "%s is unloaded instead of put to sleep: %s",
                     s->service.name, nap->fault.text);
        run_unit_loader_end_sleep(unit, s);
    }
    s->wants_sleep = false;
    run_unit_moves_ask_closed(unit, nap->service);
}

/* Takes what happened to a model meanwhile. */
static void settle(struct run_unit *unit, int i)
{
    struct run_unit_service *s = &unit->services[i];
    bool is_lost = unit->device == UNIT_DEVICE_LOST; /* and with it the memory that it pinned */
    if (s->state == UNIT_LOADED && s->wants_sleep && s->sleep_bytes == 0) {
        s->wants_out = s->wants_sleep = false; /* it was to sleep while it joined */
        run_unit_sleep_order(unit, i);
    } else if (s->is_asleep && is_lost && s->state == UNIT_QUEUED) {
        run_unit_loader_end_sleep(unit, s);
    } else if (s->is_asleep && is_lost && s->state == UNIT_UNLOADED) {
        run_unit_loader_end_sleep(unit, s);
        run_unit_moves_tell(unit, i, SERVICE_UNLOADED, STATUS_OK, NULL);
    }
}

void run_unit_sleep_step(struct run_unit *unit)
{
    struct run_unit_nap *nap = &unit->nap;
    if (atomic_load(&nap->phase) == NAP_OVER)
        take_copied(unit);
    for (int i = 0; i < unit->n_services; i++)
        settle(unit, i);
    for (int i = 0; i < unit->n_services && atomic_load(&nap->phase) == NAP_NONE; i++) {
        if (unit->services[i].state != UNIT_DOZING)
            continue;
        nap->service = i;
        nap->fault.text[0] = '\0';
        atomic_store(&nap->phase, NAP_WANTED);
        wake_up(&unit->job_wake);
    }
}
