/* The order of arrival, as the engine keeps it, for struct schedule_order; and the parts of fcfs,
 * for policies that differ from it in their settings alone. */
#pragma once
#include "schedule/policy.h"

uint32_t schedule_fcfs_first(const void *state, const struct schedule_view *view, int service);
uint32_t schedule_fcfs_next(const void *state, const struct schedule_view *view, uint32_t slot);
bool schedule_fcfs_is_before(const void *state, const struct schedule_view *view, uint32_t a,
                             uint32_t b);

size_t schedule_fcfs_state_bytes(const struct schedule_limits *limits);
void schedule_fcfs_open(void *state, const struct schedule_limits *limits,
                        const struct schedule_config *config);
void schedule_fcfs_plan(const void *state, const struct schedule_view *view,
                        struct schedule_plan *plan);
void schedule_fcfs_saw(void *state, const struct schedule_view *view,
                       const struct schedule_event *event);
