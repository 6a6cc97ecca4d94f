/* A thread that drives an engine, and the rings on both sides of it.
 *
 * The owner (the node's thread, and only that one) puts mail into the inbox: requests, cancels,
 * control; the engine's thread answers through three rings: events, answers, reports. Nothing else
 * is shared. wait_fd becomes readable when any of them has news and stays so until next has said
 * "none" with answers and reports read as well. The engine sleeps in poll(2) on its mail and on its
 * executor. Towards the node a host is a struct service. */
#pragma once
#include "engine/engine.h"

struct engine_host;

struct engine_host_options {
    struct engine_options engine;       /* emit and emit_self are the host's own */
    uint32_t inbox_bytes, outbox_bytes; /* powers of two; 0 = 4 MiB. The inbox gets more when the
                                           longest prompt asks for it. */
    int64_t report_ns; /* a report at least this often while it lives; 0 = 100 ms */
};
/* Opens the engine and starts its thread. The executor's functions are called on that thread only.
 */
struct engine_host *engine_host_open(const struct engine_host_options *options);
/* Waits for the batches in flight, stops the thread and closes the engine; what is unfinished is
 * the owner's to submit elsewhere. Events that were not taken are dropped. */
void engine_host_close(struct engine_host *host);

/* ---- The face of core/service.h, called by the owner's thread only. ---- */
struct service engine_host_service(struct engine_host *host);
/* Copies both records. False: the inbox is full, nothing was taken. A malformed body is answered by
 * ENDED, FAILED. */
bool engine_host_submit(struct engine_host *host, const struct request *request,
                        const struct request_body *body);
/* Never lost: when the inbox is full it is kept and said again by the next call of any function. */
void engine_host_cancel(struct engine_host *host, uint64_t id, uint32_t epoch);
/* The next event; the payload is valid until the next call. False when there is none now. */
bool engine_host_next(struct engine_host *host, struct service_event *event, const void **payload);
int engine_host_wait_fd(struct engine_host *host); /* readable: next or answer may have news */

/* ---- Control: each ask is answered once, in its own time. False: the inbox is full, ask again.
 * ---- */
/* Books the bytes, shrinking the pool as requests leave. After ROOM with is_done the owner loads
 * the weights, readies the executor's model, and asks to open the service. */
bool engine_host_make_room(struct engine_host *host, int service, int64_t weights_bytes,
                           int64_t activation_bytes);
bool engine_host_open_service(struct engine_host *host, int service, const struct perf *perf);
/* A model without requests leaves: after EMPTIED the executor touches it no more, and its bytes are
 * booked until it is closed. With requests nothing changes, and EMPTIED is not done; or else
 * (even_busy) they are returned (DRAINING) first. */
bool engine_host_empty_service(struct engine_host *host, int service, bool even_busy);
/* Frees its bytes: what they held is gone. Also gives back a room that was booked or is being made
 * but never opened. What requests an open one has are returned (DRAINING) first. */
bool engine_host_close_service(struct engine_host *host, int service);
/* A service joins or leaves (engine_add_service, engine_remove_service). ADDED is not done, with a
 * sentence, where it can't ever join; REMOVED is not done while something of it is left. */
bool engine_host_add_service(struct engine_host *host, int service, const struct service_spec *spec,
                             const struct kv_layout *layout);
bool engine_host_remove_service(struct engine_host *host, int service);
bool engine_host_drain(struct engine_host *host); /* answered when nothing is left to do */

enum engine_host_what {
    ENGINE_HOST_ROOM, /* is_done: booked; else never, see room */
    ENGINE_HOST_OPENED,
    ENGINE_HOST_EMPTIED, /* is_done, or it has requests */
    ENGINE_HOST_CLOSED,
    ENGINE_HOST_ADDED,
    ENGINE_HOST_REMOVED,
    ENGINE_HOST_DRAINED,
};
struct engine_host_answer {
    uint8_t what; /* enum engine_host_what */
    bool is_done;
    uint16_t service;
    struct engine_room room; /* of ROOM */
    const char *why;         /* of ADDED, not done */
};
bool engine_host_answer(struct engine_host *host, struct engine_host_answer *answer);
/* The latest report that has arrived (all zero before the first). Valid until the next call of any
 * function of the host. */
const struct engine_report *engine_host_report(struct engine_host *host);
