/* Passes calls on to a unit of either kind. */
#include "cmd/wire_unit.h"

void wire_unit_load(void *self, int service)
{
    struct wire_unit *unit = self;
    if (unit->process != NULL)
        process_unit_load(unit->process, service);
    else
        run_unit_load(unit->threads, service);
}

void wire_unit_unload(void *self, int service, bool even_busy)
{
    struct wire_unit *unit = self;
    if (unit->process != NULL)
        process_unit_unload(unit->process, service, even_busy);
    else
        run_unit_unload(unit->threads, service, even_busy);
}

void wire_unit_sleep(void *self, int service)
{
    struct wire_unit *unit = self;
    if (unit->process != NULL)
        process_unit_unload(unit->process, service, false);
    else
        run_unit_sleep(unit->threads, service);
}

void wire_unit_drain(void *self)
{
    struct wire_unit *unit = self;
    if (unit->process != NULL)
        process_unit_drain(unit->process);
    else
        run_unit_drain(unit->threads);
}

int64_t wire_unit_step(void *self, int64_t now_ns)
{
    struct wire_unit *unit = self;
    return unit->process != NULL ? process_unit_step(unit->process, now_ns)
                                 : run_unit_step(unit->threads, now_ns);
}

bool wire_unit_next_change(void *self, struct service_change *change)
{
    struct wire_unit *unit = self;
    return unit->process != NULL ? process_unit_next_change(unit->process, change)
                                 : run_unit_next_change(unit->threads, change);
}

const struct engine_report *wire_unit_report(void *self)
{
    struct wire_unit *unit = self;
    return unit->process != NULL ? process_unit_report(unit->process)
                                 : run_unit_report(unit->threads);
}

struct service wire_unit_service(const struct wire_unit *unit)
{
    return unit->process != NULL ? process_unit_service(unit->process)
                                 : run_unit_service(unit->threads);
}

enum run_unit_presence wire_unit_presence(const struct wire_unit *unit, int service)
{
    return unit->process != NULL ? process_unit_presence(unit->process, service)
                                 : run_unit_presence(unit->threads, service);
}

const char *wire_unit_refusal(const struct wire_unit *unit, int service)
{
    return unit->process != NULL ? process_unit_refusal(unit->process, service)
                                 : run_unit_refusal(unit->threads, service);
}

void wire_unit_add_service(struct wire_unit *unit, int service, const struct run_unit_joins *joins)
{
    if (unit->process != NULL)
        process_unit_add_service(unit->process, service, joins);
    else
        run_unit_add_service(unit->threads, service, joins);
}

void wire_unit_admit_service(struct wire_unit *unit, int service)
{
    if (unit->process != NULL)
        process_unit_admit_service(unit->process, service);
    else
        run_unit_admit_service(unit->threads, service);
}

bool wire_unit_remove_service(struct wire_unit *unit, int service)
{
    return unit->process != NULL ? process_unit_remove_service(unit->process, service)
                                 : run_unit_remove_service(unit->threads, service);
}

void wire_unit_close(struct wire_unit *unit, struct compute_device **device)
{
    if (unit->process != NULL)
        process_unit_close(unit->process);
    else if (unit->threads != NULL)
        *device = run_unit_close(unit->threads);
}
