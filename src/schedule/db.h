/* The state of the doubling-budget policies. For db*.c alone.
 *
 * One block of memory: this struct, the services, a record and some tree nodes per slot. Waiting
 * requests of a service stand in trees (by key, by when they were last served, by the last time to
 * begin, by when they are late); of the running ones only the first by each of some orders is kept
 * (db_first.c). A request's key is its priority, then its budget Q (mlfq: its level); L-hat enters
 * when services are compared. Who starves is found without a look at anybody: each service's next
 * to starve, of those that run and of those that wait, stands in a list of its own. */
#pragma once
#include "base/time.h"
#include "base/tree.h"
#include "schedule/fill.h"
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
    int64_t key;         /* of a running request: schedule_db_key */
    int64_t arrived_ns;  /* the request's: one line says all that orders ask */
    uint32_t ran_in, booked; /* a batch, by db.n_batches, or 0; what it adds to its service's */
    int32_t resides_until;   /* tokens with which its residence ends; 0: it is in none */
    uint8_t level;
    bool is_waiting, is_late, has_deadline;
};
_Static_assert(sizeof(struct db_slot) == 64, "what orders ask of a request is one line");
/* Of a service's running requests the first by ... */
enum db_order {
    DB_BEST,     /* key */
    DB_LAST,     /* key, from the end: who gives way first */
    DB_OLDEST,   /* when its time to starve began: served_ns */
    DB_SPENT,    /* what it has spent since it started, from the end */
    DB_URGENT,   /* the last time to begin, or go on, to end by its deadline */
    DB_TIGHTEST, /* when its next token is due by its target, less what it has saved */
    DB_ORDERS
};
struct db_first {
    int64_t key;
    uint64_t seq;  /* ties */
    uint32_t slot; /* SCHEDULE_NONE: nobody, and key is INT64_MAX */
};
static inline bool schedule_db_first_is_before(const struct db_first *a, const struct db_first *b)
{
    return a->key < b->key || (a->key == b->key && a->seq < b->seq);
}
enum { DB_FIRST_MAX = FILL_KNOWN_MAX };
struct db_firsts { /* the first n, in order */
    int32_t n;
    bool is_all; /* nobody else has a key */
    struct db_first at[DB_FIRST_MAX];
};
struct db_price { /* of a service: a step alone costs first_ps, and slope_ps for each token known */
    int64_t fresh_ps, first_ps, slope_ps;
    bool is_plain; /* none of it overflows */
};
struct db_service {
    struct tree waiting;  /* by key */
    struct tree unserved; /* the same requests, by db.served_ns */
    struct tree urgent;   /* waiting requests with a deadline, by the last time to begin */
    struct tree in_time;  /* value: waiting requests that are not late, by when they are */
    uint32_t n_running, n_deadlines; /* that it has heard of; of them those with a deadline */
    struct schedule_booked booked;
    struct db_firsts first[DB_ORDERS]; /* of those that run */
    struct share_bucket bucket;
    struct db_price price;         /* when its last batch ended */
    uint64_t waiting_ns_sum;       /* value: arrivals of those that wait, modulo 2^64 */
    struct schedule_value running; /* value: what its running requests are worth */
};
/* The next to starve of a service: key is since when. */
struct db_due {
    struct db_first running, waiting;
};
/* value: what is in flight, and since when, where lanes share the device. */
struct db_flights {
    uint32_t of_prompts; /* bit per place (batch_place) that computes prompts */
    struct db_flight {
        bool is_decoding;
        /* Its last batch of decodes, of prompts; of decodes when nobody is left: the last end. */
        int64_t begun_ns[2];
    } * services; /* (n_services) */
};
struct db {
    struct schedule_config config;
    enum db_variant variant;
    unsigned orders; /* bit per db_order that the variant asks for */
    int32_t n_services;
    uint32_t n_batches; /* that ended */
    uint64_t seq;
    int64_t next_share_ns, next_late_ns;
    int64_t n_steps;             /* mlfq: batches since requests that idle were last looked for */
    struct db_service *services; /* into this same block, as all that follow */
    struct db_due *dues;         /* (n_services) */
    struct db_slot *slots;
    int64_t *first_ns;  /* (n_requests_max) of those that ran: when their first token came, or 0 */
    int64_t *served_ns; /* (n_requests_max) each starves theta later; apart: all are looked at */
    struct tree_node *key_nodes, *unserved_nodes, *urgent_nodes, *in_time_nodes;
    struct schedule_value_weights weights; /* value */
    struct schedule_lease *by_slot;        /* (n_requests_max) */
    struct schedule_leases leases;
    struct schedule_quota quota;
    struct db_flights flights;
    struct schedule_value_pay pay; /* value */
};
#define DB_BUDGET_PS_MAX  (INT64_C(1) << 61)
#define DB_KEY_BUDGET_MAX ((INT64_C(1) << 47) - 1) /* ns: 39 hours */
static inline int64_t schedule_db_key(enum db_variant variant, const struct db_slot *slot,
                                      int16_t priority)
{
    int64_t budget = variant == DB_MLFQ ? slot->level : slot->budget_ps / 1000;
    return priority * (DB_KEY_BUDGET_MAX + 1) + min_i64(budget, DB_KEY_BUDGET_MAX);
}
size_t schedule_db_state_bytes(const struct schedule_limits *limits);
void schedule_db_state_open(void *state, const struct schedule_limits *limits,
                            const struct schedule_config *config, enum db_variant variant);
void schedule_db_state_saw(void *state, const struct schedule_view *view,
                           const struct schedule_event *event);
/* A request of the service starves when it was not served for so long. */
int64_t schedule_db_state_theta_ns(const struct db *db, const struct schedule_service *service);
/* mlfq: device time that a request may have at its level before it sinks. */
int64_t schedule_db_state_quantum_ns(const struct db *db, int level);
/* schedule_db_remaining_ps with n_left tokens to draw, when that has no short form. */
int64_t schedule_db_state_remaining_ps(const struct schedule_view *view, const struct request *r,
                                       int64_t n_left);
/* What the request still needs alone, by its predicted length or its model's mean. */
static inline int64_t schedule_db_remaining_ps(const struct db *db,
                                               const struct schedule_view *view,
                                               const struct request *r)
{
    const struct db_price *price = &db->services[r->service].price;
    int64_t n_all = r->n_predicted > 0
                        ? r->n_predicted
                        : max_i64((int64_t)view->services[r->service].n_output_mean, 1);
    int64_t n_left = max_i64(n_all - (r->n_tokens - r->n_prompt), 1);
    if (schedule_lacking(r) != 1 || !price->is_plain || n_left > LIMIT_CONTEXT ||
        r->n_tokens > LIMIT_CONTEXT)
        return schedule_db_state_remaining_ps(view, r, n_left);
    /* The span's closed form, see predict/perf.c. */
    int64_t first_ps = price->first_ps + price->slope_ps * r->n_tokens;
    int64_t ps = n_left * first_ps + price->slope_ps * (n_left * (n_left - 1) / 2);
    return max_i64(min_i64(ps, DB_BUDGET_PS_MAX), 1);
}
/* When it must begin, or go on, to end by its deadline if it runs alone; INT64_MAX: no deadline.
 * Not before it came, whatever its deadline asks: who starved earlier goes first. */
static inline int64_t schedule_db_begin_by_ns(const struct db *db, const struct schedule_view *view,
                                              const struct request *r)
{
    if (r->deadline_ns <= 0 || r->deadline_ns == TIME_NEVER)
        return INT64_MAX;
    return max_i64(r->deadline_ns - schedule_db_remaining_ps(db, view, r) / 1000, r->arrived_ns);
}
/* A fresh budget B of the service. */
int64_t schedule_db_state_budget_ps(const struct schedule_service *service);

/* ---- db_first.c. ---- */
/* The first running request by this order. */
static inline struct db_first schedule_db_first(const struct db_service *service,
                                                enum db_order order)
{
    const struct db_firsts *list = &service->first[order];
    return list->n > 0 ? list->at[0] : (struct db_first){ INT64_MAX, UINT64_MAX, SCHEDULE_NONE };
}
void schedule_db_first_init(struct db *db, struct db_service *service);
/* One request starts; is about to leave those that run; a batch has changed its members. */
void schedule_db_first_start(struct db *db, const struct schedule_view *view, uint32_t slot);
void schedule_db_first_leave(struct db *db, const struct schedule_view *view, uint32_t slot);
void schedule_db_first_ran(struct db *db, const struct schedule_view *view,
                           const struct batch *batch);
void schedule_db_first_look(struct db *db, const struct schedule_view *view, int service);
/* Are the lists what a look at all would find? */
bool schedule_db_first_is_sound(struct db *db, const struct schedule_view *view, int service);

/* ---- db.c. ---- */
/* Serves the one that starves longest; *parts: what may run while it waits for blocks. */
enum schedule_filled schedule_db_serve_starved(struct schedule_fill *fill, const struct db *db,
                                               unsigned *parts);
/* The longest stall that everybody with a target per token absorbs out of what he saved. */
int64_t schedule_db_stall_ps_most(const struct db *db, const struct schedule_view *view);

/* ---- value_plan.c. ---- */
/* Most requests that run together. */
int32_t schedule_value_plan_seats(const struct db *db, const struct schedule_view *view,
                                  int service);
void schedule_value_plan(struct schedule_fill *fill, const struct db *db);
/* After an event of this service, whose times may have changed. */
void schedule_value_plan_saw_perf(struct db *db, const struct schedule_view *view, int service);
