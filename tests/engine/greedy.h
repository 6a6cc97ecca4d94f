/* A small policy for the engine's tests: first come, first served on every lane, with chunks,
 * preemption, several batches a plan, and holds. */
#pragma once
#include "schedule/policy.h"

extern const struct schedule_policy greedy_policy;
