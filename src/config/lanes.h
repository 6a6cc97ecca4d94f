/* Divides an engine into lanes. Lane 0 has all of its cores, and the others have whole cores in
 * proportion to shares. A GPU divides its processors itself when it is opened. */
#pragma once
#include "config/config.h"
#include "schedule/policy.h"

struct lanes {
    int32_t n; /* with lane 0; 1 = no others */
    struct schedule_lane shares[LIMIT_LANES];
    struct device_spec devices[LIMIT_LANES]; /* the cores of each */
    int32_t parts[LIMIT_LANES - 1];          /* the given shares of lanes 1 and up */
};
/* Returns the usual lanes of a policy that plans for lanes, if no setting names others. They are
 * equal, unless they would be lanes of cores and it wants none. Returns NULL for other policies. */
const char *const *config_lanes_usual(const struct schedule_policy *policy, bool of_cores, int *n);
/* Makes the whole, then parts of a device that can be cut as finely as needed. lanes:
 * (LIMIT_LANES). */
enum status config_lanes_of_shares(const char *const *shares, int n_shares,
                                   struct schedule_lane *lanes, int32_t *n_lanes,
                                   struct fault *fault) MUST_USE;
/* Returns a fault when the shares are not numbers from 1 to 1000, or are more than the cores. A
 * GPU's lanes have the given shares until config_lanes_measure. */
enum status config_lanes_make(struct lanes *lanes, const struct device_spec *device,
                              const char *const *shares, int n_shares,
                              struct fault *fault) MUST_USE;
/* Sets the shares of lanes that the device has made: n_members are the processors of each. */
void config_lanes_measure(struct lanes *lanes, const int32_t *n_members);
