/* Makes a scenario of a plan, so that `shoal sim` and the papers' claims run the result of `shoal
 * plan`. */
#pragma once
#include "scenario/problem.h"

/* Sets out to the settings that the plan was made under, its services, and its engines as groups.
 * It owns all of its texts. The caller closes out also after a fault, which means that the plan
 * leaves a service out, or is too large for a scenario. */
enum status scenario_plan(const struct scenario_problem *of, const struct scenario *scenario,
                          const struct place_plan *plan, struct scenario *out,
                          struct fault *fault) MUST_USE;
