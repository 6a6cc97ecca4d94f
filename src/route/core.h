/* The routing core: the part of a gateway that uses a router. It holds requests, shows the router
 * its view, calls it, and counts what was sent.
 *
 *   --arrived--> HELD --next, sent--> SENT --ended--> gone
 *                 | ^------returned-----|
 *                 |--gone--> gone, or arrived again
 *
 * It is passive: the host (cluster/gateway, sim/door) calls it when something has happened. The
 * host sends what it chooses, and owns the clock, the table of requests, and all other state of a
 * request. A request is named by its slot in that table. */
#pragma once
#include "route/held.h"

struct route_core_options {
    const struct route_policy *router;
    const struct route_config *config; /* NULL = the defaults */
    int32_t n_engines, n_services;
    uint32_t n_slots;
    struct route_request *requests; /* (n_slots) the host's */
    const int64_t *clock_ns;        /* the host's time */
    /* NULL, or a core of the same host with the same slots. Each slot is held in at most one of the
     * two, so they share the memory that each slot needs. Closed after this one. */
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
    /* The router's view of engines and services, all zero at first. The host fills it, and reports
     * each change of an engine (route_core_changed). The core owns n_sent, the held lists, and the
     * means of lengths. A mean of the outputs that the host sets is a first guess. */
    struct route_engine *engines;   /* (n_engines) */
    struct route_service *services; /* (n_services) */
    bool is_dirty;                  /* something happened since the last call of the router */
    int64_t wake_ns;                /* when the router wants a call although nothing happens */
    int32_t n_engines_wanted;       /* by the last plan that had a wish; 0: none had */
    int64_t n_forced;               /* among all that were sent: those expected to miss a target */
    const char *wrong;              /* the first plan that was not legal, or NULL */

    /* Private. */
    struct tree_node *nodes; /* (n_slots) */
    struct tree *trees;      /* (n_services) */
    void *state, *scratch;
    uint8_t *marks;               /* (n_slots) of route_check; NULL: plans are not checked */
    struct route_choice *choices; /* (n_slots) the plan; its first n_taken were sent */
    int32_t n_choices, n_taken;
    bool is_asking;
};
void route_core_open(struct route_core *core, const struct route_core_options *options);
void route_core_close(struct route_core *core);

/* Holds a request that waits for an engine: it arrived, or comes back after route_core_gone. */
void route_core_arrived(struct route_core *core, uint32_t slot);
/* Removes a held request that is not sent, also from the plan that is being sent. */
void route_core_gone(struct route_core *core, uint32_t slot, enum service_why why);
/* A sent request is held again. */
void route_core_returned(struct route_core *core, uint32_t slot, uint16_t engine,
                         enum service_why why);
/* Ends a sent request, whose slot still shows it. The means of its service learn its lengths,
 * unless only its lease is over, since it then goes on elsewhere. */
void route_core_ended(struct route_core *core, uint32_t slot, uint16_t engine,
                      enum service_why why);
/* Updates the core after the host changed the view of the engine. The router is not called because
 * of it unless the host also sets is_dirty. */
void route_core_changed(struct route_core *core, uint16_t engine);
/* Sets the priority of the held request from now on. */
void route_core_set_priority(struct route_core *core, uint32_t slot, int16_t priority);

/* Returns the next choice to send, in the order of the plan. NULL: there is no choice now, and
 * wake_ns is the time of the next call; before it, call again only when is_dirty is set. It calls
 * the router when something happened or its time has come, until a plan has no choices. After each
 * choice the host calls one of: */
const struct route_choice *route_core_next(struct route_core *core);
/* The choice is sent. Its request is no longer held, and counts as sent. */
void route_core_sent(struct route_core *core);
/* It can't be sent before this time. The rest of the plan is offered again then, or earlier when
 * is_dirty is set. Not in a core that shares memory. */
void route_core_wait(struct route_core *core, int64_t until_ns);
