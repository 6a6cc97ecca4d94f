/* Resolves the names in a scenario. */
#pragma once
#include "scenario/scenario.h"
#include "sim/sim.h"

struct scenario_choice { /* what a label stands for */
    struct schedule_config schedule;
    struct route_config route;
    struct length_config lengths;
    struct schedule_lane lanes[LIMIT_LANES];
};
/* Finds the policies of a label: a preset, POLICY or POLICY/ROUTER, and perhaps @PREDICTOR, which
 * overrides the scenario's. Sets policy, router, predictor, lanes and their configurations in
 * options; these lie in choice. Without a named predictor, the noise of the workload in options, if
 * any, sets it. */
enum status scenario_choice_make(const struct scenario *scenario, const char *label,
                                 struct scenario_choice *choice, struct sim_options *options,
                                 struct fault *fault) MUST_USE;
/* Makes the scenario's rule of being in time. One of its services must have a target. */
enum status scenario_choice_rule(const struct scenario *scenario, struct score_rule *rule,
                                 struct fault *fault) MUST_USE;
