/* A unit (run/unit.h) whose engine is a process of its own: the parent's side.
 *
 * The seam is the unit's interface. The bus between the node's actor and its engines would have
 * been the other choice; but a node that serves gateways on other machines has its actor in the
 * parent, and services join and leave through the unit and not over the bus. Here the child runs
 * the whole unit as it is, and the node cannot tell the two kinds apart.
 *
 *   STARTING --READY--> RUNNING --it ended, or was killed--> OVER --all is returned--> DOWN
 *      ^                                                                                 |
 *      +-----------------------------after the backoff----------------------------------+
 *
 * OVER: the ring is drained once more, since a wake-up may be lost with its sender. Then each
 * request that has not ended is RETURNED, CRASHED, at the position that it had reached. The gateway
 * submits it again with its tokens. A model that was loaded or loading is reported as LOADING, and
 * loads again in the next process from weights that are packed already.
 *
 * A child is killed when it broke the rules of its records, when its heart was silent for 3 s (60 s
 * while it starts), or when it had requests and made no step for twice `stall_ns`. Silence counts
 * in steps of a second at most, so that a parent that was stopped itself blames no child.
 *
 * The first restart is immediate. If the process lived for less than a minute, the next one waits
 * 100 ms, then twice as long each time, 10 s at most. A model that was at work in three crashes
 * within 10 minutes is set aside: its loads fail with one sentence for 10 minutes. Ends that may
 * have come from outside (SIGKILL, a stopped process) count for a third of a crash. If several
 * models were at work in as many, one of them is set aside; if the engine then crashes without it,
 * it is let in again. */
#pragma once
#include "process/unit_options.h"

struct process_unit;

struct process_unit *process_unit_open(const struct process_unit_options *options);
void process_unit_close(struct process_unit *unit);

/* ---- As in run/unit.h. ---- */
struct service process_unit_service(struct process_unit *unit);
void process_unit_load(struct process_unit *unit, int service);
void process_unit_unload(struct process_unit *unit, int service, bool even_busy);
void process_unit_drain(struct process_unit *unit);
int64_t process_unit_step(struct process_unit *unit, int64_t now_ns);
enum run_unit_presence process_unit_presence(const struct process_unit *unit, int service);
const char *process_unit_refusal(const struct process_unit *unit, int service);
void process_unit_add_service(struct process_unit *unit, int service,
                              const struct run_unit_joins *joins);
void process_unit_admit_service(struct process_unit *unit, int service);
bool process_unit_remove_service(struct process_unit *unit, int service);
bool process_unit_next_change(struct process_unit *unit, struct service_change *change);
const struct engine_report *process_unit_report(struct process_unit *unit);
