/* A unit: one engine, its executor and its loader on one device. A node hosts units. The owner's
 * thread calls run_unit_step whenever wait_fd is readable or the returned time has come. The states
 * of a model:
 *
 *   UNLOADED --load--> OPENING --header read--> ROOM --booked--> PACKING --packed--> JOINING
 *      ^                  |                      |                  |                  |
 *      |                  | failed               | never fits       | failed           | opened
 *      |<-----------------+----------------------+------------------+                  v
 *      |<--closed-- GONE <--emptied, its memory given back-- LEAVING <--unload----- LOADED
 *
 * Services join and leave while the unit runs. They begin and end as UNLOADED:
 *
 *   NONE --add--> ADDING --its engine has it--> READY --admit--> UNLOADED
 *    ^                                            |                 |
 *    |<--its engine has it no more-- REMOVING <---+-----remove------+
 *
 * run_unit_next_change reports a failed load once, with its sentence. It also reports every change
 * of a service's public status (LOADING at QUEUED, DRAINING_OUT at LEAVING), in order. Unloading
 * while it loads cancels. */
#pragma once
#include "run/unit_options.h"

struct run_unit;

struct run_unit *run_unit_open(const struct run_unit_options *options);
/* Returns the device, which the owner closes; NULL: it was lost, and is not open again. */
struct compute_device *run_unit_close(struct run_unit *unit);
struct service run_unit_service(struct run_unit *unit);
void run_unit_load(struct run_unit *unit, int service); /* idempotent */
/* Idempotent. A model with requests stays, unless even_busy: then they are returned (DRAINING). */
void run_unit_unload(struct run_unit *unit, int service, bool even_busy);
/* Unloads the model, but keeps its packed weights in host memory, so that the next load copies them
 * back. It is refused (LOADED, TOO_LARGE) when sleep_bytes has no room, or as an unload is.
 * Unloading a model that sleeps gives the memory back. */
void run_unit_sleep(struct run_unit *unit, int service);
void run_unit_drain(struct run_unit *unit);
int64_t run_unit_step(struct run_unit *unit, int64_t now_ns); /* returns the next wake */

struct run_unit_joins {                 /* a service that joins a running unit */
    const struct service_spec *service; /* copied, as path and layout */
    const struct kv_layout *layout;
    const char *path;
    const struct model_spec *spec;     /* as in run_unit_options; it outlives the service */
    const struct tokenizer *tokenizer; /* the same */
    enum dtype kv_dtype;
    const struct run_adapter_files *adapters; /* the same; NULL: none */
    struct perf perf;                         /* as in run_unit_options; zeros: measured */
};
enum run_unit_presence {
    RUN_UNIT_NONE,    /* the number has no service */
    RUN_UNIT_ADDING,  /* the engine is adding it */
    RUN_UNIT_REFUSED, /* the engine can't: run_unit_refusal has the reason; remove it */
    RUN_UNIT_READY,   /* the engine has it; reports do not include it yet */
    RUN_UNIT_THERE,
    RUN_UNIT_REMOVING,
};
enum run_unit_presence run_unit_presence(const struct run_unit *unit, int service);
const char *run_unit_refusal(const struct run_unit *unit, int service);
void run_unit_add_service(struct run_unit *unit, int service, const struct run_unit_joins *joins);
void run_unit_admit_service(struct run_unit *unit, int service); /* a READY one becomes visible */
/* Removes a service that is READY, REFUSED, or THERE and not loaded. Returns false when its model
 * is loaded, loading or unloading. */
bool run_unit_remove_service(struct run_unit *unit, int service);
int run_unit_load_fd(struct run_unit *unit); /* readable when the loader has news */
/* Returns the service whose model is being loaded; -1: none. */
int run_unit_loading(const struct run_unit *unit);

bool run_unit_next_change(struct run_unit *unit, struct service_change *change);
/* Returns the engine's latest report, with the loader's statuses and progress. Valid until the next
 * call. */
const struct engine_report *run_unit_report(struct run_unit *unit);
