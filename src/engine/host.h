/* A thread that drives an engine, and the rings on both sides of it.
 *
 * The owner (only the node's thread) puts mail into the inbox: requests, cancels, control. The
 * engine's thread answers through three rings: events, answers, reports. Nothing else is shared.
 * wait_fd becomes readable when any of them has data. It stays readable until next has returned
 * false with answers and reports read as well. The engine sleeps in poll(2) on its mail and on its
 * executor. For the node a host is a struct service. */
#pragma once
#include "engine/engine.h"

struct engine_host;
struct ring;
struct wake;

struct engine_host_options {
    struct engine_options engine;       /* emit and emit_self are the host's own */
    uint32_t inbox_bytes, outbox_bytes; /* powers of two; 0 = 4 MiB. The inbox is larger when the
                                           longest prompt needs it. */
    int64_t report_ns;                  /* a report at least this often while it runs; 0 = 100 ms */
    /* Lent: events go into this ring, and wake this one, for a reader in another process. Then
     * engine_host_next has none. NULL: the host's own. */
    struct ring *events;
    struct wake *events_wake;
};
/* Opens the engine and starts its thread. The executor's functions are called on that thread only.
 */
struct engine_host *engine_host_open(const struct engine_host_options *options);
/* Waits for the batches in flight, stops the thread and closes the engine. The owner must submit
 * unfinished requests elsewhere. Events that were not taken are dropped. */
void engine_host_close(struct engine_host *host);

/* ---- The functions of core/service.h, called only by the owner's thread. ---- */
struct service engine_host_service(struct engine_host *host);
/* Copies both records. Returns false, with nothing taken, when the inbox is full. A malformed body
 * is answered by ENDED, FAILED. */
bool engine_host_submit(struct engine_host *host, const struct request *request,
                        const struct request_body *body);
/* A cancel is never lost: when the inbox is full it is kept, and the next call of any function
 * retries it. */
void engine_host_cancel(struct engine_host *host, uint64_t id, uint32_t epoch);
/* Returns the next event, with a payload that is valid until the next call. False when there is no
 * event now. */
bool engine_host_next(struct engine_host *host, struct service_event *event, const void **payload);
int engine_host_wait_fd(struct engine_host *host); /* readable: next or answer may have news */

/* ---- Control: each ask is answered once, in its own time. A function returns false when the inbox
 * is full; call it again then. ---- */
/* Books the bytes, shrinking the pool as requests leave. After ROOM with is_done the owner loads
 * the weights, prepares the executor's model, and calls engine_host_open_service. */
bool engine_host_make_room(struct engine_host *host, int service, int64_t weights_bytes,
                           int64_t activation_bytes);
bool engine_host_open_service(struct engine_host *host, int service, const struct perf *perf);
/* Empties a model without requests: after EMPTIED the executor does not use it any more, and its
 * bytes stay booked until it is closed. If it has requests, nothing changes, and EMPTIED is not
 * done; with even_busy they are returned (DRAINING) first. */
bool engine_host_empty_service(struct engine_host *host, int service, bool even_busy);
/* Frees its bytes, whose content must have been released. It also gives back a room that was booked
 * or is being made but never opened. The requests of an open service are returned (DRAINING)
 * first. */
bool engine_host_close_service(struct engine_host *host, int service);
/* Adds or removes a service (engine_add_service, engine_remove_service). ADDED is not done, with a
 * sentence, when it can't ever join. REMOVED is not done while something of it is left. */
bool engine_host_add_service(struct engine_host *host, int service, const struct service_spec *spec,
                             const struct kv_layout *layout);
bool engine_host_remove_service(struct engine_host *host, int service);
/* The executor has a device again, and no model is open. */
bool engine_host_revive(struct engine_host *host);
bool engine_host_drain(struct engine_host *host); /* answered when nothing is left to do */

enum engine_host_what {
    ENGINE_HOST_ROOM, /* is_done: booked; else it can never be, see room */
    ENGINE_HOST_OPENED,
    ENGINE_HOST_EMPTIED, /* is_done, or it has requests */
    ENGINE_HOST_CLOSED,
    ENGINE_HOST_ADDED,
    ENGINE_HOST_REMOVED,
    ENGINE_HOST_DRAINED,
    ENGINE_HOST_LOST, /* not asked for: the device is lost, and all requests are returned */
    ENGINE_HOST_REVIVED,
};
struct engine_host_answer {
    uint8_t what; /* enum engine_host_what */
    bool is_done;
    uint16_t service;
    struct engine_room room; /* of ROOM */
    const char *why;         /* of ADDED, not done */
};
bool engine_host_answer(struct engine_host *host, struct engine_host_answer *answer);
/* Returns the latest report that has arrived (all zero before the first). Valid until the next call
 * of any function of the host. */
const struct engine_report *engine_host_report(struct engine_host *host);
