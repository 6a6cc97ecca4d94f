/* Where plans are made and weighed: a scenario with `nodes:` as a problem, and the simulator under
 * the scenario's policies as the judge. `shoal plan` and `shoal repro` plan here. */
#pragma once
#include "place/planner.h"
#include "scenario/choice.h"
#include "scenario/problem.h"
#include "sim/judge.h"

struct scenario_desk {
    const struct scenario *scenario;
    struct scenario_problem of;
    struct score_rule rule;
    struct scenario_choice choice;
    struct sim_options sim;
    struct sim_judge *judge;
    struct pile pile; /* what plans live in */
    bool is_fork;
};
/* The scenario is lent until it is closed. To be closed also after a fault. */
enum status scenario_desk_open(struct scenario_desk *desk, const struct scenario *scenario,
                               struct plan_spans spans, struct fault *fault) MUST_USE;
void scenario_desk_close(struct scenario_desk *desk);
/* Another cluster for the same services: what it lends stays the first one's. To be closed. */
void scenario_desk_fork(struct scenario_desk *desk, const struct scenario_desk *from,
                        const struct place_problem *problem);

struct plan_option {   /* a plan that was weighed */
    const char *label; /* its planner */
    struct place_plan plan;
    struct place_score planned, after; /* services lent: (n_services) */
    double plan_s;                     /* wall time that planning took */
};
struct plan_search {
    double effort;             /* 1: as long as usual */
    bool is_seen;              /* progress goes to the error output */
    struct place_plan *second; /* see struct place_desk */
};
/* A judge under the desk's rule and simulation options, once its problem is open, which learns
 * whether plans may divide engines. */
void scenario_desk_open_judge(struct scenario_desk *desk);
/* Plans and scores on both windows. */
void scenario_desk_plan(struct scenario_desk *desk, const struct place_planner *planner,
                        const struct plan_search *search, struct plan_option *option);
/* Scores a plan that is there already. */
void scenario_desk_score(struct scenario_desk *desk, const char *label,
                         const struct place_plan *plan, struct plan_option *option);
