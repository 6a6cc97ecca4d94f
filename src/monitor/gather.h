/* Gathers what a leading manager hears of a cluster: the traffic of services, which gateways count,
 * and the work and memory of engines, which nodes report.
 *
 * Gateways send sums that only grow (cluster/message.h). The window gets the difference to the last
 * sums of the same gateway. The first sums of a gateway that counted before are only a base, so a
 * new leader counts nothing twice. Planners read the window of services
 * (monitor/monitor.h); that of engines has the same bins.
 *
 * No function reads a clock. */
#pragma once
#include "core/report.h"
#include "monitor/monitor.h"

enum { MONITOR_GATEWAYS_MAX = 256 };

struct monitor_gateway {
    uint64_t life; /* 0: the place is free */
    int64_t heard_ns;
    int32_t n_engines_wanted;
    uint64_t *numbers;         /* (n_services) of the last message; 0: none yet */
    struct monitor_bin *bases; /* (n_services) its sums */
};
struct monitor_engine_bin {
    int64_t seen_ns, busy_ns;   /* time that reports cover, and that of batches in it */
    int64_t n_seen;             /* reports */
    double memory, weights, kv; /* sums over reports: bytes there, of models, of KV in use */
};
struct monitor_engine {
    struct monitor_engine_bin bins[MONITOR_BINS];
    int64_t report_ns, step_ns; /* of the last report; 0: none */
};
struct monitor_engine_reading {
    double utilisation;                           /* busy / seen: 0 to 1 */
    double memory_bytes, weights_bytes, kv_bytes; /* means */
    int64_t n_seen;
};
struct monitor_gather {
    struct monitor window;
    struct monitor_service *services; /* (n_services) */
    int64_t *n_arrived;               /* (n_services) since it was opened */
    struct monitor_engine *engines;   /* (n_engines) */
    struct monitor_gateway gateways[MONITOR_GATEWAYS_MAX];
    int32_t n_engines;
    int64_t engine_bin; /* the bin of engines that is being filled */
};
void monitor_gather_open(struct monitor_gather *gather, int32_t n_services, int32_t n_engines,
                         int64_t bin_ns, int64_t now_ns);
void monitor_gather_close(struct monitor_gather *gather);

/* Forgets a service, whose number another one gets. */
void monitor_gather_forget(struct monitor_gather *gather, int32_t service);

struct monitor_heard { /* a gateway's message of one service */
    uint64_t life, number;
    int32_t n_engines_wanted;
    const struct monitor_bin *sums;
};
/* Takes the message. A message that is older than the last one of its gateway is dropped. If all
 * places are taken, the gateway that was silent for longest gives up its place. */
void monitor_gather_heard(struct monitor_gather *gather, int32_t service,
                          const struct monitor_heard *heard, int64_t now_ns);
/* Takes an engine's last report. A report that was seen before changes nothing. */
void monitor_gather_saw(struct monitor_gather *gather, int32_t engine,
                        const struct engine_report *report, int32_t n_services, int64_t now_ns);
void monitor_gather_read_engine(struct monitor_gather *gather, int32_t engine, int64_t now_ns,
                                struct monitor_engine_reading *out);
/* Returns how many engines the gateways' routers want in all: the sum over gateways that were heard
 * within the last 30 s; 0: no router says it. */
int32_t monitor_gather_n_wanted(const struct monitor_gather *gather, int64_t now_ns);
