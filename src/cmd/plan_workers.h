/* shoal plan CLUSTER WORKLOAD --workers: the best worker of each service (Aladdin's Equation 6). */
#pragma once
#include "cmd/plan_problem.h"

/* What of the window planned on each service needs: devices a worker, and workers. */
void plan_workers_text(const struct plan_problem *of, const struct scenario *scenario,
                       struct str *out);
void plan_workers_json(const struct plan_problem *of, const struct scenario *scenario,
                       struct str *out);
