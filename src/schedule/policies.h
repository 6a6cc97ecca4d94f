/* The room's table: a row for each policy, whose own file has everything else. Help and documents
 * list them in this order. */
#pragma once
#include "schedule/policy.h"

/* clang-format off */
#define SCHEDULE_POLICIES(ROW) \
    ROW(fcfs) \
    ROW(fcfs_temporal) \
    ROW(rr) \
    ROW(db_literal) \
    ROW(db_turn) \
    ROW(db_share) \
    ROW(db_exact) \
    ROW(db_mlfq) \
    ROW(mux_adbs) \
    ROW(mux_rr) \
    ROW(mux_fcfs) \
    ROW(lease_scls_cb) \
    ROW(ils_reserve) \
    ROW(ils_fastgen) \
    ROW(static_sls) \
    ROW(static_cohort) \
    ROW(value_policy)
/* clang-format on */

#define ROW(name) extern const struct schedule_policy schedule_##name;
SCHEDULE_POLICIES(ROW)
#undef ROW
