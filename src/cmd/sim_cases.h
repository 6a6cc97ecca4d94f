/* Runs many simulations at once. Each case has its own world, and gives the same result on any
 * thread. */
#pragma once
#include "cmd/sim_world.h"

struct sim_case {
    /* In. */
    const char *label; /* a preset or a policy */
    uint64_t seed;     /* 0: the workload's */
    double rate_scale;
    struct score_rule rule;
    double packed_rate_scale; /* as in struct sim_world_ask */
    int32_t n_engines;        /* instead of the scenario's; 0: the scenario's */
    /* Contents of its files, for mem_give; NULL: none. The caller writes csv and series. */
    char *csv, *series, *trace, *log_engine;
    /* Out. */
    bool is_run;
    bool is_refused; /* the case is wrong in itself, so no run could work */
    struct sim_world world;
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
bool sim_cases_run(const struct scenario *scenario, struct sim_case *cases, size_t n);
void sim_cases_close(struct sim_case *cases, size_t n);
struct sim_choice { /* what a label stands for */
    struct schedule_config schedule;
    struct route_config route;
    struct length_config lengths;
    struct schedule_lane lanes[LIMIT_LANES];
};
/* Finds the policies of a label: a preset, POLICY or POLICY/ROUTER, and perhaps @PREDICTOR, which
 * overrides the scenario's. Sets policy, router, predictor, lanes and their configurations in
 * options; these lie in choice. Without a named predictor, the noise of the workload in options, if
 * any, sets it. */
enum status sim_cases_choose(const struct scenario *scenario, const char *label,
                             struct sim_choice *choice, struct sim_options *options,
                             struct fault *fault) MUST_USE;
/* Reads "seallm-solo:5", "seallm-mean:8", "muxserve:8", "aladdin", "uellm", "service". It is also a
 * fault if the rule compares with targets and slo, every service's, has none. */
enum status sim_cases_rule(const char *text, const struct service_slo *slo, struct score_rule *rule,
                           struct fault *fault) MUST_USE;
/* Uses the scenario's rule, so one of its services must have a target. */
enum status sim_cases_rule_of(const struct scenario *scenario, struct score_rule *rule,
                              struct fault *fault) MUST_USE;
