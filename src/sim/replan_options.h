/* Adaptive re-placement: what is asked of it, and what it reports. */
#pragma once
#include "metrics/score.h"
#include "monitor/monitor.h"
#include "place/planner.h"
#include "place/replace.h"

enum { SIM_REPLAN_WINDOW = 5000 };
struct sim_replan_settings {
    struct replace_config config;
    struct replace_links links;
    int64_t plan_ns;  /* from the end of a window until its plan is known: 3 s */
    int32_t n_window; /* requests of a window at most: SIM_REPLAN_WINDOW */
    double effort;    /* of the planner: 1 */
    bool watches_kv; /* place/watch.h: KV that is wanted for 30 s and missing triggers a plan before
                        the interval is over, least_ns after the last one: false */
    bool is_off;     /* the first plan stays */
};
struct sim_replan_options { /* all pointers are lent */
    struct sim_replan_settings settings;
    /* The cluster, and the simulation's services in their order; its window is not used. */
    const struct place_problem *problem;
    const struct place_plan *plan; /* the first plan: every service is placed */
    struct replace_score foretold; /* by that plan */
    const struct place_planner *planner;
    uint64_t seed;
    struct score_rule rule;
    const struct score_service *services; /* (n_services) targets for the rule; NULL: none */
    int n_threads;                        /* threads that simulate plans; 0: one per core */
};
struct sim_replan_report {
    int64_t n_plans, n_moves; /* planned anew, and installed */
    int64_t n_verdicts[4];    /* enum replace_verdict */
    int64_t n_alarms;         /* plans that missing KV triggered */
    int64_t n_worse;          /* plans that leave out a service */
    int64_t n_returned;       /* requests that a move returned to the gateway */
    int64_t loaded_bytes, fetched_bytes;
    int64_t away_ns;        /* device time of what was loading */
    int64_t unavailable_ns; /* summed over services: in no engine at all */
    /* Sums over moves, as parts of the old plan's normalized latency, and of all requests those in
     * time. They are simulated on the window of the plan, and on the next one, for n_judged
     * moves. */
    int64_t n_judged;
    double promised_latency, got_latency, promised_attainment, got_attainment;
    int64_t interval_ns; /* the last one */
};
