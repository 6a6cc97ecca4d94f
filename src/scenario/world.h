/* A scenario made concrete for one seed and rate: workload, services with their performance models,
 * and engines with their services. */
#pragma once
#include "base/doc.h"
#include "metrics/score.h"
#include "place/scale.h"
#include "predict/costs.h"
#include "predict/points.h"
#include "scenario/chain.h"
#include "scenario/ranks.h"
#include "scenario/scenario.h"
#include "sim/sim.h"

struct scenario_world {
    struct workload workload;
    struct sim_service services[LIMIT_SERVICES];
    struct score_service scores[LIMIT_SERVICES];
    const struct predict_model *models[LIMIT_SERVICES]; /* NULL: by numbers */
    struct perf profiled[LIMIT_SERVICES];               /* by a profile, where its hash is not 0 */
    uint64_t profile_hashes[LIMIT_SERVICES];
    struct costs *costs[LIMIT_SERVICES];          /* of measured tables; NULL: none */
    struct perf_points *points[LIMIT_SERVICES];   /* of a profile; NULL: its line */
    struct sim_cores *cores[LIMIT_SERVICES];      /* of a profile */
    struct scenario_ranks *ranks[LIMIT_SERVICES]; /* of a profile */
    struct perf_truth truths[LIMIT_SERVICES];
    double rates_per_s[LIMIT_SERVICES]; /* offered */
    struct sim_engine_spec *engines;    /* (n_engines) */
    int32_t n_engines, n_groups;
    struct perf (*perfs)[LIMIT_SERVICES];            /* by group */
    struct sim_engine_part (*parts)[LIMIT_SERVICES]; /* by group */
    int64_t group_devices[SCENARIO_GROUPS_MAX];
    struct scale_config scales[SCENARIO_GROUPS_MAX]; /* of the groups that have one */
    bool is_scaled[SCENARIO_GROUPS_MAX];
    struct scenario_chain_made *chains; /* by group; zeros: no chain */
    int32_t n_made;                     /* number of these three */
    int32_t n_chain_devices;
    bool is_placed;    /* by a planner; engines without services are possible groups */
    int64_t n_devices; /* of all engines; their joint peaks of arithmetic and memory traffic: */
    double flops_per_s, bytes_per_s;
};
struct scenario_world_ask {
    uint64_t seed; /* 0: the workload's */
    double rate_scale;
    int64_t n_engines;        /* 0: the scenario's */
    double packed_rate_scale; /* if engines are packed: for the load at this scale; 0: rate_scale */
};
/* Close the world even after a fault. */
enum status scenario_world_open(struct scenario_world *world, const struct scenario *scenario,
                                const struct scenario_world_ask *ask, struct fault *fault) MUST_USE;
/* The workload and its services alone, without engines. */
enum status scenario_world_open_services(struct scenario_world *world,
                                         const struct scenario *scenario,
                                         const struct scenario_world_ask *ask,
                                         struct fault *fault) MUST_USE;
/* Returns the times of service i on tp devices of this kind. */
void scenario_world_perf(const struct scenario_world *world, const struct scenario *scenario,
                         int32_t i, const struct predict_device *device, int32_t tp,
                         struct perf *perf);
/* MuxServe's reference times on such devices. */
void scenario_world_base(const struct perf *perf, struct score_base *base);
/* Checks that every service that the scenario describes is in one of these worlds, since its
 * settings would be ignored otherwise. */
enum status scenario_world_check(struct scenario_world *const *worlds, int n_worlds,
                                 const struct scenario *scenario, struct fault *fault) MUST_USE;
void scenario_world_close(struct scenario_world *world);
/* Prints which services are where, a line per kind of engine. */
void scenario_world_print(const struct scenario_world *world, struct doc *out);
