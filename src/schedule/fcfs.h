/* The order of arrival, as the engine keeps it, for struct schedule_order. */
#pragma once
#include "schedule/policy.h"

uint32_t schedule_fcfs_first(const void *state, const struct schedule_view *view, int service);
uint32_t schedule_fcfs_next(const void *state, const struct schedule_view *view, uint32_t slot);
bool schedule_fcfs_is_before(const void *state, const struct schedule_view *view, uint32_t a,
                             uint32_t b);
