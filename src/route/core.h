/* The routing core: what a gateway does with a router. It holds requests, shows the router its
 * view, asks it, and counts what was sent.
 *
 *   --arrived--> HELD --next, sent--> SENT --ended--> gone
 *                 | ^------returned-----|
 *                 |--gone--> gone, or arrived again
 *
 * It is passive: the host (cluster/gateway, sim/door) calls it when something has happened, sends
 * what it chooses, and owns the clock, the table of requests, and all other state of a request. A
 * request is named by its slot in that table. */
#pragma once
#include "route/held.h"

struct route_core_options {
    const struct route_policy *router;
    const struct route_config *config; /* NULL = the defaults */
    int32_t n_engines, n_services;
    uint32_t n_slots;
    struct route_request *requests; /* (n_slots) the host's */
    const int64_t *clock_ns;        /* the host's time */
    /* NULL, or a core of the same host with the same slots: each slot is held at one of the two at
     * most, so they share the memory that is needed for each slot. Closed after this one. */
    const struct route_core *shares;
    bool checks; /* every plan is checked (route_check): see wrong */
};
struct route_core {
    const struct route_policy *router;
    const int64_t *clock_ns;
    int32_t n_engines, n_services;
    uint32_t n_slots;
    bool is_sharing;
    struct route_held held;
    /* What the router sees of engines and services, all zero at first. The host fills it, and tells
     * of each change of an engine (route_core_changed); n_sent, the held lists, and the means of
     * lengths are the core's. A mean of the outputs that the host sets is a first guess. */
    struct route_engine *engines;   /* (n_engines) */
    struct route_service *services; /* (n_services) */
    bool is_dirty;                  /* something happened since the router was asked */
    int64_t wake_ns;                /* when the router wants to be asked although nothing happens */
    int64_t n_forced;               /* of all that were sent: those expected to miss a target */
    const char *wrong;              /* the first plan that was not legal, or NULL */

    /* Private. */
    struct tree_node *nodes; /* (n_slots) */
    struct tree *trees;      /* (n_services) */
    void *state, *scratch;
    uint8_t *marks;               /* (n_slots) of route_check; NULL: plans are not checked */
    struct route_choice *choices; /* (n_slots) the plan, of which n_taken went out */
    int32_t n_choices, n_taken;
    bool is_asking;
};
void route_core_open(struct route_core *core, const struct route_core_options *options);
void route_core_close(struct route_core *core);

/* The request waits for an engine: it came, or comes back after route_core_gone. */
void route_core_arrived(struct route_core *core, uint32_t slot);
/* A held request leaves without being sent, and is left out of the plan that is being sent. */
void route_core_gone(struct route_core *core, uint32_t slot, enum service_why why);
/* A sent request is held again. */
void route_core_returned(struct route_core *core, uint32_t slot, uint16_t engine,
                         enum service_why why);
/* A sent request is over, and its slot still shows it. The means of its service learn its lengths,
 * unless its lease alone is over: then it goes on elsewhere. */
void route_core_ended(struct route_core *core, uint32_t slot, uint16_t engine,
                      enum service_why why);
/* The host changed what the router sees of the engine. The router is not asked because of it unless
 * the host also sets is_dirty. */
void route_core_changed(struct route_core *core, uint16_t engine);
/* The held request has this priority from now on. */
void route_core_set_priority(struct route_core *core, uint32_t slot, int16_t priority);

/* The next choice to send, in the order of the plan. NULL: there is none now, and wake_ns says when
 * to ask again; before that, only when is_dirty is set. It asks the router when something happened
 * or its time has come, until a plan has no choices. After each choice the host calls one of: */
const struct route_choice *route_core_next(struct route_core *core);
/* The choice goes out. Its request is held no more, and counts as sent. */
void route_core_sent(struct route_core *core);
/* It can't be sent before this time: what is left of the plan is offered again then, or earlier
 * when is_dirty is set. Not in a core that shares memory. */
void route_core_wait(struct route_core *core, int64_t until_ns);
