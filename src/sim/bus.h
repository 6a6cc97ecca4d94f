/* A simulation with gateway, manager, node and bus: private to bus.c and bus_engine.c. */
#pragma once
#include "base/map.h"
#include "base/ring.h"
#include "cluster/gateway.h"
#include "cluster/manager.h"
#include "cluster/node.h"
#include "sim/channels.h"
#include "sim/state.h"

enum { SIM_BUS_GATEWAY, SIM_BUS_MANAGER, SIM_BUS_NODE };
enum { SIM_BUS_CHANGES = 4 }; /* changes of a service that its node has not received yet */

struct sim_bus_client { /* the bus's fields of a client, beside struct sim_client */
    int32_t *tokens;    /* (n_tokens_max) all tokens that its request will ever have; NULL: gone */
    uint32_t epoch;     /* of the last life that an engine took */
    int32_t n_slices;
};
struct sim_bus_life { /* a request that lies with an engine */
    uint64_t id;
    uint32_t epoch;
    int32_t n_tokens; /* tokens that were sent */
    bool is_there;
};
struct sim_bus_engine { /* as its node sees it */
    struct sim_bus *bus;
    int32_t index;
    struct ring *events;        /* from the engine: events that its node has not taken yet */
    bool is_popping;            /* its first event was shown */
    struct sim_bus_life *lives; /* (n_requests_max) */
    uint32_t *free_lives, n_free_lives;
    struct map by_id;                  /* index into lives */
    struct service_event *returned;    /* (n_requests_max) returned by a crash, sent later */
    uint32_t n_returned, n_told;       /* number in `returned`; number sent so far */
    struct set wanted, there, leaving; /* its node wants it; it is loaded; it leaves */
    int64_t *ready_ns;                 /* (n_services) its weights are there then */
    struct service_change *changes;    /* (n_changes_max) a ring */
    uint32_t first_change, n_changes, n_changes_max;
    struct engine_report report;
    int64_t report_ns;                /* of the last one */
    int64_t wake_ns, crash_ns, up_ns; /* up_ns: 0, or it is down until then */
    uint64_t n_crashes, n_emitted;
    bool has_mail;
};
struct sim_bus_rest { /* whether nothing but reports was due, and when */
    bool is_one;
    int64_t at_ns, n_messages, n_bytes;
    uint64_t n_over; /* requests, until then */
};
struct sim_bus {
    struct sim sim; /* first, because an engine's emit finds the bus by it */
    const struct sim_faults *faults;
    struct sim_channels channels;
    struct sim_bus_engine *engines; /* (n_engines) */
    struct engine_report *own;      /* scratch: a report by the engine's own numbers */
    struct sim_bus_client *clients; /* (n_clients_max) */
    struct cluster_gateway *gateway;
    struct cluster_manager *manager;
    struct cluster_node *node;
    struct service door;
    int64_t report_ns;                       /* between an engine's reports */
    int64_t gateway_ns, manager_ns, node_ns; /* when each wants to be called again */
    struct sim_bus_rest rest;                /* after the last instant */
    bool passes_rest; /* nothing is drawn for a message, and no step is checked */
    bool is_over;     /* no more faults happen: work in flight runs to its end */
};

/* bus_engine.c */
void sim_bus_engine_open(struct sim_bus *bus, int32_t index);
void sim_bus_engine_close(struct sim_bus_engine *e);
struct cluster_engine sim_bus_engine_face(struct sim_bus_engine *e);
/* Does it only report, until it gets mail? */
bool sim_bus_engine_rests(const struct sim_bus_engine *e);
/* Puts an event of a simulated engine into its node's ring. */
bool sim_bus_engine_emit(void *self, const struct service_event *event, const void *payload);
/* Returns the client of a request, or NULL when its place has another client now. */
struct sim_bus_client *sim_bus_client_of(struct sim_bus *bus, uint64_t id);
