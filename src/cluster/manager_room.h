/* The manager's data on models, engines and waiting gateways. It decides which engine can take a
 * model. */
#pragma once
#include "base/time.h"
#include "cluster/manager_options.h"
#include "cluster/roster.h"
#include "core/control.h"
#include "core/report.h"
#include "place/residency.h"

enum { MANAGER_ASKS_MAX = 256 }; /* as many as a gateway has under way */
/* The time between checks while a wanted model waits for room. */
static const int64_t MANAGER_RETRY_NS = 20 * TIME_NS_PER_MS;
/* After this long without a message, a gateway no longer wants the model. */
static const int64_t MANAGER_WANT_NS = TIME_NS_PER_S;

struct manager_place { /* a service on an engine */
    uint8_t status;    /* of the last report */
    bool is_asked_in, is_asked_out;
    bool is_asleep;         /* unloaded, with its packed weights in host memory */
    int64_t avoid_until_ns; /* its last load here failed, so that other engines are tried before */
    int64_t ordered_ns;     /* when its load was ordered, */
    int64_t loaded_ns;      /* and when it was there */
    int64_t idle_since_ns;  /* TIME_NEVER while it has requests */
    int64_t n_arrived;      /* requests that it ever got, by the last report */
    int64_t
        fresh_until_ns; /* loaded for requests that are on their way to it, so not evicted before */
    int64_t held_until_ns; /* a gateway holds requests for it, as between two slices: not evicted
                              before either */
};
struct manager_engine {
    struct set known; /* services that were ever more than nothing here */
    struct set due;   /* to be loaded here too, if no other model has to leave for it */
    bool has_due;     /* `due` may not be empty */
    bool has_report;
    bool is_unplanned;        /* its node is not there, or cordoned: nothing is loaded here */
    int64_t awaited_until_ns; /* the bytes are for a begun answer: no model is loaded */
};
struct manager_want {
    int64_t until_ns;     /* gateways repeat it while requests are held, */
    int64_t since_ns;     /* since then without a pause, */
    int64_t said_ns;      /* and then the last time */
    bool is_for_requests; /* they are held at a gateway */
    int64_t broken_until_ns;
    enum status cause;
    struct fault fault;
};
struct manager_ask { /* a load or unload with a waiting caller */
    uint64_t id;
    uint8_t kind;
    uint16_t service;
    bool is_judged;   /* an unload that was ordered, if permitted */
    bool is_answered; /* sent as soon as the gateway's mail has room */
    int64_t asked_ns;
    enum status status;
    struct fault fault;
};
struct manager_pin { /* where an operator wants a model */
    bool is_set;
    int node;   /* -1: it is not there */
    int engine; /* the node's own number of it; -1: any */
};
struct cluster_manager {
    struct cluster_manager_options options;
    struct service_spec *services;
    struct cluster_nodes nodes;
    struct cluster_roster roster;
    struct set dismissed; /* services that are on their way out for good */
    int64_t need_bytes[LIMIT_SERVICES];
    struct manager_place *places;      /* (n_engines, n_services_max) */
    struct manager_engine *of_engines; /* (n_engines) */
    struct manager_want wants[LIMIT_SERVICES];
    struct set wanted; /* services */
    int32_t n_due;     /* engines that have_due */
    bool any_expires;  /* some service has a keep-alive time */
    struct engine_report *reports;
    int32_t n_there[LIMIT_SERVICES];  /* while is_counted: copies that are loaded and stay */
    bool is_counted;                  /* during a plan */
    int32_t n_copies[LIMIT_SERVICES]; /* an operator wants at least as many; 0: as requests do */
    struct manager_pin pins[LIMIT_SERVICES];
    struct set paused; /* services that take no new requests */
    uint64_t *drained; /* a set of the nodes whose models leave */
    bool is_frozen;
    struct set news; /* models that operators deployed and no plan had yet: they are alone if that
                        costs no eviction */
    struct manager_move *move; /* manager_move.h; NULL: there was none */
    struct manager_ask asks[MANAGER_ASKS_MAX];
    int n_asks;
    int64_t now_ns;
    /* Planning looks at every engine. With many of them, it does not follow each report. */
    bool has_news; /* a wish came since it planned last */
    int64_t planned_ns, wake_ns;
};

static inline struct manager_place *manager_room_place(const struct cluster_manager *m, int engine,
                                                       int service)
{
    return &m->places[engine * m->options.n_services_max + service];
}

static inline bool manager_room_may_serve(const struct cluster_manager *m, int engine, int service)
{
    const struct manager_pin *pin = &m->pins[service];
    bool is_its_place =
        !pin->is_set || (m->nodes.of_engine[engine] == pin->node &&
                         (pin->engine < 0 || cluster_nodes_own(&m->nodes, engine) == pin->engine));
    return is_its_place && service_spec_allows(&m->services[service].engines, engine);
}

/* Returns whether operators want the model in memory, whatever requests want. */
static inline bool manager_room_is_kept(const struct cluster_manager *m, int service)
{
    return (m->n_copies[service] > 0 || m->pins[service].is_set) && !set_has(&m->paused, service) &&
           !set_has(&m->dismissed, service);
}

static inline bool manager_room_is_in(const struct manager_place *place)
{
    return place->is_asked_in || place->status == SERVICE_LOADED ||
           place->status == SERVICE_LOADING;
}

bool manager_room_is_anywhere(const struct cluster_manager *m, int service);
/* Returns the bytes of an engine that models may have. */
int64_t manager_room_bytes(const struct cluster_manager *m, int engine);
/* Lists the models of an engine for residency; *free_bytes is what neither they nor current orders
 * have claimed. */
int32_t manager_room_list(const struct cluster_manager *m, int engine, struct residency_model *out,
                          int64_t *free_bytes);
/* Lets every loaded model leave, idle ones first. */
void manager_room_open(const struct cluster_manager *m, int engine,
                       struct residency_model *residents, int32_t n);
struct manager_choice {
    int engine;   /* -1: none now */
    bool never;   /* none ever */
    bool is_turn; /* busy models leave, with their requests */
    struct residency_eviction eviction;
};
/* Chooses the engine that can take the model with the fewest evictions, then with the most bytes
 * left. Busy models may keep it out of all engines. When it has been wanted for 30 s, busy models
 * that have been there for as long, and for four times their loading time, make room, except pinned
 * ones. So it waits for one such turn, and for one more for each model that waited before it, at
 * most. */
struct manager_choice manager_room_choose(const struct cluster_manager *m, int service);
/* Counts the copies of each model, so that a plan does not look at all engines for each engine. */
void manager_room_count(struct cluster_manager *m);
/* Returns whether these counts are right. */
bool manager_room_is_sound(const struct cluster_manager *m);
/* Notes that the model is to leave the engine. */
void manager_room_ask_out(struct cluster_manager *m, int engine, int service);
/* Returns whether an engine that is not avoided has the bytes for the model beside those that stay,
 * so that it may take the model now or later. */
bool manager_room_has_hope(const struct cluster_manager *m, int service);
/* Bytes of models that stay on the engine. */
int64_t manager_room_pinned_bytes(const struct cluster_manager *m, int engine);
