/* Measures sums over groups of ranks on this machine's cores, for `shoal profile`. */
#pragma once
#include "core/device.h"
#include "predict/group.h"

/* Measures groups of 2, 4 and 8 ranks with one thread each on cores of the device, as far as it has
 * cores. Sets group->sums and n_sums. It takes about budget_ns for each. Returns a fault when the
 * system gives no memory to share. */
enum status run_sums(const struct device_spec *device, int64_t budget_ns,
                     struct predict_group *group, struct fault *fault) MUST_USE;
