/* An engine: requests of several services on one device group. Passive: engine_step never blocks
 * and reads no clock.
 *
 * step = take mail, commit what ended, plan -> reserve -> begin; it returns when it wants to be
 * called again at the latest. A host (engine/host.h: a thread) and the simulator both drive it. It
 * is a function of its mail, its executor's answers and the times that it is given. */
#pragma once
#include "base/mem.h"
#include "core/control.h"
#include "core/service.h"
#include "core/service_spec.h"
#include "engine/exec.h"
#include "schedule/policy.h"

struct engine;
struct engine_log;
struct metrics_trace;

struct engine_options {
    uint16_t id;
    int64_t memory_bytes; /* the ledger's total */
    int64_t body_bytes;   /* memory for request bodies. In the simulator 0, or a body is submitted
                             with all tokens that its request will ever have */
    uint32_t n_requests_max;
    int32_t n_tokens_max; /* of one request */
    int32_t n_lanes;
    const struct schedule_lane *lanes; /* (n_lanes), copied; NULL: each is all of the device and
                                          in nobody's way */
    /* Each lane is a pipeline, on which so many batches may be under way: schedule_view. The
     * executor takes the place of each for a lane of its own: batch_place. In the simulator. */
    int32_t n_deep;
    double deep_part;
    int32_t n_services;                  /* at first; others may join */
    const struct service_spec *services; /* copied, as what follows */
    const struct kv_layout *layouts;     /* per service */
    int32_t n_services_max;              /* that there may be at once; 0 = n_services */
    struct kv_bounds kv_bounds; /* of all that may ever join; zeros: of these layouts alone */
    int64_t swap_bytes; /* of host memory for requests that give way; 0 = they compute again */
    int64_t swap_bytes_per_s; /* between device and host, until measured; 0 = 4 GiB/s */
    int32_t pad_tokens; /* of padded batches: room for so many pads and rows of members that ended,
                           a pass and lane; out of memory_bytes. 0 = there are no padded batches */
    enum kv_kind kv_kind;
    int64_t kv_unit_bytes, kv_bytes_max; /* kv_bytes_max: --kv-bytes; 0 = all that weights leave */
    bool has_prefix_cache;
    bool is_virtual;                /* the simulator: no KV memory */
    struct engine_scratch *scratch; /* lent, to all engines that one thread calls; NULL: its own */
    const struct schedule_policy *policy;
    const struct schedule_config *config;
    struct engine_exec exec;
    uint64_t prefix_salt;
    struct engine_log *log;      /* engine/log.h: it writes down all that it is a function of; lent,
                                    NULL = none */
    struct metrics_trace *trace; /* metrics/trace.h: every batch that ended; lent, NULL = none */
    bool has_no_memory;          /* a replay: bodies as always, but nothing behind the KV pool */
    /* Called with every plan, before it is checked; false: it is not followed. NULL = not called.
     */
    bool (*planned)(void *self, const struct schedule_plan *plan);
    void *planned_self;
    /* TOKENS are said with the first and with the end (or return) of a request, all in between at
     * once: for a reader who looks at no others. Only where no logprobs are asked for. */
    bool says_little;
    /* Then: what every event carries is a struct engine_waits, or nothing (it was refused). */
    bool tells_waits;
    /* Everything that the engine says to whoever submits: called from engine_step, must copy. False
     * = no room: said again later. */
    bool (*emit)(void *self, const struct service_event *event, const void *payload);
    void *emit_self;
};
/* When its tokens came since it was submitted, as somebody would know who heard of each. */
struct engine_waits {
    int64_t first_ns, last_ns, gap_ns_max; /* 0: of none */
};
struct engine *engine_open(const struct engine_options *options);
/* Memory that nothing outlives a call in, for engines of at most n_requests_max requests. */
struct engine_scratch *engine_scratch_open(uint32_t n_requests_max);
void engine_scratch_close(struct engine_scratch *scratch);
void engine_close(struct engine *engine); /* its executor computes nothing any more */

/* ---- The mail, taken between steps by the engine's own thread. ---- */
/* Copies both records (body may be NULL in the simulator, where n_host positions of the request
 * have come into the host pool already). What can never be served is ended
 * (FAILED or TOO_LARGE, a sentence as payload), what finds no room now is returned (FULL,
 * NO_SPACE, DRAINING). The same id and epoch again is ignored. False: the answer could not be said
 * now, or an earlier life of this id still has something to say: nothing was taken, submit again.
 */
bool engine_submit(struct engine *engine, const struct request *request,
                   const struct request_body *body, int64_t now_ns);
/* Ends a submission soon; nothing when the request is not here, or is here in another epoch. */
void engine_cancel(struct engine *engine, uint64_t id, uint32_t epoch, int64_t now_ns);
/* A model wants in: books weights and activation, shrinking the pool, but for what answers that
 * have begun need. False: not yet (call again) - never says that it can't fit beside the models
 * that stay, even with an empty pool; need, have and most (with no other model) are the bytes for
 * the sentence. */
struct engine_room {
    bool never;
    int64_t need_bytes, have_bytes, most_bytes;
};
bool engine_make_room(struct engine *engine, int service, int64_t weights_bytes,
                      int64_t activation_bytes, int64_t now_ns, struct engine_room *room);
void engine_open_service(struct engine *engine, int service, const struct perf *perf,
                         int64_t now_ns); /* weights are there */
/* Its model leaves: its requests are returned (DRAINING); true when none is in flight any more, so
 * that nobody computes with the model. Its bytes stay booked until it is closed. */
bool engine_empty_service(struct engine *engine, int service, int64_t now_ns);
/* The same, and then frees its bytes for the pool and other models: what they held must be gone. */
bool engine_close_service(struct engine *engine, int service, int64_t now_ns);
/* A service joins under a number that is none's, below n_services_max: its model may then be loaded
 * as any other. Nothing of the number's earlier service is left. NULL, or why it can't ever join:
 * then nothing changed. */
const char *engine_add_service(struct engine *engine, int service, const struct service_spec *spec,
                               const struct kv_layout *layout, int64_t now_ns);
/* It leaves. False: its model is loaded or has bytes, or a request of it is still here. */
bool engine_remove_service(struct engine *engine, int service, int64_t now_ns);
bool engine_has_service(const struct engine *engine, int service);
bool engine_is_service_busy(const struct engine *engine, int service); /* it has requests */
void engine_drain(struct engine *engine); /* takes nothing new; what runs goes on */

int64_t engine_step(struct engine *engine,
                    int64_t now_ns); /* next wake, TIME_NEVER when only mail can help */
/* Nothing will be looked at after this instant: what ended by then is committed, nothing begins,
 * and who has tokens that were not said says them. */
void engine_stop(struct engine *engine, int64_t now_ns);
bool engine_is_idle(const struct engine *engine);
/* Into a report of an engine of as many services, or zeroes: of the services those that were not
 * listed before and are not now stay as they are. */
void engine_report(const struct engine *engine, struct engine_report *report, int64_t now_ns);
bool engine_is_sound(const struct engine *engine); /* full self-check */
