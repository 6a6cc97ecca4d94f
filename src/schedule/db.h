/* Doubling budget and related policies: the service whose request has the smallest Q L-hat goes
 * first (SeaLLM section 4.3, corrected as docs/ALGORITHMS.md 1.3 and 1.4 explain). A policy is a
 * file db_NAME.c with its rules. Only db*.c include this header: the state, in one block of memory.
 *
 * Ranks (ranks.h) keep the requests in order: a request's key is its priority, then its budget Q,
 * or its level under mlfq. L-hat enters when services are compared. Budgets are charged by
 * charge.h. db-share adds buckets of device time, leases and quotas.
 *
 * Starvation: the rule, the residences and the bound of starve.h, unless the rules say otherwise.
 */
#pragma once
#include "schedule/lease.h"
#include "schedule/quota.h"
#include "schedule/share.h"
#include "schedule/starve.h"

struct db;
struct schedule_db_rules { /* NULL and false: as the doubling budget */
    bool is_by_phase;      /* waiting and running requests compete, batch against batch */
    bool may_starve;       /* the bound of starve.h does not hold */
    bool keeps_spent;      /* what a request has spent counts on after it has started again */
    /* Returns the orders of running requests that it needs; NULL: DB_ORDERS. */
    unsigned (*orders)(const struct schedule_config *config);
    /* Order requests of a service: a key that ranks keep, and what decides between two. */
    int64_t (*key)(const struct db *db, const struct schedule_view *view, uint32_t slot);
    bool (*is_before)(const void *state, const struct schedule_view *view, uint32_t a, uint32_t b);
    /* Orders the first requests of services. */
    int64_t (*pick_key)(const struct db *db, uint32_t slot);
    /* Is a waiting request in the list of those that were not served? NULL: all are. */
    bool (*is_unserved)(const struct db *db, uint32_t slot);
    /* Services that it accepts go before the others; NULL: all are alike. */
    bool (*is_eligible)(const struct db *db, const struct schedule_view *view, int service);
    /* Changes the fill before a plan; true: the plan is made. */
    bool (*begin)(struct schedule_fill *fill, struct schedule_order *order, const struct db *db);
    /* Limits the batches of requests that do not starve: all of them, and those of a service. */
    void (*limit)(struct schedule_fill *fill, const struct db *db);
    void (*guard)(struct schedule_fill *fill, const struct db *db, int service);
    /* Returns until when a batch may be held. */
    int64_t (*until_ns)(const struct db *db, const struct schedule_view *view,
                        struct schedule_fill *fill);
    /* Events: each sets or changes what keys depend on. */
    void (*arrived)(struct db *db, const struct schedule_view *view, uint32_t slot);
    void (*preempted)(struct db *db, const struct schedule_view *view, uint32_t slot);
    void (*charge)(struct db *db, const struct schedule_view *view,
                   const struct schedule_event *event);
    void (*charged)(struct db *db, const struct schedule_view *view,
                    const struct schedule_event *event); /* after the orders are right again */
    void (*saw)(struct db *db, const struct schedule_view *view,
                const struct schedule_event *event); /* after every event */
};
struct db {
    struct schedule_ranks ranks; /* first, because orders get it as their state */
    struct schedule_starve starve;
    const struct schedule_db_rules *rules;
    int64_t n_steps; /* mlfq: batches since idle requests were last looked for */
    /* db-share. */
    int64_t next_share_ns;
    struct share_bucket *buckets;   /* (n_services) */
    struct schedule_lease *by_slot; /* (n_requests_max) */
    struct schedule_leases leases;
    struct schedule_quota quota;
};
enum { DB_ORDERS = 1 << RANKS_BEST | 1 << RANKS_LAST | 1 << RANKS_OLDEST | 1 << RANKS_SPENT };

/* Returns the state with the ranks that an order got. */
static inline const struct db *db_of(const void *ranks)
{
    return ranks;
}
void schedule_db_plan(const void *state, const struct schedule_view *view,
                      struct schedule_plan *plan);
size_t schedule_db_state_bytes(const struct schedule_limits *limits);
void schedule_db_state_open(void *state, const struct schedule_limits *limits,
                            const struct schedule_config *config,
                            const struct schedule_db_rules *rules);
void schedule_db_state_saw(void *state, const struct schedule_view *view,
                           const struct schedule_event *event);
/* Lets a request wait, in the order of its key. */
void schedule_db_state_wait(struct db *db, const struct schedule_view *view, uint32_t slot);
/* Sets the request's key after what it depends on has changed. */
void schedule_db_state_set_key(struct db *db, const struct schedule_view *view, uint32_t slot);
/* The part of a policy's row that all of them share. */
#define SCHEDULE_DB_MECHANISM                                                                      \
    .state_bytes = schedule_db_state_bytes, .plan = schedule_db_plan, .saw = schedule_db_state_saw
