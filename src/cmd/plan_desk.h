/* Makes and weighs plans: a scenario with `nodes:` becomes a problem, and the simulator under the
 * scenario's policies is the judge. `shoal plan` and `shoal repro` plan here. */
#pragma once
#include "cmd/plan_report.h"
#include "cmd/sim_cases.h"
#include "place/planner.h"
#include "sim/judge.h"

struct plan_desk {
    const struct scenario *scenario;
    struct plan_problem of;
    struct score_rule rule;
    struct sim_choice choice;
    struct sim_options sim;
    struct sim_judge *judge;
    struct pile pile; /* what plans live in */
    bool is_fork;
};
/* The scenario is lent until the desk is closed. Close the desk even after a fault. */
enum status plan_desk_open(struct plan_desk *desk, const struct scenario *scenario,
                           struct plan_spans spans, struct fault *fault) MUST_USE;
void plan_desk_close(struct plan_desk *desk);
/* Opens another cluster for the same services, which uses data that the first one owns. Close it
 * too. */
void plan_desk_fork(struct plan_desk *desk, const struct plan_desk *from,
                    const struct place_problem *problem);

struct plan_search {
    double effort;             /* 1: the usual time */
    bool is_seen;              /* progress goes to the error output */
    struct place_plan *second; /* see struct place_desk */
};
/* Opens a judge under the desk's rule and simulation options. The problem must be open, because it
 * then learns whether plans may divide engines. */
void plan_desk_open_judge(struct plan_desk *desk);
/* Plans and scores on both windows. */
void plan_desk_plan(struct plan_desk *desk, const struct place_planner *planner,
                    const struct plan_search *search, struct plan_option *option);
/* Scores a plan that is there already. */
void plan_desk_score(struct plan_desk *desk, const char *label, const struct place_plan *plan,
                     struct plan_option *option);
