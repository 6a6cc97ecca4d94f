/* The rows of the room's table. For the files of this room alone. */
#pragma once
#include "schedule/policy.h"

extern const struct schedule_policy schedule_fcfs, schedule_rr, schedule_db_literal,
    schedule_db_turn, schedule_db_share, schedule_db_exact, schedule_db_mlfq, schedule_value_policy,
    schedule_fcfs_temporal, schedule_mux_adbs, schedule_mux_rr, schedule_mux_fcfs,
    schedule_ils_reserve, schedule_ils_fastgen, schedule_lease_scls_cb, schedule_static_sls,
    schedule_static_cohort;

/* Order of arrival, as the engine keeps it: see struct schedule_order. */
uint32_t schedule_fcfs_first(const void *state, const struct schedule_view *view, int service);
uint32_t schedule_fcfs_next(const void *state, const struct schedule_view *view, uint32_t slot);
bool schedule_fcfs_is_before(const void *state, const struct schedule_view *view, uint32_t a,
                             uint32_t b);
