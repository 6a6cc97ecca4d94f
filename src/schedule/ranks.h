/* Ranks: the data of each request and of each service for policies that rank requests.
 *
 * Ranks keep the waiting requests of each service in trees: by a key that the policy gives, by the
 * time at which they were last served, and by the last time to begin for their deadlines. They also
 * keep the first few running requests by several orders (ranks_first.c), and the blocks that
 * running requests have booked. They decide nothing.
 *
 * The policy reports when a request arrives, waits, starts and leaves. After each batch it charges
 * the work of the members (charge.h), and then calls schedule_ranks_first_ran. Keys are the
 * policy's: schedule_ranks_key orders by priority first.
 *
 * Everything lies in the policy's block of memory: schedule_ranks_open takes its part from it. */
#pragma once
#include "base/tree.h"
#include "schedule/fill.h"
#include "schedule/work.h"

struct schedule_rank {   /* of a request, by slot */
    int64_t budget_ps;   /* Q, the doubling budget (charge.h); the policy may set it */
    int64_t spent_ps;    /* work since the policy last set it to 0 */
    uint64_t seq;        /* of arrival here; breaks ties. The policy may give it a new one */
    int64_t attained_ps; /* work since the arrival */
    int64_t key;         /* of a running request */
    int64_t arrived_ns;  /* copied from the request, so that one cache line has what orders need */
    uint32_t ran_in;     /* a batch, by ranks.n_batches, or 0 */
    uint32_t booked;     /* what it adds to its service's, see booked.h */
    int32_t resides_until; /* tokens at which its residence ends; 0: no residence (starve.h) */
    uint8_t level;         /* how often its budget has doubled, or as the policy sets it */
    bool is_waiting, has_deadline;
    bool is_unserved; /* it stands in its service's tree of that name */
};
_Static_assert(sizeof(struct schedule_rank) == 64, "what orders ask of a request is one line");

/* An order of a service's running requests. */
enum schedule_ranks_order {
    RANKS_BEST,     /* by key */
    RANKS_LAST,     /* by key, from the end, so the first is preempted first */
    RANKS_OLDEST,   /* by served_ns, from which the time to starve counts */
    RANKS_SPENT,    /* by spent_ps, from the end */
    RANKS_URGENT,   /* by the last time to begin, or go on, for its deadline */
    RANKS_TIGHTEST, /* by when its next token is due, by its target since the first one */
    RANKS_ORDERS
};
struct schedule_first {
    int64_t key;
    uint64_t seq;  /* ties */
    uint32_t slot; /* SCHEDULE_NONE: no request, and key is INT64_MAX */
};
static inline bool schedule_first_is_before(const struct schedule_first *a,
                                            const struct schedule_first *b)
{
    return a->key < b->key || (a->key == b->key && a->seq < b->seq);
}
enum { RANKS_FIRST_MAX = FILL_KNOWN_MAX };
struct schedule_firsts { /* the first n, in order */
    int32_t n;
    bool is_all; /* no other request has a key */
    struct schedule_first at[RANKS_FIRST_MAX];
};
struct schedule_ranks_service {
    struct tree waiting;  /* by key */
    struct tree unserved; /* those that may starve, by ranks.served_ns */
    struct tree urgent;   /* those with a deadline, by the last time to begin */
    uint32_t n_running;   /* as reported to the ranks */
    uint32_t n_deadlines; /* running requests with a deadline */
    struct schedule_booked booked;
    struct schedule_firsts first[RANKS_ORDERS];
    struct schedule_price price; /* when its last batch was charged */
};
struct schedule_ranks {
    struct schedule_config config;
    unsigned orders;    /* bit per order that is kept */
    uint32_t n_batches; /* that ended */
    uint64_t seq;
    struct schedule_ranks_service *services; /* (n_services_max) */
    struct schedule_rank *slots;             /* (n_requests_max), as the arrays below */
    int64_t *first_ns;  /* the first token of a request that ran, or 0 when it is not known */
    int64_t *served_ns; /* it starves theta later; separate, because all of them are searched */
    struct tree_node *key_nodes, *unserved_nodes, *urgent_nodes;
};

/* Takes bytes, rounded up to whole cache lines, from the block at *at. */
static inline void *schedule_ranks_cut(unsigned char **at, size_t bytes)
{
    void *cut = *at;
    *at += align_up_u64(bytes, 64);
    return cut;
}
size_t schedule_ranks_bytes(const struct schedule_limits *limits);
/* Opens empty ranks in the block at *at, which moves past their schedule_ranks_bytes. orders: a bit
 * for each order that the policy uses. */
void schedule_ranks_open(struct schedule_ranks *ranks, unsigned char **at,
                         const struct schedule_limits *limits, const struct schedule_config *config,
                         unsigned orders);

#define RANKS_KEY_MAX ((INT64_C(1) << 47) - 1) /* in ns: 39 hours */
/* Returns the key of n, at most RANKS_KEY_MAX, within the priority. */
static inline int64_t schedule_ranks_key(int64_t n, int16_t priority)
{
    return priority * (RANKS_KEY_MAX + 1) + min_i64(n, RANKS_KEY_MAX);
}
/* Returns the key of a request by its budget Q. */
static inline int64_t schedule_ranks_budget_key(const struct schedule_rank *own, int16_t priority)
{
    return schedule_ranks_key(own->budget_ps / 1000, priority);
}

/* Makes a fresh record for a request that has arrived. The policy then gives it a budget, and lets
 * it wait. */
void schedule_ranks_arrive(struct schedule_ranks *ranks, const struct schedule_view *view,
                           uint32_t slot);
/* Makes it wait, with this key. is_unserved: it is also among those that may starve. */
void schedule_ranks_wait(struct schedule_ranks *ranks, const struct schedule_view *view,
                         uint32_t slot, int64_t key, bool is_unserved);
void schedule_ranks_stop_waiting(struct schedule_ranks *ranks, const struct schedule_view *view,
                                 uint32_t slot);
/* A waiting request gets another key. */
void schedule_ranks_rekey(struct schedule_ranks *ranks, const struct schedule_view *view,
                          uint32_t slot, int64_t key);
/* Makes a waiting request run from now on, with this key. */
void schedule_ranks_start(struct schedule_ranks *ranks, const struct schedule_view *view,
                          uint32_t slot, int64_t key);
/* Removes a request that is about to leave the running ones. */
void schedule_ranks_leave(struct schedule_ranks *ranks, const struct schedule_view *view,
                          uint32_t slot);

/* Returns the longest time for which decodes may stall without a running request missing its target
 * per token (Aladdin's constraint (d)). It is the minimum over the requests of
 * target * (tokens - 1) less the time since the first token. */
int64_t schedule_ranks_stall_ps_most(const struct schedule_ranks *ranks,
                                     const struct schedule_view *view);

/* ---- Members of struct schedule_order; state is the ranks. ---- */
uint32_t schedule_ranks_first_waiting(const void *state, const struct schedule_view *view,
                                      int service);
uint32_t schedule_ranks_next_waiting(const void *state, const struct schedule_view *view,
                                     uint32_t slot);
uint32_t schedule_ranks_nth_last(const void *state, const struct schedule_view *view, int service,
                                 uint32_t n);
const struct schedule_booked *schedule_ranks_booked(const void *state,
                                                    const struct schedule_view *view, int service);
/* By priority, then Q L-hat, then arrival. */
bool schedule_ranks_is_before(const void *state, const struct schedule_view *view, uint32_t a,
                              uint32_t b);

/* ---- ranks_first.c. ---- */
/* The first running request by this order. */
static inline struct schedule_first schedule_ranks_first(const struct schedule_ranks_service *own,
                                                         enum schedule_ranks_order order)
{
    const struct schedule_firsts *list = &own->first[order];
    return list->n > 0 ? list->at[0]
                       : (struct schedule_first){ INT64_MAX, UINT64_MAX, SCHEDULE_NONE };
}
/* For schedule_ranks_start and _leave. */
void schedule_ranks_first_start(struct schedule_ranks *ranks, const struct schedule_view *view,
                                uint32_t slot);
void schedule_ranks_first_leave(struct schedule_ranks *ranks, const struct schedule_view *view,
                                uint32_t slot);
/* Updates the lists after a batch has changed its members, whose keys are noted. */
void schedule_ranks_first_ran(struct schedule_ranks *ranks, const struct schedule_view *view,
                              const struct batch *batch);
/* Updates the lists after keys of any running requests of the service have changed. */
void schedule_ranks_first_look(struct schedule_ranks *ranks, const struct schedule_view *view,
                               int service);
/* Returns whether the lists equal the result of a search of all running requests. */
bool schedule_ranks_first_is_sound(struct schedule_ranks *ranks, const struct schedule_view *view,
                                   int service);
