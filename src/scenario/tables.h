/* Times of a scenario's services that are not linear: measured tables, and the host's terms. */
#pragma once
#include "predict/costs.h"
#include "predict/points.h"
#include "scenario/scenario.h"

/* Checks that times come from one source, and that keys about reading a profile or tables have one.
 * has_profile: the scenario or --profile names one. */
enum status scenario_tables_check(const struct scenario_service *service, bool has_profile,
                                  struct fault *fault) MUST_USE;
/* Reads a service's tables, with its host's terms. Free costs with costs_free even after a fault.
 * perf is a line through them, for planners. */
enum status scenario_tables_open(const struct scenario_service *service, struct costs *costs,
                                 struct perf *perf, struct fault *fault) MUST_USE;
/* Multiplies all times of a linear model by a factor. */
void scenario_tables_scale(double factor, struct perf *perf);
void scenario_tables_host_points(const struct scenario_host *host, struct perf_points *points);
/* Adds the host's terms to a linear model, which stays linear. A request in a batch of prompts then
 * costs nothing beside its tokens. */
void scenario_tables_add_host(const struct scenario_host *host, struct perf *perf);
