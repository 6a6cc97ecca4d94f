/* A unit: one engine, its executor and its loader on one device. What a node hosts.
 *
 * The owner's thread calls run_unit_step whenever wait_fd is readable or the returned time has
 * come. A model's way in and out:
 *
 *   UNLOADED --load--> OPENING --header read--> ROOM --booked--> PACKING --packed--> JOINING
 *      ^                  |                      |                  |                  |
 *      |                  | failed               | never fits       | failed           | opened
 *      |<-----------------+----------------------+------------------+                  v
 *      |<--closed-- GONE <--emptied, its memory given back-- LEAVING <--unload----- LOADED
 *
 * Services join and leave while the unit runs; between, they are UNLOADED at first and at last:
 *
 *   NONE --add--> ADDING --its engine has it--> READY --admit--> UNLOADED
 *    ^                                            |                 |
 *    |<--its engine has it no more-- REMOVING <---+-----remove------+
 *
 * A failed load is told once through run_unit_next_change, with its sentence; so is every change of
 * a service's status as others see it (LOADING at QUEUED, DRAINING_OUT at LEAVING), in order.
 * Unloading while it loads cancels. */
#pragma once
#include "run/unit_options.h"

struct run_unit;

struct run_unit *run_unit_open(const struct run_unit_options *options);
void run_unit_close(struct run_unit *unit);
struct service run_unit_service(struct run_unit *unit);
void run_unit_load(struct run_unit *unit, int service); /* idempotent */
/* Idempotent. A model with requests stays, unless even_busy: they are returned (DRAINING). */
void run_unit_unload(struct run_unit *unit, int service, bool even_busy);
void run_unit_drain(struct run_unit *unit);
int64_t run_unit_step(struct run_unit *unit, int64_t now_ns); /* next wake */

struct run_unit_joins {                 /* a service that joins a running unit */
    const struct service_spec *service; /* copied, as path and layout */
    const struct kv_layout *layout;
    const char *path;
    const struct model_spec *spec; /* as run_unit_options has it; it outlives the service's time */
    enum dtype kv_dtype;
    struct perf perf; /* as in run_unit_options; zeros: measured */
};
enum run_unit_presence {
    RUN_UNIT_NONE,    /* the number is none's */
    RUN_UNIT_ADDING,  /* the engine is asked to take it in */
    RUN_UNIT_REFUSED, /* it can't: run_unit_refusal says why; remove it */
    RUN_UNIT_READY,   /* it did; reports do not tell of it yet */
    RUN_UNIT_THERE,
    RUN_UNIT_REMOVING,
};
enum run_unit_presence run_unit_presence(const struct run_unit *unit, int service);
const char *run_unit_refusal(const struct run_unit *unit, int service);
void run_unit_add_service(struct run_unit *unit, int service, const struct run_unit_joins *joins);
void run_unit_admit_service(struct run_unit *unit, int service); /* one that is READY */
/* READY, REFUSED, or THERE and not loaded: it leaves. False: its model is there, comes or goes. */
bool run_unit_remove_service(struct run_unit *unit, int service);
int run_unit_load_fd(struct run_unit *unit); /* readable when the loader has news */

bool run_unit_next_change(struct run_unit *unit, struct service_change *change);
/* The engine's latest report with the loader's statuses and progress put in. Valid until the next
 * call. */
const struct engine_report *run_unit_report(struct run_unit *unit);
