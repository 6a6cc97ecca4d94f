/* A scheduler for tests that uses all that an engine can do: each service on a lane of its own,
 * padded batches with seats of members that ended, preemption by swap and by recompute. Which, is
 * drawn from the time of the plan; otherwise it plans as fcfs does. Lane 1 + s is service s's. */
#pragma once
#include "schedule/policy.h"

extern const struct schedule_policy duress_policy;
