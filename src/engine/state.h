/* The state of an engine, private to this room.
 *
 * Every request is a slot: its public record (requests), the engine's own data of it (own), and
 * nodes of two trees (the order of waiting when a list is not enough, and deadlines).
 *
 * A slot's way:
 *
 *   FREE --engine_submit--> WAITING --engine_queue_start--> RUNNING --engine_queue_end--> ENDED
 *                              ^------engine_queue_preempt-----|                            |
 *    ^-------------------------engine_say (the last event has left)-------------------------|
 *
 * A request that comes or leaves with its KV is ARRIVING before it waits, or LEAVING before it is
 * ENDED: handover.h.
 *
 * WAITING slots are in their service's list, and RUNNING ones in its array. ENDED ones hold no
 * blocks, and wait only for room in the reader's ring. */
#pragma once
#include "base/pile.h"
#include "base/time.h"
#include "base/tree.h"
#include "engine/bodies.h"
#include "engine/engine.h"
#include "engine/ids.h"
#include "engine/scratch.h"
#include "kv/ledger.h"

enum {
    ENGINE_LOGPROBS_MAX = 4, /* tokens with logprobs that one batch may draw for a request */
    ENGINE_MATCHED_MAX = 8,  /* waiting requests of a service that hold their prefix hit early */
};

struct engine_own {
    int32_t n_said;            /* tokens that the submitter has: of its submission, and of events */
    uint8_t end_what, end_why; /* in flight: how commit ends it; 0: not. ENDED: its last event */
    uint8_t n_logprobs;        /* kept for its unsaid tokens */
    bool is_unsaid : 1;        /* stands in the backlog */
    bool is_matched : 1;       /* was searched in the prefix index since it waits */
    bool holds_hit : 1;        /* WAITING, and its table holds the blocks of a prefix hit */
    bool has_exceeded : 1;     /* of its prediction, with the batch that is being committed */
    bool has_deadline : 1;     /* stands in the tree of deadlines */
};
_Static_assert(sizeof(struct engine_own) == 8, "there are as many as there may be requests");

struct engine_kept { /* KV that its last event offers */
    uint64_t ticket;
    int32_t n, unused;
};

struct engine_seen { /* its service's counts when it began to run, and sums since; mod 2^32 */
    uint32_t batches_from, rows_from, n_batches, n_rows;
    int32_t n_swapped, n_early;
    int64_t device_ns; /* its share of the batches that it was in */
    struct engine_waits waits;
};

struct engine_flight {        /* a batch that runs */
    struct batch batch;       /* n_items = 0: not in use */
    struct batch_item *items; /* memory for the batch's */
    struct perf_load load;
    int n_rounds;
};

struct engine_lane {
    int n_flights;  /* batches not committed yet */
    unsigned until; /* of the running hold; 0 for one round, or when it is cut already */
    bool is_hold;   /* its rounds represent single steps */
    int64_t until_ns;
};

struct engine_queue { /* the waiting requests of one service; the view has the list's head */
    struct tree tree; /* of no request, or of all, since one arrived that belongs far inside */
    uint32_t last;
};

enum engine_room_state {
    ENGINE_ROOM_NONE,
    ENGINE_ROOM_WANTED, /* the pool shrinks for it */
    ENGINE_ROOM_BOOKED, /* its bytes are booked, and its weights are being loaded */
    ENGINE_ROOM_OPEN,
    ENGINE_ROOM_CLOSING,
};

/* Fields that every step uses are together at the end. */
struct engine {
    struct schedule_config config;
    struct schedule_limits limits;
    /* Tables of services have room for n_services_max. A number without a service has a closed one
     * without a name. */
    struct service_spec *specs; /* (n_services) */
    uint8_t *room_state;        /* (n_services) enum engine_room_state */
    struct set listed;          /* services that ever were more than NONE there */
    struct ledger ledger;
    struct ledger_model *models;        /* (n_services) the ledger's */
    int64_t *wanted_bytes;              /* (n_services) of models that wait for room */
    struct engine_away *away;           /* (n_services) */
    int64_t n_units_aside;              /* of KV memory, beside the pool */
    struct engine_scratch *own_scratch; /* NULL: the scratch is lent */
    unsigned char *payload;             /* scratch of say.c: tokens with logprobs */

    struct engine_options options;
    struct schedule_plan plan;
    struct engine_scratch *scratch;
    int n_needs, n_starts, n_to_tell; /* in the scratch */
    struct schedule_view view;
    void *policy_state;
    struct schedule_service *services; /* (n_services) what the view shows */
    uint16_t *busy;                    /* (n_services) what the view shows; behind them */
    struct engine_stats *stats;        /* (n_services) stats.h */
    struct engine_queue *queues;       /* (n_services) */
    uint32_t *running;                 /* (n_services, n_requests_max) */

    struct request *requests; /* (n_requests_max), as all below */
    struct engine_own *own;
    struct engine_seen *seen;         /* NULL: it reports little, and no waits */
    struct engine_kept *kept;         /* NULL: it has no handover */
    struct engine_handover *handover; /* handover.h; NULL: KV is never handed over */
    struct engine_disk *disk;         /* disk.h; NULL: there is no disk tier */
    struct engine_draft *drafts;      /* draft.h; NULL: it is simulated */
    uint8_t *n_drafts;                /* what the view shows */
    struct engine_pads *pads;         /* pads.h; NULL: its policy pads no batches */
    int32_t *n_planned; /* tokens, before its prefix hit was found; 0 = no hit. NULL: no cache */
    struct token_logprobs (*logprobs)[ENGINE_LOGPROBS_MAX]; /* NULL in the simulator */
    struct tree_node *waiting_nodes, *deadline_nodes;
    const int32_t *n_table_blocks; /* kv's */
    struct tree deadlines;
    struct engine_ids by_id;
    uint32_t first_free;           /* a list through request.next; SCHEDULE_NONE: none */
    uint32_t n_used, n_free_slots; /* slots from n_used on were never taken, and are free too */
    uint32_t first_unsaid, last_unsaid; /* the backlog: a list by request.next_unsaid */
    uint32_t n_backlog;
    struct kv *kv;
    struct engine_bodies *bodies;      /* NULL in the simulator */
    int64_t wanted_sum, away_until_ns; /* of wanted_bytes; away requests are back by then */
    bool is_pool_shrunk; /* for models that want room; it grows again when none does */
    bool is_draining, is_healthy, is_lost; /* is_lost: its executor computes nothing any more */
    int64_t ended_ns;                      /* the batch that is committed, or was last */
    bool has_exceeded;                     /* a request in the batch that commits has */
    uint64_t n_emits;                      /* calls of emit */
    uint32_t n_marked;                     /* requests in flight that their commit ends */
    int n_flights;
    int32_t n_slots; /* of lanes below: options.n_deep places for each of options.n_lanes */
    uint32_t next_batch;
    uint32_t n_on_host;            /* requests that have something on the host */
    uint32_t n_waiting_matched;    /* requests that hold a prefix hit */
    int64_t plan_wake_ns;          /* an empty plan wants the next call then */
    int64_t next_tick_ns, n_ticks; /* of the arrival rates: this many were, as far as it matters */
    int64_t n_steps, step_ns, n_refused;
    bool lane_is_busy[LIMIT_LANES];
    struct schedule_lane lane_shares[LIMIT_LANES]; /* what the view shows */
    struct engine_lane lanes[LIMIT_BATCHES];       /* (n_slots) by batch_place */
    struct engine_flight flights[LIMIT_BATCHES];
};

/* queue.c: moves slots from state to state. The policy gets an event for each. */
void engine_queue_tell(struct engine *engine, const struct schedule_event *event);
uint32_t engine_queue_take_slot(struct engine *engine); /* SCHEDULE_NONE: the table is full */
void engine_queue_put_slot(struct engine *engine, uint32_t slot);
void engine_queue_wait(struct engine *engine, uint32_t slot); /* into the order of arrival */
bool engine_queue_is_before(const struct engine *engine, uint32_t a, uint32_t b); /* that order */
void engine_queue_start(struct engine *engine, uint32_t slot); /* WAITING -> RUNNING */
void engine_queue_preempt(struct engine *engine, uint32_t slot);
void engine_queue_release(struct engine *engine, uint32_t slot); /* gives its blocks back */
void engine_queue_publish(struct engine *engine, uint32_t slot); /* offers them to later requests */
/* Searches its tokens in the prefix index, when it holds no blocks yet. */
void engine_queue_match(struct engine *engine, uint32_t slot);
/* Makes the waiting requests give back the blocks of their prefix hits, before any request is
 * preempted. */
bool engine_queue_release_waiting(struct engine *engine);
/* Removes it from everything and sends its last event. Its slot is free when that is sent. */
void engine_queue_end(struct engine *engine, uint32_t slot, enum service_what what,
                      enum service_why why);
/* The last step of that, for a request that is in no list any more. */
void engine_queue_over(struct engine *engine, uint32_t slot);
/* A new request waits, and the policy learns of it. */
void engine_queue_arrive(struct engine *engine, uint32_t slot);
/* Ends a request that may be in flight; then its commit does it. */
void engine_queue_end_soon(struct engine *engine, uint32_t slot, enum service_what what,
                           enum service_why why);
/* say.c: events. */
void engine_say(struct engine *engine, uint32_t slot); /* sends its events, now or later */
void engine_say_backlog(struct engine *engine);
bool engine_say_has_scores(const struct engine *engine, uint32_t slot); /* that were not sent */
/* Answers a request that has no slot. Returns false when there is no room, so call it again. */
bool engine_say_refusal(struct engine *engine, const struct request *request,
                        enum service_what what, enum service_why why, const char *text);
/* commit.c */
void engine_commit_land(struct engine *engine, const struct engine_flight *flight);
/* Returns the batch in flight with this id, or NULL. */
struct engine_flight *engine_commit_flight(const struct engine *engine, uint32_t batch);
void engine_commit(struct engine *engine, const struct engine_exec_done *done);

/* step.c: returns the place on a free lane where batches begin; shows in the view that a batch
 * began or ended there. */
uint8_t engine_step_place(const struct engine *engine, int32_t lane);
void engine_step_show_lane(struct engine *engine, int32_t lane);
struct engine_flight *engine_step_free_flight(struct engine *engine); /* NULL: all are in flight */
void engine_step_cut(struct engine *engine, unsigned until); /* holds that end so; 0: all */
