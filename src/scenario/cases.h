/* Many simulations at once: each case is its own world, run on any thread, with the same result. */
#pragma once
#include "scenario/world.h"

struct scenario_case {
    /* In. */
    const char *label; /* a preset or a policy */
    uint64_t seed;     /* 0: the workload's */
    double rate_scale;
    struct score_rule rule;
    double packed_rate_scale; /* as in struct scenario_world_ask */
    int32_t n_engines;        /* in the place of the scenario's; 0: as that says */
    /* Files that it writes, for mem_give; NULL: none. csv and series are the caller's to write. */
    char *csv, *series, *trace, *log_engine;
    /* Out. */
    bool is_run;
    bool is_refused; /* what was said is wrong in itself: nothing that there is could run it */
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
/* Runs them all; false when one could not be run: its fault says why. */
bool scenario_cases_run(const struct scenario *scenario, struct scenario_case *cases, size_t n);
void scenario_cases_close(struct scenario_case *cases, size_t n);
