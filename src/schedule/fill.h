/* Fills a batch: the part that all policies share, once they know which request to serve.
 *
 * A policy names a service, and perhaps one request that must be in the batch. Fill takes requests
 * of that service within the limits of one batch and of a copy of the pool's budget.
 *
 * Prompts come first. With chunk_tokens 0 a batch holds prompts, else decodes; with chunks it holds
 * the decodes and as many prompt tokens as a chunk allows beside them. If running requests lack
 * blocks and nothing is in flight, it names victims instead, in the policy's order, and the plan
 * holds only those. */
#pragma once
#include "schedule/booked.h"
#include "schedule/busy.h"

typedef bool (*schedule_may_go)(const void *state, const struct schedule_view *view, uint32_t slot);

enum { FILL_KNOWN_MAX = 8 };
/* How a policy ranks requests. */
struct schedule_order {
    const void *state;
    /* Return the waiting requests of a service, best first; SCHEDULE_NONE at the end. */
    uint32_t (*first)(const void *state, const struct schedule_view *view, int service);
    uint32_t (*next)(const void *state, const struct schedule_view *view, uint32_t slot);
    /* A total order over running requests of all services. The last one is preempted first. */
    bool (*is_before)(const void *state, const struct schedule_view *view, uint32_t a, uint32_t b);
    /* Returns the last but n running request of a service by is_before; SCHEDULE_NONE: unknown, or
     * no more run. NULL: all are searched. */
    uint32_t (*nth_last)(const void *state, const struct schedule_view *view, int service,
                         uint32_t n);
    /* Lists all running requests of the service that may_go permits, in any order. Returns their
     * number, or -1: unknown. NULL: unknown. */
    int (*find_who_may)(const void *state, const struct schedule_view *view, int service,
                        schedule_may_go may_go, uint32_t slots[FILL_KNOWN_MAX]);
    /* Returns what the service's running requests have booked in all; NULL: unknown. */
    const struct schedule_booked *(*booked)(const void *state, const struct schedule_view *view,
                                            int service);
    bool spares_service; /* at equal priority, victims come from other services first */
    /* Returns since when the request starves, if it has begun its residence (starve.h). Such a
     * request is preempted only if no other can be, and the one that starves for the shortest time
     * first. INT64_MAX: it has no residence. NULL: no request has one. */
    int64_t (*resides_since)(const void *state, const struct schedule_view *view, uint32_t slot);
    /* Returns the positions that are booked for a running request, or would be if it started now. A
     * request that starts fits beside what is booked. NULL: known tokens and, for running requests,
     * a block more. */
    int64_t (*books)(const void *state, const struct schedule_view *view, uint32_t slot);
};
enum schedule_fill_part {
    FILL_WAITING = 1,
    FILL_CATCHING_UP = 2, /* running, with more than one token to compute */
    FILL_DECODES = 4,
    FILL_RUNNING = FILL_CATCHING_UP | FILL_DECODES,
    FILL_ALL = FILL_WAITING | FILL_RUNNING,
};
enum schedule_filled { FILLED_NOTHING, FILLED_BATCH, FILLED_PREEMPTS };

struct schedule_fill {
    const struct schedule_view *view;
    const struct schedule_config *config;
    const struct schedule_order *order;
    struct schedule_plan *plan;
    uint16_t lane;       /* of the next batch; 0 at first */
    bool is_patient;     /* running requests without blocks are left out while others can go on */
    bool names_nobody;   /* FILLED_PREEMPTS without victims, since the policy names them */
    bool counts_decodes; /* n_batch_tokens_max is for prompts and decodes together */
    /* Quota: requests that start bring the service to n_units_most at most, or leave n_units_kept
     * free (INT64_MAX: no borrowing). */
    int64_t n_units_most, n_units_kept;
    int32_t n_seqs_most;     /* of the service that run when another starts */
    int64_t prefill_ps_most; /* alone, the prompts of one batch may take at most this long */
    int32_t n_rounds_most;   /* of a hold, beside the thresholds' */
    int32_t n_deep;          /* batches of a service in flight at once: the view's, on a pipeline */
    struct kv_budget budget; /* less what the batches take */
    struct kv_budget room;   /* what requests that start may take */
    enum { ROOM_UNKNOWN, ROOM_KNOWN, ROOM_NONE } room_state;
    struct schedule_fill_before { /* the budget before the batch: for its service, and for all */
        struct kv_budget_service service;
        int64_t n_units_free, n_units_cached, n_units_owed;
    } before;
    struct batch *batch;
    int32_t n_prompts;      /* items of the batch that catch up */
    int32_t n_new;          /* their tokens */
    int64_t n_blocks_short; /* that running requests lack */
    bool nobody_catches_up; /* for the batch's service, as far as is known */
};
/* Starts an empty plan, with the present budget. */
void schedule_fill_begin(struct schedule_fill *fill, const struct schedule_view *view,
                         const struct schedule_config *config, const struct schedule_order *order,
                         struct schedule_plan *plan);
/* Adds one more batch of the service, on fill->lane, by the prompts-first rule, from the given
 * parts. The request `must` (or SCHEDULE_NONE) comes first, and the limit of running requests does
 * not hold it back. */
enum schedule_filled schedule_fill_serve(struct schedule_fill *fill, int service, unsigned parts,
                                         uint32_t must);
/* Plans victims until about n_blocks blocks of the service are free. It never takes `keep`, nor a
 * request that may_go refuses (NULL = all may). Returns false, with nothing planned, when no victim
 * would help. */
bool schedule_fill_preempt(struct schedule_fill *fill, int service, int64_t n_blocks, uint32_t keep,
                           schedule_may_go may_go);
/* Returns whether a waiting request would find room beside the running ones. Call it between
 * batches. */
bool schedule_fill_fits(struct schedule_fill *fill, uint32_t slot);
/* Returns whether the pool's blocks suffice for all that running requests have booked. */
bool schedule_fill_has_room(struct schedule_fill *fill);
/* Returns the blocks that the request lacks to hold all its known tokens. */
int64_t schedule_fill_lacks(const struct schedule_view *view, uint32_t slot);
