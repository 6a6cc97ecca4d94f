/* A plan as a scenario, so that `shoal sim` and the papers' claims run what `shoal plan` said. */
#pragma once
#include "scenario/problem.h"

/* The settings that the plan was made under, its services, and its engines as groups: a value that
 * owns all of its texts. out is to be closed also after a fault: a plan that leaves a service out,
 * or one too large for a scenario. */
enum status scenario_plan(const struct scenario_problem *of, const struct scenario *scenario,
                          const struct place_plan *plan, struct scenario *out,
                          struct fault *fault) MUST_USE;
