/* The simulator: the real engines, pools and schedulers on virtual time, with modelled executors
 * and a seeded workload instead of clients.
 *
 * A simulation is a value without globals, so one may run inside another.
 *
 * The same options give the same report, byte for byte. */
#pragma once
#include "base/hist.h"
#include "base/set.h"
#include "base/str.h"
#include "core/service.h"
#include "core/service_size.h"
#include "metrics/record.h"
#include "predict/length.h"
#include "predict/perf.h"
#include "route/policy.h"
#include "schedule/policy.h"
#include "sim/chains_report.h"
#include "sim/faults.h"
#include "sim/replan_options.h"
#include "workload/workload.h"

enum { SIM_CORES_GROUPS = 16 };
struct engine_log;
struct metrics_trace;
struct scale_config;
/* A service that was measured on groups of cores: its times on lanes, and how lanes slow each
 * other. */
struct sim_cores {
    int32_t n_cores; /* of a whole engine */
    int32_t n_groups;
    struct sim_cores_group {
        int32_t n_cores;
        struct perf perf;
    } groups[SIM_CORES_GROUPS];
    double beside[2][2]; /* perf_job.beside of its prefills and decodes; 0: not measured */
};
struct sim_service {
    const char *name;
    struct perf perf; /* what its engines believe at start, and the truth if `truth` is NULL: */
    const struct perf_truth
        *truth; /* NULL = perf; borrowed. Engines with their own perfs use those, but see below */
    const struct sim_cores *cores; /* NULL: tables give the time on a share of a device; borrowed */
    struct service_size size;
    int64_t joins_ns, leaves_ns; /* sim/joins.h: 0 = it is there from the start; 0 = to the end. Not
                                    with faults, re-placement or chains */
};
/* The part of a request that an engine computes: all of it; its prompt and first token; all after
 * that. */
enum sim_role { SIM_MIXED, SIM_PREFILL, SIM_DECODE };
/* A service's part of its engine in a placement; 0 = none (core/service_spec.h). */
struct sim_engine_part {
    int32_t share_percent;
    int64_t kv_bytes;
};
struct sim_engine_spec { /* an engine that is not like the others */
    struct set services; /* that it has; a request goes to an engine that has its service */
    int64_t memory_bytes;
    int32_t n_devices;  /* of a tensor-parallel group, and their joint memory bandwidth, by which */
    double bytes_per_s; /* lanes with shares slow each other; 0 = they do not */
    const struct perf *perfs; /* (n_services) times on this engine; NULL = the services' own */
    /* (n_services) the truth on this engine where step_ps is not NULL; NULL = perfs */
    const struct perf_truth *truths;
    /* (n_services) NULL = none. Shares make an engine's own lanes for a policy that uses them. */
    const struct sim_engine_part *parts;
    /* Its own lanes, if the policy uses lanes and shares make none. */
    struct schedule_lane lanes[LIMIT_LANES];
    int32_t n_lanes;         /* 0 = those of sim_options */
    uint32_t n_requests_max; /* if lower than sim_options' limit; 0 = that limit */
    int32_t n_deep;          /* of a chain: engine_options */
    double deep_part;
    uint8_t role; /* enum sim_role */
    /* Neighbours with the same one are a pool that grows and shrinks (place/scale.h); lent,
     * NULL = always on. */
    const struct scale_config *scale;
    /* sim/chain.h: its one service is spread over a chain of devices. The chain's map sets times
     * and memory instead of memory_bytes, perfs and truths; lent, NULL = no chain. Not with roles,
     * faults or models that move. */
    const struct sim_chain *chain;
};
struct sim_options {
    int32_t n_engines; /* at most 65,535 */
    int32_t n_lanes, n_services;
    const struct schedule_lane *lanes; /* (n_lanes); NULL = each is all of the device */
    const struct sim_service *services;
    int64_t memory_bytes;                  /* of one engine */
    const struct sim_engine_spec *engines; /* (n_engines); NULL = equal, each with all services */
    uint32_t n_requests_max;               /* of one engine; further requests wait at the gateway */
    uint32_t n_live_max;                   /* requests in the simulation at once; 0 = 65,536 */
    int64_t swap_bytes, swap_bytes_per_s;  /* of an engine's host pool; its link, 0 = 4 GiB/s */
    int32_t n_tokens_max;
    enum kv_kind kv;      /* of every engine's pool */
    int32_t block_tokens; /* of every service's KV blocks; 0 = the one that wastes least
                             (kv_choose_layout); not used by head-wise pools */
    const struct schedule_policy *policy;
    const struct schedule_config *config;     /* NULL = the defaults; n_rounds_max 1 = no holds */
    const struct route_policy *router;        /* NULL = least */
    const struct route_config *router_config; /* NULL = the defaults */
    /* Aladdin's distributed groups (appendix A): engines and requests are dealt to the groups in
     * turn, and each group has its own router. 0 = 1; not with roles or re-placement. */
    int32_t n_router_groups;
    /* The router before engines that only decode. NULL = the same router, with the phase of its
     * config set (docs/ALGORITHMS.md section 3.9). */
    const struct route_policy *decode_router;
    int64_t kv_bytes_per_s; /* from prefill to decode engines; 0 = 25 GB/s */
    struct service_slo slo; /* of every service, for routers that use it */
    const struct workload *workload;
    int64_t until_ns; /* the run ends here, finished or not; 0 = with the last request */
    /* Predicts output lengths; NULL: the workload's own predictions stand, whose hint is a
     * guess. */
    const struct length_predictor *predictor;
    const struct length_config *predictor_config; /* NULL = the defaults */
    /* engine/log.h: (n_engines) the log of each, NULL = not logged; lent, NULL = none is logged */
    struct engine_log *const *logs;
    struct metrics_trace *trace; /* metrics/trace.h: receives every batch; lent, NULL = none */
    /* sim/faults.h: gateway, manager, node and bus between clients and engines, with their faults;
     * borrowed, NULL = only the simulated gateway. At most LIMIT_ENGINES engines. */
    const struct sim_faults *faults;
    /* sim/replan.h: models move between engines, which are those of sim_replan_engines; borrowed,
     * NULL = they stay where they are. Not with faults or pools that scale. */
    const struct sim_replan_options *replace;
    bool has_soft_deadlines; /* only the router uses deadlines: late requests continue */
    bool has_prefix_cache;   /* of every engine; a request then has token ids (workload_tokens) */
    bool checks_steps;       /* every engine checks itself after every step: slow */
    /* Called with every request when it is over, or NULL. Requests that can never end come last,
     * unfinished. The order is not that of arrival. */
    void (*take)(void *self, const struct record *record);
    void *take_self;
    bool takes_ends; /* only arrival, first token and end are filled in: records then leave out the
                        time between tokens and batches, which is slow to collect */
};
/* Returns how many lanes engine e has: its own, else those of sim_options. */
static inline int32_t sim_n_lanes(const struct sim_options *options, int32_t e)
{
    int32_t n_own = options->engines != NULL ? options->engines[e].n_lanes : 0;
    return n_own > 0 ? n_own : options->n_lanes;
}

/* Returns the bytes of a unit of its engines' pools, and sets layouts: (n_services). */
int64_t sim_layouts(const struct sim_options *options, struct kv_layout *layouts);

struct sim_service_report {
    int64_t n_requests, n_ended[SERVICE_WHY_N];
    int64_t n_prompt_tokens, n_tokens, n_preempted;
    int64_t n_swapped; /* preemptions into the host pool that were not recomputed */
    int64_t n_batches, n_batch_rows, n_forced; /* as in core/report.h */
    int64_t n_met; /* requests whose end-to-end time is within 5 times their own solo time */
    double e2e_s, ttft_s, solo_s, tpot_s; /* sums over those that ended by themselves */
    struct hist e2e_ns, ttft_ns;
    struct length_calibration lengths; /* of the predictor's first words */
};
struct sim_report {
    const char *policy, *router;
    uint64_t seed, n_requests;
    int64_t end_ns;                 /* when the last request was over */
    int64_t n_rounds, busy_ns;      /* batches computed; lanes' time, by their shares */
    int64_t n_held_max;             /* at the gateway */
    int64_t n_handed, handed_bytes; /* requests from prefill to decode engines, with their KV */
    int64_t device_ns;              /* that engines were there, by device */
    int64_t engine_ns;              /* the same by engine, where models move */
    int64_t n_started, n_stopped;   /* workers of scaled pools */
    /* Counts requests that the router sent although it expects to miss a target. */
    int64_t n_forced;
    int64_t n_static_batches, n_static_seats, n_static_early; /* as in core/report.h */
    uint64_t hash; /* of every request's record: reason, first token, end, tokens */
    int32_t n_services;
    struct sim_service_report *services;
    /* A measure of the work, not of the result: it differs with and without holds. */
    int64_t n_steps;
    struct sim_faults_report bus; /* where there is one */
    struct sim_replan_report replace;
    struct sim_chains_report chains;
    const char *wrong; /* NULL, or the first invariant that failed: the run ended there */
};
/* Runs to the end of the workload. The caller frees the report. */
void sim_run(const struct sim_options *options, struct sim_report *report);
void sim_report_free(struct sim_report *report);
/* Prints the report as text, a line per fact. The text does not depend on holds. */
void sim_report_print(const struct sim_report *report, const struct sim_options *options,
                      struct str *out);
