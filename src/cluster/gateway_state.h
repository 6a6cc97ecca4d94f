/* The state of a gateway, shared by its files: gateway.c (the public functions and its life),
 * gateway_mail.c (messages of engines) and gateway_route.c (messages to engines).
 *
 * Private to the gateway: others include cluster/gateway.h. An entry is addressed by its place in
 * `entries`. The handle of its slot distinguishes it from earlier ones in the same place. */
#pragma once
#include "cluster/gateway_options.h"

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
    GATEWAY_ASIDE, /* its engine had no space for it, so routers do not see it for a while */
    GATEWAY_OVER,
    GATEWAY_STATES
};
/* The part of a submitted body behind its head: the tokens of the prompt, then the rest (stop ids,
 * biases). It is the same for all choices of one call, so an entry directly behind its sibling
 * shares it. */
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
    void *made; /* NULL: nothing was copied */
};
struct gateway_entry {
    enum gateway_entry_state state;
    struct route_request *request; /* its place in the router's table: the fields that change */
    struct request asked; /* the other fields, as submitted; served_ns as engines report it */
    bool is_cancelled;
    int32_t n_preempted;
    int64_t device_ns;             /* of submissions that came back */
    struct request_body head;      /* of its body, as submitted; each has its own seed */
    struct gateway_prompt *prompt; /* NULL: the entry is unused */
    int32_t *generated;            /* (n_tokens - n_prompt) */
    int32_t n_generated_room;
    int32_t n_scores; /* of the prompt's first tokens, the first included; 0: none yet. EMBED: the
                         floats of its vector */
    uint16_t engine;
    bool is_decoding; /* it is held in, or was sent by, decode_core */
    int32_t n_kept;   /* positions of its KV that the ticket names; 0 = none */
    uint64_t ticket;
    uint16_t kept_engine;      /* that has them */
    int32_t n_first_predicted; /* request->n_predicted follows what was outrun */
    uint32_t door_epoch;       /* of the submission to us; our own submissions count on from it */
    bool wants_cancel;         /* CANCEL could not be sent yet */
    uint8_t why;               /* OVER: why it ended here */
    int64_t held_ns;           /* since when */
    int64_t no_space_ns;       /* since when engines have no space for it; 0: they have */
    int64_t back_ns;           /* ASIDE: when it will be held again */
    uint32_t next, prev; /* HELD: its service's list by held_ns; ASIDE and OVER: their lists */
    char *sentence;      /* OVER: the sentence to send */
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
    struct gateway_list aside;                 /* sorted by the time of return */
    struct gateway_list since[LIMIT_SERVICES]; /* the held ones of a service, longest first */
    struct tree deadlines;                     /* of the held and aside ones that have a deadline */
    struct tree_node *deadline_nodes;
    struct engine_report *reports;
    struct cluster_place *places; /* (nodes.n_engines) of KV that they keep, as reported */
    int64_t begin_ns; /* its first step, from which the engines' time to report counts */
    struct gateway_engine {
        int64_t full_until_ns; /* after RETURNED(FULL or CRASHED): nothing is sent to it before */
        int64_t full_ns; /* of the last pause after FULL; 0: a request left the engine since */
        bool is_usable;  /* healthy and not draining */
        bool is_decoder; /* as its last report says */
        bool has_others; /* other gateways had requests there in this session */
    } * engines;         /* (nodes.n_engines) */
    uint64_t *full;      /* a set; engines outside of it have full_until_ns 0 */
    int32_t n_places[LIMIT_SERVICES];        /* how many usable engines have the service, */
    int32_t n_decode_places[LIMIT_SERVICES]; /* and how many of them only decode */
    int64_t wanted_ns[LIMIT_SERVICES];       /* when WANT was last sent */
    int64_t next_age_ns;                     /* when to look for aged requests again */
    struct route_core core;
    /* Has the answers that have begun, while engines of role decode have their service. The first
     * core has the other requests. */
    struct route_core decode_core;
    struct route_request *requests; /* by slot, as the router sees them */
    struct route_others *others;    /* (n_engines, n_services_max) of other gateways, as reported */
    struct perf *perfs;             /* (n_engines, n_services_max) as the engines report */
    struct length_book lengths;
    struct control_ask asks[GATEWAY_ASKS_MAX];       /* LIST and HEALTH, answered from the mirror */
    struct control_answer answers[GATEWAY_ASKS_MAX]; /* that came from the manager */
    struct service_change changes[GATEWAY_CHANGES_MAX]; /* a ring: unread ones make room */
    uint32_t first_change, n_changes;
    uint64_t asked[GATEWAY_ASKS_MAX]; /* ids of control calls that the manager has not answered */
    int n_asks, n_answers, n_asked;
    bool is_popping;          /* a bus message is shown to the caller: pop it at the next call */
    uint32_t shown;           /* an OVER entry shown to the caller: freed at the next call */
    int64_t now_ns, heard_ns; /* of the last step; when mail is taken */
    int64_t n_cancels_pending;
    struct gateway_demand *demand; /* the traffic that it counts */
};

/* Returns the routing core that the entry is held in, or was sent by. */
static inline struct route_core *gateway_state_core(struct cluster_gateway *g,
                                                    const struct gateway_entry *entry)
{
    return entry->is_decoding ? &g->decode_core : &g->core;
}

/* ---- Entries and their lists (gateway_state.c). ---- */

void gateway_state_remove(struct cluster_gateway *g, struct gateway_list *list, uint32_t at);
/* Put an entry into the held lists, or take it out: O(log n). The caller tells the router. */
void gateway_state_hold(struct cluster_gateway *g, uint32_t at);
void gateway_state_unhold(struct cluster_gateway *g, uint32_t at);
/* Moves held entries that no engine served for long before all others, every second. */
void gateway_state_age_held(struct cluster_gateway *g);
/* Puts a held entry aside for a while, and reports it to the router as gone. */
void gateway_state_set_aside(struct cluster_gateway *g, uint32_t at);
/* Holds entries again that were aside for long enough. Returns when the next one is due. */
int64_t gateway_state_end_asides(struct cluster_gateway *g);
/* Returns the handle of a request's entry; 0 when it has none. */
uint32_t gateway_state_find(const struct cluster_gateway *g, uint64_t id);
void gateway_state_drop(struct cluster_gateway *g, uint32_t handle);
/* Ends a held request, or one that is aside, here. The caller gets the end through next. `sentence`
 * may be NULL. */
void gateway_state_finish(struct cluster_gateway *g, uint32_t at, enum service_why why,
                          const char *sentence);

/* Copies a submitted body into an entry. It shares the prompt of the request whose id is one less,
 * if it is the same. Returns false, with nothing kept, when there is no memory for it. */
bool gateway_state_keep_body(struct cluster_gateway *g, struct gateway_entry *entry,
                             const struct request_body *body);
/* Adds tokens behind the known ones. Returns false when there is no memory for them. */
bool gateway_state_add_tokens(struct gateway_entry *entry, const int32_t *tokens, int32_t n);
/* Opens the entry's body, until gateway_state_close_body. Nothing is copied before the entry has
 * generated tokens. Returns false, with nothing to close, when there is no memory for it. */
bool gateway_state_open_body(const struct gateway_entry *entry, struct gateway_body *body);
void gateway_state_close_body(struct gateway_body *body);
void gateway_state_free_body(struct gateway_entry *entry);

static inline size_t gateway_state_rest_bytes(const struct gateway_entry *entry)
{
    return request_body_whole_bytes(&entry->head) - 4 * (size_t)entry->head.n_tokens -
           sizeof(struct request_body);
}
/* Returns whether some of its answer was sent. Then no wait for its model or for space ends it. */
static inline bool gateway_state_has_begun(const struct gateway_entry *entry)
{
    return entry->request->n_tokens > entry->request->n_prompt;
}
/* Returns whether an engine had it, and returned it. It was accepted, so it is not one too many. */
static inline bool gateway_state_was_sent(const struct gateway_entry *entry)
{
    return entry->request->epoch != entry->door_epoch;
}

/* Why the answer ends with its known tokens, as at an engine; WHY_NONE: it goes on. */
enum service_why gateway_state_end_of(const struct gateway_entry *entry);

/* Returns the predicted tokens of the entry's answer, given those it has; 0 = unknown. */
int32_t gateway_state_predict(const struct cluster_gateway *g, const struct gateway_entry *entry);
/* Predicts an entry that outran its prediction anew, from the answers that are longer than it. */
void gateway_state_predict_again(const struct cluster_gateway *g, struct gateway_entry *entry);
/* Tells the predictor a complete answer, and rates the answer's first prediction. */
void gateway_state_observe(struct cluster_gateway *g, const struct gateway_entry *entry);

/* ---- gateway_route.c; gateway_route.h has the rest. ---- */

/* Gives a held entry to the routing core of its phase: a new one, or one that returned from its
 * engine. */
void gateway_route_arrived(struct cluster_gateway *g, uint32_t at);
void gateway_route_returned(struct cluster_gateway *g, uint32_t at, uint8_t why);
