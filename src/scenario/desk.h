/* Makes and weighs plans: a scenario with `nodes:` becomes a problem, and the simulator under the
 * scenario's policies is the judge. `shoal plan` and `shoal repro` plan here. */
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
/* The scenario is lent until the desk is closed. Close the desk even after a fault. */
enum status scenario_desk_open(struct scenario_desk *desk, const struct scenario *scenario,
                               struct plan_spans spans, struct fault *fault) MUST_USE;
void scenario_desk_close(struct scenario_desk *desk);
/* Opens another cluster for the same services, which uses data that the first one owns. Close it
 * too. */
void scenario_desk_fork(struct scenario_desk *desk, const struct scenario_desk *from,
                        const struct place_problem *problem);

struct plan_option {   /* a plan that was weighed */
    const char *label; /* its planner */
    struct place_plan plan;
    struct place_score planned, after; /* with lent services: (n_services) */
    double plan_s;                     /* wall time that planning took */
};
struct plan_search {
    double effort;             /* 1: the usual time */
    bool is_seen;              /* progress goes to the error output */
    struct place_plan *second; /* see struct place_desk */
};
/* Opens a judge under the desk's rule and simulation options. The problem must be open, because it
 * then learns whether plans may divide engines. */
void scenario_desk_open_judge(struct scenario_desk *desk);
/* Plans and scores on both windows. */
void scenario_desk_plan(struct scenario_desk *desk, const struct place_planner *planner,
                        const struct plan_search *search, struct plan_option *option);
/* Scores a plan that is there already. */
void scenario_desk_score(struct scenario_desk *desk, const char *label,
                         const struct place_plan *plan, struct plan_option *option);
