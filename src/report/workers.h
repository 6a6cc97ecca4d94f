/* shoal plan CLUSTER WORKLOAD --workers: the best worker of each service (Aladdin's Equation 6). */
#pragma once
#include "scenario/problem.h"

/* What of the window planned on each service needs: devices a worker, and workers. */
void report_workers_text(const struct scenario_problem *of, const struct scenario *scenario,
                         struct str *out);
void report_workers_json(const struct scenario_problem *of, const struct scenario *scenario,
                         struct str *out);
