/* The state of the doubling-budget policies. For db.c and db_state.c alone.
 *
 * One block of memory: this struct, the services, a record and two tree nodes per slot. Waiting
 * requests of a service stand in two trees (by key, by when they were last served); of the running
 * ones only the first by key and the longest unserved are kept, found anew after each batch. A
 * request's key is its priority, then its budget Q (mlfq: its level); L-hat enters when services
 * are compared. */
#pragma once
#include "base/tree.h"
#include "schedule/lease.h"
#include "schedule/quota.h"
#include "schedule/share.h"
#include "schedule/value.h"

enum db_variant { DB_LITERAL, DB_TURN, DB_SHARE, DB_EXACT, DB_MLFQ, DB_VALUE };
/* Do waiting and running requests of a service compete, batch against batch? */
static inline bool db_is_by_phase(enum db_variant variant)
{
    return variant == DB_LITERAL || variant == DB_MLFQ;
}

/* Does it promote by deadline and guard targets per token? */
static inline bool db_has_guards(enum db_variant variant)
{
    return variant == DB_SHARE || variant == DB_VALUE;
}

struct db_slot {
    int64_t budget_ps;   /* Q; db-exact: what it still needs alone */
    int64_t spent_ps;    /* charged since it started or was started again; mlfq: at this level */
    uint64_t seq;        /* of arrival here: ties; mlfq: of joining its level */
    int64_t attained_ps; /* work done in all, as if alone: value */
    uint8_t level;
    bool is_waiting, is_late;
};
struct db_service {
    struct tree waiting;  /* by key */
    struct tree unserved; /* the same requests, by served_ns */
    uint32_t best;        /* running: the smallest key */
    uint32_t oldest;      /* running: the longest unserved */
    struct tree urgent;   /* waiting requests with a deadline, by the last time to begin */
    uint32_t most_urgent; /* running: the one whose last time to begin is the earliest */
    int64_t best_key, oldest_ns, begin_by_ns; /* theirs */
    struct share_bucket bucket;
    struct tree in_time;           /* value: waiting requests that are not late, by when they are */
    uint64_t waiting_ns_sum;       /* value: arrivals of those that wait, modulo 2^64 */
    struct schedule_value running; /* value: what its running requests are worth */
};
struct db {
    struct schedule_config config;
    enum db_variant variant;
    int32_t n_services;
    uint64_t seq;
    int64_t next_share_ns;
    int64_t n_steps;             /* mlfq: batches since requests that idle were last looked for */
    struct db_service *services; /* into this same block, as all that follow */
    struct db_slot *slots;
    struct tree_node *key_nodes, *unserved_nodes, *urgent_nodes, *in_time_nodes;
    struct schedule_lease *by_slot; /* (n_requests_max) */
    struct schedule_leases leases;
    struct schedule_quota quota;
};
size_t schedule_db_state_bytes(const struct schedule_limits *limits);
void schedule_db_state_open(void *state, const struct schedule_limits *limits,
                            const struct schedule_config *config, enum db_variant variant);
void schedule_db_state_saw(void *state, const struct schedule_view *view,
                           const struct schedule_event *event);
/* mlfq: device time that a request may have at its level before it sinks. */
int64_t schedule_db_state_quantum_ns(const struct db *db, int level);
/* When it must begin, or go on, to end by its deadline if it runs alone; INT64_MAX: no deadline. */
int64_t schedule_db_state_begin_by_ns(const struct schedule_view *view, const struct request *r);
/* Value of serving this service next. */
double schedule_db_state_value(const struct db *db, const struct schedule_view *view, int service,
                               bool may_start);
/* A fresh budget B of the service. */
int64_t schedule_db_state_budget_ps(const struct schedule_service *service);
