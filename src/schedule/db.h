/* The state of the doubling-budget policies, in one block of memory. Only db*.c include it.
 *
 * Ranks (ranks.h) keep the requests in order: a request's key is its priority, then its budget Q,
 * or its level under mlfq. L-hat enters when services are compared. db-share adds buckets of device
 * time, leases and quotas. */
#pragma once
#include "schedule/lease.h"
#include "schedule/quota.h"
#include "schedule/share.h"
#include "schedule/starve.h"

enum db_variant { DB_LITERAL, DB_TURN, DB_SHARE, DB_EXACT, DB_MLFQ };
/* Returns whether waiting and running requests of a service compete, batch against batch. */
static inline bool db_is_by_phase(enum db_variant variant)
{
    return variant == DB_LITERAL || variant == DB_MLFQ;
}
struct db {
    struct schedule_ranks ranks; /* first, because orders get it as their state */
    struct schedule_starve starve;
    enum db_variant variant;
    int64_t n_steps; /* mlfq: batches since idle requests were last looked for */
    /* db-share. */
    int64_t next_share_ns;
    struct share_bucket *buckets;   /* (n_services) */
    struct schedule_lease *by_slot; /* (n_requests_max) */
    struct schedule_leases leases;
    struct schedule_quota quota;
};
/* Returns the state with the ranks that an order got. */
static inline const struct db *db_of(const void *ranks)
{
    return ranks;
}
size_t schedule_db_state_bytes(const struct schedule_limits *limits);
void schedule_db_state_open(void *state, const struct schedule_limits *limits,
                            const struct schedule_config *config, enum db_variant variant);
void schedule_db_state_saw(void *state, const struct schedule_view *view,
                           const struct schedule_event *event);
/* mlfq: returns the device time that a request may have at its level before it sinks. */
int64_t schedule_db_state_quantum_ns(const struct db *db, int level);
