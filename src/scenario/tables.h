/* The times of a scenario's services beyond a line: measured tables, and what the host adds. */
#pragma once
#include "predict/costs.h"
#include "predict/points.h"
#include "scenario/scenario.h"

/* Times come from one place, and what says how a profile or tables are read needs them: has_profile
 * where the scenario or --profile names one. */
enum status scenario_tables_check(const struct scenario_service *service, bool has_profile,
                                  struct fault *fault) MUST_USE;
/* Reads a service's tables, with its host's terms. Free costs with costs_free also after a fault.
 * perf is a line of them, for those who plan. */
enum status scenario_tables_open(const struct scenario_service *service, struct costs *costs,
                                 struct perf *perf, struct fault *fault) MUST_USE;
/* Makes all times of a linear model longer by a factor. */
void scenario_tables_scale(double factor, struct perf *perf);
void scenario_tables_host_points(const struct scenario_host *host, struct perf_points *points);
/* Adds the host's terms to a linear model, which stays linear: a request of a prompt's batch costs
 * nothing beside its tokens there. */
void scenario_tables_add_host(const struct scenario_host *host, struct perf *perf);
