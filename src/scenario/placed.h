/* A simulation whose engines a planner places: a scenario with `nodes:` instead of `engines:`, and
 * whether its models move (sim/replan.h). */
#pragma once
#include "scenario/desk.h"
#include "sim/replan.h"

struct scenario_placed {
    struct scenario_desk desk;
    struct place_plan plan;
    struct perf *perfs;            /* (n_kinds * PLACE_DEGREES, n_services) */
    struct sim_engine_part *parts; /* (n_engines, n_services); NULL: models move */
    struct sim_replan_options replace;
    double plan_s; /* that the first plan took */
};
struct scenario_placed_ask {
    const struct scenario *scenario;
    struct scenario_world_ask world; /* seed and rate of the case */
    struct score_rule rule;          /* what is in time */
};
/* Plans on the workload's first window (5,000 requests, or half of them), as `shoal plan` does.
 * Then makes the engines of the world, whose services are open. options: its policies are chosen;
 * this sets its engines and its re-placement, which lie in placed and world. Close it even after a
 * fault. */
enum status scenario_placed_open(struct scenario_placed *placed, struct scenario_world *world,
                                 const struct scenario_placed_ask *ask, struct sim_options *options,
                                 struct fault *fault) MUST_USE;
void scenario_placed_close(struct scenario_placed *placed);
