/* The state that an engine reports, after steps and on a heartbeat. Routers and metrics read it. */
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
/* Which phases an engine takes: prompts up to their first token, what follows it, or both. */
enum engine_role { ENGINE_MIXED, ENGINE_PREFILL, ENGINE_DECODE, ENGINE_ROLES };

struct service_report {
    uint8_t status; /* enum service_status */
    uint8_t progress_percent;
    uint16_t life; /* of its service_spec */
    int32_t n_waiting, n_running;
    int32_t n_wakes;       /* loads of it that were wakes */
    int32_t copy_permille; /* the last load's bytes a second over those of a plain copy to the
                              device; 0: unknown */
    int64_t load_ns;       /* the time that the last load packed or copied weights */
    int64_t sleep_bytes;   /* of a model that sleeps (status UNLOADED): its packed weights, kept in
                              host memory; 0: it does not sleep */
    int64_t weights_bytes, activation_bytes, kv_used_bytes, kv_cached_bytes;
    int64_t kv_bytes_per_token; /* as allocated, padding of the merged block included */
    int64_t kv_held_bytes;      /* in whole units of the pool, as quotas count them */
    int64_t kv_quota_bytes;     /* set by the policy; 0 = it sets none */
    double kv_share; /* its fraction of the bytes that all models hold; 0 = no model holds any */
    double kv_r; /* R: that fraction over the one that it is due by rate, mean length and bytes a
                    token; 0 = it is due none */
    int64_t n_prefix_queries, n_prefix_hits; /* tokens looked up and found */
    int64_t n_preempted;
    int64_t n_swapped; /* preemptions whose blocks went to the host pool instead of being dropped */
    int64_t n_pad_tokens, n_invalid_tokens;   /* of padded batches: computed and thrown away */
    int64_t n_static_batches, n_static_seats; /* padded batches that are over, and their rows */
    int64_t n_batches, n_batch_rows;          /* rounds computed, and requests in them */
    int64_t n_static_early; /* static batches whose members all ended before their leases (SCLS,
                               Fig. 14b) */
    int64_t n_drafts;       /* rounds of a request that verified drafts, */
    int64_t n_drafted;      /* drafts in them, */
    int64_t n_accepted;     /* and those that were accepted */
    int64_t n_exceeded;     /* requests that generated more than was predicted */
    int64_t n_forced;       /* batches that went before all others because a request starved */
    int64_t n_kept;         /* requests whose KV was offered to other engines, */
    int64_t n_handed;       /* that came with their KV, */
    int64_t n_handed_lost;  /* and that should have, and were computed again */
    int64_t n_disk_tokens;  /* that came from the disk tier instead of being computed */
    int64_t n_disk_lost;    /* requests that should have had some, and were computed again */
    int64_t n_arrived;      /* requests taken since the engine started */
    int64_t solo_ns;        /* mean solo execution time of a request (L-hat) */
    int64_t remaining_ns;   /* predicted work of all its requests here */
    struct perf perf;       /* of a loaded service: how long its batches take here, as corrected */
};
struct engine_report {
    uint16_t engine;
    bool is_draining, is_healthy;
    bool is_down;    /* its process has ended, and another one starts */
    uint8_t role;    /* enum engine_role */
    uint8_t zero[2]; /* so that no byte is undefined */
    int64_t now_ns;
    int64_t n_steps;          /* batches committed; the health check watches that it increases */
    int64_t step_ns, host_ns; /* summed: wall time of batches; engine's own time between them */
    int64_t memory_bytes, kv_pool_bytes, kv_free_bytes;
    int64_t kv_table_bytes; /* bytes of the block tables of all requests */
    int64_t disk_bytes;     /* of the disk tier's files */
    int64_t n_disk_written; /* blocks that went there since the engine started, */
    int64_t n_disk_read;    /* that came back, */
    int64_t n_disk_evicted; /* that left for others, */
    int64_t n_disk_dropped; /* that were damaged, */
    int64_t n_disk_failed;  /* and that the disk refused to write or read */
    int32_t n_requests, n_requests_max;
    int32_t n_services;
    int32_t n_restarts; /* of its process */
    /* Services that are loaded, come, or were loaded. The rows of all other services are zero. */
    struct set listed;
    struct service_report services[LIMIT_SERVICES];
};
/* A model's status changed on an engine. Reports are samples, but every change is sent, in order,
 * however short the status lasted. The same record goes from an engine's unit through node, bus and
 * gateway to the API. */
struct service_change {
    uint16_t engine, service;
    uint16_t life;  /* of its service_spec, so that changes of an earlier service are ignored */
    uint8_t status; /* enum service_status; BROKEN = a load failed, and the model is UNLOADED now */
    uint8_t cause;  /* enum status: the reason; OK = it was requested */
    int64_t weights_bytes, activation_bytes; /* booked on the engine for it at that time */
    int64_t sleep_bytes;                     /* as in service_report */
    struct fault fault;                      /* of BROKEN: the reason */
};
static inline void service_change_apply(const struct service_change *change,
                                        struct service_report *report)
{
    report->status = change->status;
    report->progress_percent = change->status == SERVICE_LOADED ? 100 : 0;
    report->weights_bytes = change->weights_bytes;
    report->activation_bytes = change->activation_bytes;
    report->sleep_bytes = change->sleep_bytes;
}
/* Returns the bytes of a report with n_services rows. The rows behind them are never written, sent
 * or copied. */
static inline size_t engine_report_bytes(int n_services)
{
    return offsetof(struct engine_report, services) +
           (size_t)n_services * sizeof(struct service_report);
}
/* Check records that came from another process or machine. Routers, the manager and the metrics use
 * the values. A machine can have what passes, and sums over all services do not wrap. */
bool report_is_valid(const struct engine_report *report, int n_services_max);
bool report_change_is_valid(const struct service_change *change);
bool report_bytes_are_valid(int64_t n_bytes); /* of memory, KV, ... */
