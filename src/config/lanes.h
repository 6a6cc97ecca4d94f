/* An engine's lanes: lane 0 has all of its cores, the others whole cores in proportion to shares.
 */
#pragma once
#include "config/config.h"
#include "schedule/policy.h"

struct lanes {
    int32_t n; /* with lane 0; 1 = there are no others */
    struct schedule_lane shares[LIMIT_LANES];
    struct device_spec devices[LIMIT_LANES]; /* the cores of each */
};
/* Of a policy that plans for lanes of its own, when nobody says otherwise: equal ones, unless they
 * would be lanes of cores and it wants none. Else NULL. */
const char *const *config_lanes_usual(const struct schedule_policy *policy, bool of_cores, int *n);
/* The whole, then parts of a device that is cut as finely as wanted. lanes: (LIMIT_LANES). */
enum status config_lanes_of_shares(const char *const *shares, int n_shares,
                                   struct schedule_lane *lanes, int32_t *n_lanes,
                                   struct fault *fault) MUST_USE;
/* A sentence when the shares are no numbers from 1 to 1000, or more than there are cores. */
enum status config_lanes_make(struct lanes *lanes, const struct device_spec *device,
                              const char *const *shares, int n_shares,
                              struct fault *fault) MUST_USE;
