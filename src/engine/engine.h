/* An engine: requests of several services on one device group. It is passive: engine_step never
 * blocks and reads no clock.
 *
 * A step takes mail, commits what ended, plans, reserves and begins. It returns the latest time of
 * its next call. A host (engine/host.h: a thread) and the simulator both drive it. The engine is a
 * function of its mail, its executor's answers and the times that it is given. */
#pragma once
#include "base/mem.h"
#include "core/control.h"
#include "core/service.h"
#include "core/service_spec.h"
#include "engine/exec.h"
#include "schedule/policy.h"

struct engine;
struct engine_log;
struct exchange;
struct metrics_trace;

struct engine_options {
    uint16_t id;
    uint8_t role;         /* enum engine_role, for its reports alone: routers keep to it */
    int64_t memory_bytes; /* the ledger's total */
    int64_t body_bytes;   /* memory for request bodies. In the simulator it is 0, or a body is
                             submitted with all tokens that its request will ever have */
    uint32_t n_requests_max;
    int32_t n_tokens_max; /* of one request */
    int32_t n_lanes;
    const struct schedule_lane *lanes; /* (n_lanes), copied; NULL: each is the whole device, and
                                          conflicts with no other */
    /* Each lane is a pipeline, on which this many batches may be in flight: schedule_view. The
     * executor treats the place of each as its own lane: batch_place. Only in the simulator. */
    int32_t n_deep;
    double deep_part;
    int32_t n_services;                  /* at first; others may join */
    const struct service_spec *services; /* copied, as what follows */
    const struct kv_layout *layouts;     /* per service */
    int32_t n_services_max;              /* at once; 0 = n_services */
    struct kv_bounds kv_bounds; /* of all that may ever join; zeros: only of these layouts */
    int64_t swap_bytes;         /* of host memory for preempted requests; 0 = they are recomputed */
    /* engine/exchange.h: returned requests leave their KV in the host tier for the next engine, and
     * submitted ones may bring a ticket. Lent; NULL, or no swap_bytes: KV is computed again. `wake`
     * (NULL: none) makes another thread's engine step soon. Not with a log. */
    struct exchange *exchange;
    /* Folder of the disk tier (kv/disk.h) and the most bytes of its files; NULL, 0, or no
     * swap_bytes: none. Prefixes of ended requests go there, and come back. Not with a log. */
    const char *kv_disk;
    int64_t kv_disk_bytes;
    void (*wake)(void *self);
    void *wake_self;
    int64_t swap_bytes_per_s; /* between device and host, until measured; 0 = 4 GiB/s */
    int32_t pad_tokens; /* of padded batches: room for this many pads and rows of ended members, per
                           pass and lane, from memory_bytes. 0 = there are no padded batches */
    enum kv_kind kv_kind;
    int64_t kv_unit_bytes, kv_bytes_max; /* kv_bytes_max: --kv-bytes; 0 = all that weights leave */
    bool has_prefix_cache;
    bool is_virtual;                /* the simulator, without KV memory */
    struct engine_scratch *scratch; /* lent, for all engines of one thread; NULL: its own */
    const struct schedule_policy *policy;
    const struct schedule_config *config;
    struct engine_exec exec;
    uint64_t prefix_salt;
    struct engine_log *log; /* engine/log.h: records all inputs of the engine; lent, NULL = none */
    struct metrics_trace *trace; /* metrics/trace.h: gets every ended batch; lent, NULL = none */
    bool has_no_memory;          /* a replay: usual bodies, but no memory behind the KV pool */
    /* Called with every plan, before it is checked. If it returns false, the plan is not followed.
     * NULL = not called. */
    bool (*planned)(void *self, const struct schedule_plan *plan);
    void *planned_self;
    /* The engine sends TOKENS with the first token of a request, and all later tokens together with
     * its end or return. For hosts that need no more, and requests without logprobs. */
    bool says_little;
    /* If set, every event carries a struct engine_waits, or nothing (the request was refused). */
    bool tells_waits;
    /* Receives every event of the engine for the submitter. It is called from engine_step, and must
     * copy. Returns false when it has no room; the engine then tries again later. */
    bool (*emit)(void *self, const struct service_event *event, const void *payload);
    void *emit_self;
};
/* Times of a request's tokens since it was submitted, as a reader of every event would know
 * them. */
struct engine_waits {
    int64_t first_ns, last_ns, gap_ns_max; /* 0: no tokens */
};
struct engine *engine_open(const struct engine_options *options);
/* Opens memory that no data outlives a call in, for engines of at most n_requests_max requests. */
struct engine_scratch *engine_scratch_open(uint32_t n_requests_max);
void engine_scratch_close(struct engine_scratch *scratch);
void engine_close(struct engine *engine); /* its executor computes nothing any more */

/* ---- The mail, taken between steps by the engine's own thread. ---- */
/* Copies both records (body may be NULL in the simulator, where n_host positions of the request
 * have already come into the host pool). A request that can never be served is ended (FAILED or
 * TOO_LARGE, with a sentence as payload). One without room now is returned (FULL, NO_SPACE,
 * DRAINING). The same id and epoch again is ignored. Returns false, with nothing taken, when the
 * answer could not be sent now, or when an earlier submission of this id still has unsent events.
 * Submit it again then. */
bool engine_submit(struct engine *engine, const struct request *request,
                   const struct request_body *body, int64_t now_ns);
/* Ends a submission soon. Does nothing when the request is not here, or has another epoch. */
void engine_cancel(struct engine *engine, uint64_t id, uint32_t epoch, int64_t now_ns);
/* Makes room for a model. It books weights and activation, and shrinks the pool, except for what
 * begun answers need. Returns false when the room is not ready yet, so call it again. `never` means
 * that it can't fit beside the models that stay, even with an empty pool. Then need, have and most
 * (with no other model) are the bytes for the sentence. */
struct engine_room {
    bool never;
    int64_t need_bytes, have_bytes, most_bytes;
};
bool engine_make_room(struct engine *engine, int service, int64_t weights_bytes,
                      int64_t activation_bytes, int64_t now_ns, struct engine_room *room);
void engine_open_service(struct engine *engine, int service, const struct perf *perf,
                         int64_t now_ns); /* weights are there */
/* Empties a service whose model leaves: its requests are returned (DRAINING). Returns true when
 * none is in flight any more, so that no batch uses the model. Its bytes stay booked until it is
 * closed. */
bool engine_empty_service(struct engine *engine, int service, int64_t now_ns);
/* Does the same, and then frees its bytes for the pool and other models. The memory must have been
 * released. */
bool engine_close_service(struct engine *engine, int service, int64_t now_ns);
/* Adds a service under an unused number below n_services_max; its model may then be loaded like any
 * other. Nothing of the number's earlier service is left. Returns NULL, or why it can't ever join;
 * then nothing changed. */
const char *engine_add_service(struct engine *engine, int service, const struct service_spec *spec,
                               const struct kv_layout *layout, int64_t now_ns);
/* Removes a service. Returns false when its model is loaded or has bytes, or a request of it is
 * still here. */
bool engine_remove_service(struct engine *engine, int service, int64_t now_ns);
bool engine_has_service(const struct engine *engine, int service);
bool engine_is_service_busy(const struct engine *engine, int service); /* it has requests */
void engine_drain(struct engine *engine); /* takes no new requests; running ones continue */

bool engine_is_lost(const struct engine *engine); /* its executor computes nothing any more */
/* Takes requests again, since the executor has a device again, whose memory is empty. Returns false
 * when the engine is not lost, or still has a request or an open model. */
bool engine_revive(struct engine *engine, int64_t now_ns);
int64_t engine_step(struct engine *engine,
                    int64_t now_ns); /* next wake, TIME_NEVER when only mail can help */
/* Stops at this instant, after which nothing is processed. Batches that ended by then are
 * committed, nothing begins, and requests with unsent tokens send them. */
void engine_stop(struct engine *engine, int64_t now_ns);
bool engine_is_idle(const struct engine *engine);
/* Returns whether another thread may still use the host tier's memory. */
bool engine_lends_host(const struct engine *engine);
/* Returns whether KV of requests that were returned is kept for other engines. */
bool engine_keeps_kv(const struct engine *engine);
/* Fills a report of an engine with as many services, or zeros. Services that were not listed
 * before, and are not now, stay unchanged. */
void engine_report(const struct engine *engine, struct engine_report *report, int64_t now_ns);
bool engine_is_sound(const struct engine *engine); /* full self-check */
