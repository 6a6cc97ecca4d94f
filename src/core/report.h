/* What an engine says of itself, after steps and on a heartbeat: routers and metrics read it. */
#pragma once
#include "base/set.h"
#include "core/coefficients.h"
#include "core/limits.h"
#include "base/status.h"

enum service_status {
    SERVICE_UNLOADED,
    SERVICE_LOADING,
    SERVICE_LOADED,
    SERVICE_DRAINING_OUT,
    SERVICE_BROKEN
};
const char *service_status_name(enum service_status status);

struct service_report {
    uint8_t status; /* enum service_status */
    uint8_t progress_percent;
    uint16_t life; /* of its service_spec */
    int32_t n_waiting, n_running;
    int64_t weights_bytes, activation_bytes, kv_used_bytes, kv_cached_bytes;
    int64_t kv_bytes_per_token; /* as allocated, padding of the merged block included */
    int64_t kv_held_bytes;      /* of the pool's units: what quotas count */
    int64_t kv_quota_bytes;     /* the policy's; 0 = it has none */
    double kv_share;            /* its part of what all models hold; 0 = nobody holds any */
    double kv_r; /* R: that part over what is its due by rate, mean length and bytes a token; 0 =
                    it has no due */
    int64_t n_prefix_queries, n_prefix_hits; /* tokens looked up and found */
    int64_t n_preempted;
    int64_t n_swapped; /* of them those whose blocks went to the host pool and were not dropped */
    int64_t n_pad_tokens, n_invalid_tokens;   /* padded batches: computed and thrown away */
    int64_t n_static_batches, n_static_seats; /* padded batches that are over, and their rows */
    int64_t n_batches, n_batch_rows;          /* rounds computed, and requests in them */
    int64_t n_static_early; /* of them: all members ended before their leases (SCLS, Fig. 14b) */
    int64_t n_exceeded;     /* requests that generated more than was predicted */
    int64_t n_forced;       /* batches that went before all others for one that starved */
    int64_t n_arrived;      /* requests taken since the engine started */
    int64_t solo_ns;        /* mean solo execution time of a request (L-hat) */
    int64_t remaining_ns;   /* predicted work of all its requests here */
    struct perf perf;       /* how long its batches take here, as corrected; of a loaded one */
};
struct engine_report {
    uint16_t engine;
    bool is_draining, is_healthy;
    int64_t now_ns;
    int64_t n_steps;          /* batches committed: health watches that it moves */
    int64_t step_ns, host_ns; /* summed: wall time of batches; engine's own time between them */
    int64_t memory_bytes, kv_pool_bytes, kv_free_bytes;
    int64_t kv_table_bytes; /* of the block tables of all requests */
    int32_t n_requests, n_requests_max;
    int32_t n_services;
    /* Services that are there, come, or were there: of the others it says nothing, their rows are
     * zero. */
    struct set listed;
    struct service_report services[LIMIT_SERVICES];
};
/* A model's status changed on an engine. Reports say how things are now and then; every change is
 * told, in order, however short the time that it lasted. The same record goes from an engine's unit
 * through node, bus and gateway to the API. */
struct service_change {
    uint16_t engine, service;
    uint16_t life;  /* of its service_spec: a change of an earlier service counts no more */
    uint8_t status; /* enum service_status; BROKEN = a load failed: it is UNLOADED now */
    uint8_t cause;  /* enum status: why it is so; OK = it was asked for */
    int64_t weights_bytes, activation_bytes; /* that the engine has booked for it by then */
    struct fault fault;                      /* of BROKEN: why */
};
static inline void service_change_apply(const struct service_change *change,
                                        struct service_report *report)
{
    report->status = change->status;
    report->progress_percent = change->status == SERVICE_LOADED ? 100 : 0;
    report->weights_bytes = change->weights_bytes;
    report->activation_bytes = change->activation_bytes;
}
/* Of a report with so many services: what is behind is never written, sent or copied. */
static inline size_t engine_report_bytes(int n_services)
{
    return offsetof(struct engine_report, services) +
           (size_t)n_services * sizeof(struct service_report);
}
