/* What a gateway knows, shared by the files that make one up: gateway.c (the faces and its life),
 * gateway_mail.c (what engines say) and gateway_route.c (what goes to engines).
 *
 * Private to the gateway: others include cluster/gateway.h. An entry is addressed by its place in
 * `entries`; the handle of its slot tells it from earlier ones in the same place. */
#pragma once
#include "cluster/gateway.h"

#include "base/map.h"
#include "base/slots.h"
#include "base/tree.h"
#include "cluster/link.h"
#include "cluster/roster.h"
#include "route/core.h"

#define GATEWAY_NONE UINT32_MAX
enum { GATEWAY_ASKS_MAX = 256, GATEWAY_CHANGES_MAX = 4 * LIMIT_SERVICES };

enum gateway_entry_state {
    GATEWAY_HELD,
    GATEWAY_SENT,
    GATEWAY_ASIDE, /* its engine had no space for it: routers do not see it for a while */
    GATEWAY_OVER,
    GATEWAY_STATES
};
/* What follows the head of a body as it was submitted: the tokens of the prompt, then the rest
 * (stop ids, biases). It is the same for all choices of one ask: one that comes right behind its
 * sibling shares it. */
struct gateway_prompt {
    uint32_t n_users;
    int32_t n;      /* tokens */
    size_t n_bytes; /* of tokens and rest */
    int32_t tokens[];
};
/* A body with every token known so far, in two pieces. */
struct gateway_body {
    struct request_body head;
    const void *at; /* what follows it */
    size_t n_bytes;
    void *made; /* NULL: nothing was copied for it */
};
struct gateway_entry {
    enum gateway_entry_state state;
    struct route_request *request; /* its place in the router's table: what changes of it */
    struct request asked;          /* the rest, as it was asked for; served_ns as engines say */
    bool is_cancelled;
    int32_t n_preempted;
    struct request_body head;      /* of its body, as submitted; its seed is its own */
    struct gateway_prompt *prompt; /* NULL: the entry is not in use */
    int32_t *generated;            /* (n_tokens - n_prompt) */
    int32_t n_generated_room;
    uint16_t engine;
    int32_t n_first_predicted; /* request->n_predicted follows what was outrun */
    uint32_t door_epoch;       /* of the submission to us: our own submissions count on from it */
    bool wants_cancel;         /* CANCEL could not be sent yet */
    uint8_t why;               /* OVER: why it ended here */
    int64_t held_ns;           /* since when */
    int64_t no_space_ns;       /* since when engines have no space for it; 0: they do */
    int64_t back_ns;           /* ASIDE: when it is held again */
    uint32_t next, prev;       /* HELD: its service's list by held_ns; ASIDE and OVER: that list */
    char *sentence;            /* OVER: what to tell */
};
struct gateway_list {
    uint32_t first, last, n;
};
struct cluster_gateway {
    struct cluster_gateway_options options;
    struct cluster_nodes nodes;
    struct cluster_link *links; /* (nodes.n) */
    uint64_t n_sessions;
    struct service_spec *services;
    struct cluster_roster roster;
    uint32_t n_entries[LIMIT_SERVICES]; /* by service */
    struct gateway_entry *entries;
    struct slots slots;
    struct map by_id;
    struct gateway_list over;                  /* SENT entries are in no list */
    struct gateway_list aside;                 /* who is back first comes first */
    struct gateway_list since[LIMIT_SERVICES]; /* the held ones of a service, longest first */
    struct tree deadlines;                     /* of the held and aside ones that have one */
    struct tree_node *deadline_nodes;
    struct engine_report *reports;
    int64_t begin_ns; /* its first step: engines' time to speak up begins */
    struct gateway_engine {
        int64_t full_until_ns;        /* RETURNED(FULL or CRASHED): nothing goes to it before */
        bool is_usable;               /* healthy and not draining */
    } * engines;                      /* (nodes.n_engines) */
    uint64_t *full;                   /* a set: of engines that are not in it, full_until_ns is 0 */
    int32_t n_places[LIMIT_SERVICES]; /* of them those that have the service */
    int64_t wanted_ns[LIMIT_SERVICES]; /* when WANT was last said */
    int64_t next_age_ns;               /* when to look for aged requests again */
    struct route_core core;
    struct route_request *requests; /* by slot, as the router sees them */
    struct perf *perfs;             /* (n_engines, n_services_max) as the engines say */
    struct length_book lengths;
    struct control_ask asks[GATEWAY_ASKS_MAX]; /* LIST and HEALTH, answered from the mirror */
    int n_asks;
    struct control_answer answers[GATEWAY_ASKS_MAX]; /* that came from the manager */
    int n_answers;
    struct service_change changes[GATEWAY_CHANGES_MAX]; /* a ring: unread ones make room */
    uint32_t first_change, n_changes;
    uint64_t asked[GATEWAY_ASKS_MAX]; /* ids of the manager's, whose answer has not come */
    int n_asked;
    bool is_popping;  /* a bus message is shown to the caller: pop it at the next call */
    uint32_t shown;   /* an OVER entry shown to the caller: freed at the next call */
    int64_t now_ns;   /* of the last step */
    int64_t heard_ns; /* when mail is taken */
    int64_t n_cancels_pending;
};

/* ---- Entries and their lists (gateway_state.c). ---- */

void gateway_state_remove(struct cluster_gateway *g, struct gateway_list *list, uint32_t at);
/* Puts an entry into the lists of held ones, or takes it out: O(log n). The caller tells the
 * routing core of it. */
void gateway_state_hold(struct cluster_gateway *g, uint32_t at);
void gateway_state_unhold(struct cluster_gateway *g, uint32_t at);
/* Held entries that no engine served for long stand before all others: looked at every second. */
void gateway_state_age_held(struct cluster_gateway *g);
/* Puts a held entry aside for a while, and the router is told that it is gone. */
void gateway_state_set_aside(struct cluster_gateway *g, uint32_t at);
/* Who was aside for long enough is held again. Returns when the next is. */
int64_t gateway_state_end_asides(struct cluster_gateway *g);
/* The handle of a request's entry; 0 when there is none. */
uint32_t gateway_state_find(const struct cluster_gateway *g, uint64_t id);
void gateway_state_drop(struct cluster_gateway *g, uint32_t handle);
/* Ends a held request, or one that is aside, here: the caller hears of it through next. `sentence`
 * may be NULL. */
void gateway_state_finish(struct cluster_gateway *g, uint32_t at, enum service_why why,
                          const char *sentence);

/* What was submitted becomes an entry's own, but for the prompt of the request whose id is one
 * less, if it is the same. False: there is no memory for it, and the entry keeps nothing. */
bool gateway_state_keep_body(struct cluster_gateway *g, struct gateway_entry *entry,
                             const struct request_body *body);
/* Behind the tokens known so far. False: there is no memory for them. */
bool gateway_state_add_tokens(struct gateway_entry *entry, const int32_t *tokens, int32_t n);
/* The entry's body, until gateway_state_close_body; nothing is copied before it has generated
 * tokens. False: there is no memory for it, and nothing is to be closed. */
bool gateway_state_open_body(const struct gateway_entry *entry, struct gateway_body *body);
void gateway_state_close_body(struct gateway_body *body);
void gateway_state_free_body(struct gateway_entry *entry);

static inline size_t gateway_state_rest_bytes(const struct gateway_entry *entry)
{
    return request_body_bytes(0, entry->head.n_stop_ids, entry->head.n_biases) -
           sizeof(struct request_body);
}
/* Some of its answer was told: waiting for its model or for space does not end it. */
static inline bool gateway_state_has_begun(const struct gateway_entry *entry)
{
    return entry->request->n_tokens > entry->request->n_prompt;
}
/* An engine had it, and sent it home: it was let in, so it is not one too many. */
static inline bool gateway_state_was_sent(const struct gateway_entry *entry)
{
    return entry->request->epoch != entry->door_epoch;
}

/* Why the answer ends with the tokens that are known, as at an engine; WHY_NONE: it goes on. */
enum service_why gateway_state_end_of(const struct gateway_entry *entry);

/* The tokens that the entry's answer is predicted to have, given those it has; 0 = unknown. */
int32_t gateway_state_predict(const struct cluster_gateway *g, const struct gateway_entry *entry);
/* What outran its prediction is predicted anew: as those are that get longer than it is. */
void gateway_state_predict_again(const struct cluster_gateway *g, struct gateway_entry *entry);
/* The entry's answer is whole: the predictor learns from it, and its first word is judged. */
void gateway_state_observe(struct cluster_gateway *g, const struct gateway_entry *entry);

/* ---- What engines say (gateway_mail.c). ---- */

/* Takes mail until an event for the client shows up; its payload stays on the bus until the next
 * call. */
bool gateway_mail_take(struct cluster_gateway *g, struct service_event *event,
                       const void **payload);

/* Keeps the links to the nodes: begins sessions, and takes back what was sent over one that is
 * over. Moves *wake_ns to the time of the next step if that is earlier. */
void gateway_mail_watch_links(struct cluster_gateway *g, int64_t *wake_ns);

/* ---- What goes to engines (gateway_route.c). ---- */

/* An engine's mirror anew: after a report, when it said to be full, when that has passed. */
void gateway_route_refresh(struct cluster_gateway *g, int engine);
/* Ends what waited too long, and says which models are wanted. Returns when to look again. */
int64_t gateway_route_watch_held(struct cluster_gateway *g);
/* Says which models are in use although their engines have no request: the router holds theirs, as
 * for the next slice or until a batch is composed. */
void gateway_route_say_kept(struct cluster_gateway *g);
/* Sends what the routing core chooses. */
void gateway_route_send(struct cluster_gateway *g);
/* Tells the manager that the entry's engine has no space for it; insists: even models that are
 * pinned or busy have to make it. */
void gateway_route_say_no_space(struct cluster_gateway *g, const struct gateway_entry *entry,
                                bool insists);
/* Asks the engine to end an entry that was sent to it, now or as soon as the bus has room. */
void gateway_route_end_sent(struct cluster_gateway *g, struct gateway_entry *entry);
/* False when the bus is full. */
bool gateway_route_cancel(struct cluster_gateway *g, const struct gateway_entry *entry);
void gateway_route_repeat_cancels(struct cluster_gateway *g);
