/* A scheduler for tests that uses all abilities of an engine: each service on a lane of its own,
 * padded batches with seats of ended members, preemption by swap and by recompute. The time of the
 * plan seeds the choice between them; otherwise it plans as fcfs does. Lane 1 + s is service
 * s's. */
#pragma once
#include "schedule/policy.h"

extern const struct schedule_policy duress_policy;
/* Plans as fcfs, and holds what it can hold for some rounds, whether other requests wait or not. */
extern const struct schedule_policy rounds_policy;
