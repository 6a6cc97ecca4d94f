/* Static batches: a batch runs from its prompts to its end, padded, and no request joins it
 * (docs/ALGORITHMS.md 4.3, 6.6). A policy is a file static_NAME.c, which chooses the members of the
 * next batch.
 *
 * One batch at a time, on the whole device. Its rows are padded to the longest prompt, and a member
 * that has ended keeps its seat until the batch is over. These invalid tokens cost what valid ones
 * cost. The batch is one plan of as many rounds as its longest member or its lease
 * (request.n_lease, the slice S) has left, so its members come back together. Prompts too many for
 * one round are computed in columns before. All blocks are reserved when it starts; members that do
 * not fit stay behind for the next batch.
 *
 * Starvation: batches start in the order in which their first member came. Once a batch is
 * complete, only those before it and the one in flight run before it. A member that is preempted
 * when the pool shrinks keeps its place. Within a model sls takes the requests of the highest
 * priority first, so beside those no bound is claimed. */
#pragma once
#include "base/tree.h"
#include "schedule/policy.h"

struct schedule_static_choice { /* members, in order; the seq of the first to arrive */
    int32_t n;
    uint16_t service;
    uint64_t seq;
    uint32_t *slots; /* (LIMIT_BATCH_ITEMS) scratch: the plan's preempts */
};
struct schedule_static;
/* Chooses the next batch; none when choice->n is 0. *until_ns: when to choose again if nothing
 * happens, lowered where that is sooner. */
typedef void schedule_static_choose(const struct schedule_static *b,
                                    const struct schedule_view *view,
                                    struct schedule_static_choice *choice, int64_t *until_ns);
struct schedule_static_seat { /* of a request */
    uint64_t seq;
    int64_t seen_ns;
    bool is_waiting, is_member;
};
struct schedule_static {
    struct schedule_config config;
    schedule_static_choose *choose;
    uint64_t seq;
    struct tree waiting; /* of cohorts, by cohort: members stand together */
    /* The batch that runs. */
    uint16_t service;
    int32_t n_seats, n_alive, n_long;   /* n_long: tokens of a row so far, pads included */
    uint32_t *members;                  /* (n_alive) slots */
    struct schedule_static_seat *seats; /* (n_requests_max) */
    struct tree_node *nodes;            /* (n_requests_max) */
};
size_t schedule_static_state_bytes(const struct schedule_limits *limits);
void schedule_static_open(void *state, const struct schedule_limits *limits,
                          const struct schedule_config *config, schedule_static_choose *choose);
void schedule_static_plan(const void *state, const struct schedule_view *view,
                          struct schedule_plan *plan);
void schedule_static_saw(void *state, const struct schedule_view *view,
                         const struct schedule_event *event);
/* The part of a policy's row that all of them share. */
#define SCHEDULE_STATIC_MECHANISM                                                                  \
    .pads_batches = true, .state_bytes = schedule_static_state_bytes,                              \
    .plan = schedule_static_plan, .saw = schedule_static_saw

/* Returns whether the request could run in an empty pool. A request too large for a pool that
 * shrinks for another model is skipped: it is returned, or has its turn when that is done. */
bool schedule_static_may_run(const struct schedule_view *view, uint32_t slot);
/* Chooses the first requests of the service that owns the earliest one; of one cohort, or
 * (leaves_cohorts) of none. */
void schedule_static_choose_first(const struct schedule_static *b, const struct schedule_view *view,
                                  bool leaves_cohorts, struct schedule_static_choice *choice);

/* Checks the batch's pads: no row may be longer than they say, and there must be at least as many
 * rows as members. Returns NULL, or what is wrong with them. */
const char *schedule_static_check(const struct schedule_view *view, const struct batch *batch);
