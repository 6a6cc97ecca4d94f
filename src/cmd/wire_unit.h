/* A house's engines: each is a unit whose threads are the house's, or a unit in a process of its
 * own. For wire.c and wire_join.c alone. */
#pragma once
#include "process/unit.h"

struct wire_unit { /* one of the two */
    struct run_unit *threads;
    struct process_unit *process;
};
/* As in run/unit.h; self is a struct wire_unit. */
void wire_unit_load(void *self, int service);
void wire_unit_unload(void *self, int service, bool even_busy);
void wire_unit_sleep(void *self, int service); /* the settings exclude it with processes */
void wire_unit_drain(void *self);
int64_t wire_unit_step(void *self, int64_t now_ns);
bool wire_unit_next_change(void *self, struct service_change *change);
const struct engine_report *wire_unit_report(void *self);
struct service wire_unit_service(const struct wire_unit *unit);
enum run_unit_presence wire_unit_presence(const struct wire_unit *unit, int service);
const char *wire_unit_refusal(const struct wire_unit *unit, int service);
void wire_unit_add_service(struct wire_unit *unit, int service, const struct run_unit_joins *joins);
void wire_unit_admit_service(struct wire_unit *unit, int service);
bool wire_unit_remove_service(struct wire_unit *unit, int service);
/* *device, which the house closes, becomes NULL when threads lost it and it is not open again. */
void wire_unit_close(struct wire_unit *unit, struct compute_device **device);
