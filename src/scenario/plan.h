/* A plan as a scenario, so that `shoal sim` runs what `shoal plan` said. */
#pragma once
#include "scenario/problem.h"

/* The engines of a plan as a scenario: the cluster's own settings, then `engines:`. */
enum status scenario_plan(const struct scenario_problem *of, const struct scenario *scenario,
                          const struct place_plan *plan, struct str *out,
                          struct fault *fault) MUST_USE;
