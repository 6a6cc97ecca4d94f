/* The simulator: the real engines, pools and schedulers on virtual time, with modelled executors
 * and a seeded workload in the place of clients.
 *
 * A simulation is a value: no globals, so one may run inside another. The same options give the
 * same report, byte for byte. */
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
/* A service that was measured on groups of cores: what its lanes take, and do to each other. */
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
    struct perf perf; /* what its engines believe at start, and the truth unless there is one: */
    const struct perf_truth
        *truth; /* NULL = perf; borrowed. Engines with perfs of their own: those, but see below */
    const struct sim_cores *cores; /* NULL: a share of a device takes what tables say; borrowed */
    struct service_size size;
};
/* What an engine does with a request: all of it; its prompt and first token; all after that. */
enum sim_role { SIM_MIXED, SIM_PREFILL, SIM_DECODE };
/* What a placement gave a service of its engine; 0 = nothing (core/service_spec.h). */
struct sim_engine_part {
    int32_t share_percent;
    int64_t kv_bytes;
};
struct sim_engine_spec { /* an engine that is not like the others */
    struct set services; /* that it has; a request goes to an engine that has its own */
    int64_t memory_bytes;
    int32_t n_devices;  /* of a tensor-parallel group, and what their memory gives together: what */
    double bytes_per_s; /* lanes with shares do to each other; 0 = nothing */
    const struct perf *perfs; /* (n_services) times on this engine; NULL = the services' own */
    /* (n_services) the truth on this engine where step_ps is not NULL; NULL = perfs */
    const struct perf_truth *truths;
    /* (n_services) NULL = none. Shares make lanes of their own for a policy that uses them. */
    const struct sim_engine_part *parts;
    /* Its own, where the policy uses lanes and shares make none. */
    struct schedule_lane lanes[LIMIT_LANES];
    int32_t n_lanes;         /* 0 = everybody's */
    uint32_t n_requests_max; /* where no more can come; 0 = as everybody */
    int32_t n_deep;          /* of a chain: engine_options */
    double deep_part;
    uint8_t role; /* enum sim_role */
    /* Neighbours with the same one are a pool that grows and shrinks (place/scale.h); lent, NULL =
     * always there. */
    const struct scale_config *scale;
    /* sim/chain.h: its one service lies over a chain of devices, whose map says times and memory
     * in the place of memory_bytes, perfs and truths; lent, NULL = it does not. Not with roles,
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
    uint32_t n_requests_max;              /* of one engine; what does not fit is held at the door */
    uint32_t n_live_max;                  /* requests in the simulation at once; 0 = 65,536 */
    int64_t swap_bytes, swap_bytes_per_s; /* of an engine's host pool; the link, 0 = 4 GiB/s */
    int32_t n_tokens_max;
    enum kv_kind kv;      /* of every engine's pool */
    int32_t block_tokens; /* of every service's KV blocks; 0 = what wastes least (kv_choose_layout);
                             a head-wise pool has its own */
    const struct schedule_policy *policy;
    const struct schedule_config *config;     /* NULL = the defaults; n_rounds_max 1 = no holds */
    const struct route_policy *router;        /* NULL = least */
    const struct route_config *router_config; /* NULL = the defaults */
    /* Aladdin's distributed groups (appendix A): engines are dealt out, and requests in turn, each
     * group has a router of its own. 0 = 1; not with roles or re-placement. */
    int32_t n_router_groups;
    /* Of the door before engines that only decode: NULL = the same router, with the phase of its
     * config set (ALGORITHMS.md section 3.9). */
    const struct route_policy *decode_router;
    int64_t kv_bytes_per_s; /* from prefill to decode engines; 0 = 25 GB/s */
    struct service_slo slo; /* of every service, for routers that look at it */
    const struct workload *workload;
    int64_t until_ns; /* the run ends here, be it finished or not; 0 = with the last request */
    /* Of output lengths; NULL: the workload's own predictions stand, whose hint is a guess. */
    const struct length_predictor *predictor;
    const struct length_config *predictor_config; /* NULL = the defaults */
    /* engine/log.h: (n_engines) the log of each, NULL = none of it; lent, NULL = none at all */
    struct engine_log *const *logs;
    struct metrics_trace *trace; /* metrics/trace.h: every batch; lent, NULL = none */
    /* sim/faults.h: gateway, manager, node and bus between clients and engines, and what goes wrong
     * there; borrowed, NULL = the door alone. At most LIMIT_ENGINES engines. */
    const struct sim_faults *faults;
    /* sim/replan.h: models move between engines, which are those of sim_replan_engines; borrowed,
     * NULL = they stay where they are. Not with faults or pools that scale. */
    const struct sim_replan_options *replace;
    bool has_soft_deadlines; /* only the router knows of deadlines: late requests go on */
    bool has_prefix_cache;   /* of every engine: a request has token ids (workload_tokens) */
    bool checks_steps;       /* every engine checks itself after every step: slow */
    /* Hears of every request as it is over, or NULL; those that are not over when nothing can
     * happen any more come last, unfinished. Not in order of arrival. */
    void (*take)(void *self, const struct record *record);
    void *take_self;
    bool takes_ends; /* of it when it came, its first token and its end: records say nothing of the
                        time between tokens and of batches, which takes time to know */
};
/* How many lanes engine e has: its own, else everybody's. */
static inline int32_t sim_n_lanes(const struct sim_options *options, int32_t e)
{
    int32_t n_own = options->engines != NULL ? options->engines[e].n_lanes : 0;
    return n_own > 0 ? n_own : options->n_lanes;
}

/* How its engines cut their pools: the bytes of a unit; layouts: (n_services). */
int64_t sim_layouts(const struct sim_options *options, struct kv_layout *layouts);

struct sim_service_report {
    int64_t n_requests, n_ended[SERVICE_WHY_N];
    int64_t n_prompt_tokens, n_tokens, n_preempted;
    int64_t n_swapped; /* of them those that went to the host pool and were not computed again */
    int64_t n_batches, n_batch_rows, n_forced; /* as in core/report.h */
    int64_t n_met;                             /* end to end within 5 times its own solo time */
    double e2e_s, ttft_s, solo_s, tpot_s;      /* sums over those that ended by themselves */
    struct hist e2e_ns, ttft_ns;
    struct length_calibration lengths; /* of the predictor's first words */
};
struct sim_report {
    const char *policy, *router;
    uint64_t seed, n_requests;
    int64_t end_ns;                 /* when the last request was over */
    int64_t n_rounds, busy_ns;      /* batches computed; lanes' time, by their shares */
    int64_t n_held_max;             /* at the door */
    int64_t n_handed, handed_bytes; /* requests from prefill to decode engines, with their KV */
    int64_t device_ns;              /* that engines were there, by device */
    int64_t engine_ns;              /* the same by engine, where models move */
    int64_t n_started, n_stopped;   /* workers of scaled pools */
    /* Requests sent by the router although it expects a target to be missed. */
    int64_t n_forced;
    int64_t n_static_batches, n_static_seats, n_static_early; /* as in core/report.h */
    uint64_t hash; /* of every request's record: why, first token, end, tokens */
    int32_t n_services;
    struct sim_service_report *services;
    /* How hard it was, not what happened: differs with and without holds. */
    int64_t n_steps;
    struct sim_faults_report bus; /* where there is one */
    struct sim_replan_report replace;
    struct sim_chains_report chains;
    const char *wrong; /* NULL, or the first invariant that did not hold: the run ended there */
};
/* Runs to the end of the workload. The report is the caller's to free. */
void sim_run(const struct sim_options *options, struct sim_report *report);
void sim_report_free(struct sim_report *report);
/* The report as text, a line per fact; what is printed does not depend on holds. */
void sim_report_print(const struct sim_report *report, const struct sim_options *options,
                      struct str *out);
