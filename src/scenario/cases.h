/* Runs many simulations at once. Each case has its own world, and gives the same result on any
 * thread. */
#pragma once
#include "scenario/world.h"

struct scenario_case {
    /* In. */
    const char *label; /* a preset or a policy */
    uint64_t seed;     /* 0: the workload's */
    double rate_scale;
    struct score_rule rule;
    double packed_rate_scale; /* as in struct scenario_world_ask */
    int32_t n_engines;        /* instead of the scenario's; 0: the scenario's */
    /* Contents of its files, for mem_give; NULL: none. The caller writes csv and series. */
    char *csv, *series, *trace, *log_engine;
    /* Out. */
    bool is_run;
    bool is_refused; /* the case is wrong in itself, so no run could work */
    struct scenario_world world;
    struct record_set set;
    struct score *scores; /* (n_services + 1) */
    struct sim_report report;
    const char *predictor;
    enum kv_kind kv; /* of its engines' pools, and how they are cut */
    int64_t unit_bytes;
    struct kv_layout layouts[LIMIT_SERVICES];
    uint64_t hash;      /* of the records */
    struct fault fault; /* its text is empty when all went well */
};
/* Runs them all. Returns false when one could not run, with the reason in its fault. */
bool scenario_cases_run(const struct scenario *scenario, struct scenario_case *cases, size_t n);
void scenario_cases_close(struct scenario_case *cases, size_t n);
