/* Engines of a scenario that are groups of ranks (`ranks:`): the cores of each rank, and their
 * times from a profile that has sums over ranks (predict/group.h). */
#pragma once
#include "predict/profile.h"
#include "scenario/scenario.h"

struct scenario_ranks; /* what a profile knows of ranks, with its times scaled */
struct scenario_ranks *scenario_ranks_open(const struct predict_profile *profile, double factor);
void scenario_ranks_close(struct scenario_ranks *ranks); /* NULL is fine */

/* Returns the cores of one device of this kind; 0: it is not a device of cores. */
int32_t scenario_ranks_cores(const char *device);
/* Checks that the group can be ranks: equal numbers of cores, without lanes of its own. device: of
 * the group. It is fine for a group without ranks. */
enum status scenario_ranks_check(const struct scenario_group *group, const char *device,
                                 struct fault *fault) MUST_USE;
/* Sets a service's times on the group. ranks: of its profile, NULL if it has none. name: for
 * faults. */
enum status scenario_ranks_perf(const struct scenario_ranks *ranks,
                                const struct scenario_group *group, const char *device,
                                const char *name, struct perf *perf, struct fault *fault) MUST_USE;
