/* shoal plan CLUSTER WORKLOAD --workers finds the best worker of each service (Aladdin's Equation
 * 6). */
#pragma once
#include "cmd/plan_problem.h"

/* Writes each service's need in the window that was planned on: devices per worker, and workers. */
void plan_workers_text(const struct plan_problem *of, const struct scenario *scenario,
                       struct str *out);
void plan_workers_json(const struct plan_problem *of, const struct scenario *scenario,
                       struct str *out);
