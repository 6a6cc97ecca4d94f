/* shoal plan CLUSTER WORKLOAD --workers finds the best worker of each service (Aladdin's Equation
 * 6). */
#pragma once
#include "scenario/problem.h"

/* Writes each service's need in the window that was planned on: devices per worker, and workers. */
void report_workers_text(const struct scenario_problem *of, const struct scenario *scenario,
                         struct str *out);
void report_workers_json(const struct scenario_problem *of, const struct scenario *scenario,
                         struct str *out);
