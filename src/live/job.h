/* The job of a planner's process: the present state of a cluster as flat bytes, and the plan that
 * comes back. Parent and child are the same program, so its structs serve.
 *
 * The parent fills the job in and shares it as a memfd. The child writes the result, which counts
 * only after it has ended with code 0. */
#pragma once
#include "base/set.h"
#include "base/status.h"
#include "core/limits.h"
#include "core/service_size.h"
#include "core/service_spec.h"
#include "monitor/monitor.h"
#include "place/replace.h"
#include "route/config.h"
#include "schedule/config.h"

enum { LIVE_ENGINES_MAX = 512, LIVE_REQUESTS_MAX = 5000 };

struct live_service {
    char name[LIMIT_NAME_BYTES];
    struct service_size size;
    struct service_slo slo;
    struct perf perf;
    struct monitor_mean prompt, output; /* tokens */
    int64_t n_arrived[MONITOR_BINS];    /* oldest bin first */
};
struct live_engine {      /* one device; only those that may be planned for are in the job */
    int64_t memory_bytes; /* for models that are planned and their KV */
    struct set there;     /* services of the job that are there or are coming */
    int32_t n_running[LIMIT_MODELS];
};
struct live_settings {
    char planner[64], policy[64], router[64];
    struct schedule_config schedule;
    struct route_config route;
    int32_t kv_kind;         /* enum kv_kind */
    uint32_t n_requests_max; /* of an engine */
    double effort;
    uint64_t seed;
    struct replace_config replace;
    struct replace_links links;
    int64_t interval_ns; /* until the next plan */
};
struct live_score {
    double normalized_latency, attainment, latency_s;
    int32_t n_placed;
};
struct live_result {
    int32_t status;                /* enum status; not OK: `fault` says why nothing was planned */
    int32_t verdict;               /* enum replace_verdict */
    int32_t n_requests, n_changed; /* of the window; engines that change */
    struct live_score kept, planned;
    struct set next[LIVE_ENGINES_MAX]; /* (n_engines) services of each */
    struct fault fault;
    char why[256]; /* the verdict as a sentence */
};
struct live_job {
    int32_t n_services, n_engines;
    int64_t bin_ns;
    int32_t n_bins; /* of the window that services have arrivals of */
    struct live_settings settings;
    struct live_service services[LIMIT_MODELS];
    struct live_engine engines[LIVE_ENGINES_MAX];
    struct live_result result;
};
