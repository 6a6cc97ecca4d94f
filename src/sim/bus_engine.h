/* Engines as their node sees them: the real ones behind rings, on virtual time. Their models take
 * time to load, and after a crash they start anew. Private to bus.c, and to the simulated cluster
 * of tests/sim. */
#pragma once
#include "base/map.h"
#include "base/ring.h"
#include "cluster/node.h"
#include "sim/state.h"

enum { SIM_BUS_CHANGES = 4 }; /* changes of a service that its node has not received yet */

/* The engines of one node, and what their owner does for them. */
struct sim_bus_host {
    struct sim sim; /* first, because an engine's emit finds its host by it */
    const struct sim_faults *faults;
    struct sim_bus_engine *engines; /* (n_engines) */
    struct engine_report *own;      /* scratch: a report by the engine's own numbers */
    int64_t report_ns;              /* between an engine's reports */
    bool is_over;                   /* no more faults happen: work in flight runs to its end */
    /* Writes all tokens that the request will ever have. Returns false when those that came with it
     * are not their beginning. */
    bool (*fill)(void *self, const struct request *request, const struct request_body *from,
                 int32_t *tokens);
    /* An engine took a submission that it did not have. */
    void (*taken)(void *self, int32_t engine, const struct request *request);
    /* A submission has ended at its engine, or returns. */
    void (*ended)(void *self, const struct service_event *event);
    void *self;
};
struct sim_bus_life { /* a request that lies with an engine */
    uint64_t id;
    uint32_t epoch;
    int32_t n_tokens; /* tokens that were sent */
    bool is_there;
};
struct sim_bus_engine { /* as its node sees it */
    struct sim_bus_host *host;
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
void sim_bus_engine_open(struct sim_bus_host *host, int32_t index);
void sim_bus_engine_close(struct sim_bus_engine *e);
struct cluster_engine sim_bus_engine_face(struct sim_bus_engine *e);
/* Does it only report, until it gets mail? */
bool sim_bus_engine_rests(const struct sim_bus_engine *e);
/* Is it crashed now? */
bool sim_bus_engine_is_down(const struct sim_bus_engine *e);
/* Puts an event of a simulated engine into its node's ring. */
bool sim_bus_engine_emit(void *self, const struct service_event *event, const void *payload);
