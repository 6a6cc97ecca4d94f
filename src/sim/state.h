/* The state of a simulation, private to this room. */
#pragma once
#include "base/mem.h"
#include "engine/engine.h"
#include "kv/kv.h"
#include "route/core.h"
#include "sim/events.h"
#include "sim/model_exec.h"
#include "sim/scaled_pools.h"
#include "sim/sim.h"
#include "sim/wakes.h"

enum { SIM_LIVE_BITS = 20, SIM_LIVE_USUAL = 65536, SIM_NO_ENGINE = UINT16_MAX };

/* A client while it exists; its last submitted request lies at its index in the table of requests.
 * The request's id is number << SIM_LIVE_BITS | index. */
struct sim_client {
    uint16_t engine, tenant;
    int32_t n_first_predicted; /* its request's n_predicted follows what was outrun */
    bool is_decoding : 1;      /* it waits for an engine that decodes, or is in one */
    bool is_on_its_way : 1;    /* between the two */
    bool is_live : 1, is_cancelled : 1;
    int64_t served_ns; /* set by the engine that returned it; 0: by none */
};
struct sim_told {                 /* record fields over all its submissions */
    int64_t heard_ns, gap_ns_max; /* time of its last tokens; the longest wait between two */
    struct pads_sum lost;
    int32_t n_batches, n_batch_rows, n_swapped, n_early;
};
struct sim_engine {
    struct engine *engine;
    struct sim_model_exec *exec;
    struct set services; /* that it has */
    /* Its own numbers cover only the services that it may ever have. So an engine costs as much as
     * these, however many others there are. */
    int32_t n_services;
    uint16_t *ours, *own; /* by its own number, by ours; sim_engine_own */
    struct sim *sim;
    uint16_t index;
    bool tells_waits; /* engine_options.tells_waits */
};
/* Returns the engine's own number of one of our n_services services. */
static inline uint16_t sim_engine_own(const struct sim_engine *e, int32_t n_services,
                                      int32_t service)
{
    return e->n_services == n_services ? (uint16_t)service : e->own[service]; /* both in order */
}
struct sim {
    const struct sim_options *options;
    struct sim_report *report;
    int64_t clock_ns;
    struct sim_engine *engines;
    struct engine_scratch *scratch; /* one for all of them */
    bool are_fixed;                 /* their services: none gets another */
    struct kv_layout *layouts;      /* (n_services) of every engine's pool */
    int64_t unit_bytes;
    bool (*emit)(void *self, const struct service_event *event, const void *payload);
    struct sim_wakes wakes;
    struct sim_events events;   /* cancels, handovers, services */
    struct length_book lengths; /* without a predictor: nothing */
    struct workload_stream stream;
    struct workload_ask ask; /* the next to come */
    bool has_ask;
    struct sim_client *clients;
    struct route_request *requests; /* (n_clients_max) n_tokens and first_ns as heard of */
    int32_t *n_kv;              /* (n_clients_max) positions whose KV moves to a decode engine; NULL
                                   without roles */
    struct sim_told *told;      /* (n_clients_max) NULL: records are not taken */
    struct workload_ask *asks;  /* (n_clients_max) for the prefix cache; NULL: none */
    struct request blank;       /* all zero; copying it is faster than clearing a request */
    struct request_body *body;  /* scratch, of n_tokens_max tokens */
    uint32_t first_free_client; /* a list through their requests' next; ROUTE_NONE: none */
    uint32_t n_used_clients;    /* clients from here on were never used, and are free too */
    uint32_t n_free_clients, n_clients_max;
    struct route_core door, decode_door; /* the second only with roles */
    bool has_roles;
    struct route_core *more_doors; /* (n_groups - 1) of the other groups of engines */
    uint32_t n_groups;             /* at least 1 */
    struct sim_scaled scaled;
    struct sim_replanning *replacing; /* NULL: models stay where they are */
    struct sim_chains *chains;        /* NULL: every engine is one group of devices */
    struct sim_joins *joins;          /* NULL: all services are there all the time */
    bool is_cut;                      /* ended by until_ns */
    uint64_t n_over;
};

/* engines.c: opens engines without a loaded service, which pass their events to emit with their
 * struct sim_engine as self. */
void sim_engines_open(struct sim *sim, bool (*emit)(void *self, const struct service_event *event,
                                                    const void *payload));
void sim_engines_close(struct sim *sim);
void sim_engines_open_one(struct sim *sim, int32_t index);
void sim_engines_close_one(struct sim *sim, int32_t index);
/* Returns false while there is no room for the weights. */
bool sim_engines_load(struct sim *sim, int32_t index, int32_t service);
/* Marks the weights as loaded. Room for them was made before. */
void sim_engines_ready(struct sim *sim, int32_t index, int32_t service);
/* Returns the spec of its chain's map or of the options; NULL: it is like all others. */
const struct sim_engine_spec *sim_engines_spec(const struct sim *sim, int32_t index);
/* Shows the router which services take requests there, and the pool. */
void sim_engines_show(struct sim *sim, int32_t index, const struct set *services);
void sim_engines_count(struct sim *sim, int32_t index); /* adds its counters to the report */
void sim_engines_count_service(struct sim *sim, int32_t index, int32_t service);
/* Adds a service that joins. */
void sim_engines_add(struct sim *sim, int32_t index, int32_t service);

/* check.c: invariants. Each function notes the first failure in report->wrong. */
void sim_check_event(struct sim *sim, const struct sim_client *client,
                     const struct service_event *event, int64_t now_ns);
void sim_check_step(struct sim *sim, const struct sim_engine *engine);
void sim_check_end(struct sim *sim);

/* door.c, the simulated gateway: requests arrive, wait, are sent by the router, and leave. */
void sim_door_open(struct sim *sim);
void sim_door_close(struct sim *sim);
/* Note that a live client's request waits here: it has arrived, or returned from its engine. */
void sim_door_arrived(struct sim *sim, uint32_t index);
void sim_door_returned(struct sim *sim, uint32_t index, uint8_t why);
void sim_door_gone(struct sim *sim, uint32_t index);     /* it was held, and ends */
void sim_door_changed(struct sim *sim, uint16_t engine); /* it was opened or closed */
/* Notes that it ended at its engine. Call it while its request still exists. */
void sim_door_ended(struct sim *sim, uint32_t index, uint8_t why);
/* Asks the router and sends what it chose. */
void sim_door_send(struct sim *sim);
int64_t sim_door_wake_ns(struct sim *sim); /* when a router wants a call */
int64_t sim_door_n_held(struct sim *sim);
int64_t sim_door_n_forced(const struct sim *sim); /* sent although a target will be missed */
/* Notes that a request's KV has arrived where it can decode. */
void sim_door_come(struct sim *sim, uint64_t id);
/* Return the routing core of the number's group, and the one before an engine. */
static inline struct route_core *sim_door_group(struct sim *sim, uint64_t number)
{
    uint64_t k = number % sim->n_groups;
    return k == 0 ? &sim->door : &sim->more_doors[k - 1];
}
static inline struct route_core *sim_door_of(struct sim *sim, uint32_t engine)
{
    if (sim->n_groups > 1)
        return sim_door_group(sim, engine);
    return sim->has_roles && sim->options->engines[engine].role == SIM_DECODE ? &sim->decode_door
                                                                              : &sim->door;
}
static inline struct route_request *sim_request(const struct sim *sim,
                                                const struct sim_client *client)
{
    return &sim->requests[client - sim->clients];
}

/* run.c: adds the last event of a submission, or tokens, to the client's record. */
void sim_tell(struct sim *sim, const struct sim_client *client, const struct service_event *event);
void sim_tell_tokens(struct sim *sim, const struct sim_client *client, int64_t now_ns);
static inline struct sim_told *sim_told(const struct sim *sim, const struct sim_client *client)
{
    return sim->told != NULL ? &sim->told[client - sim->clients] : NULL;
}

/* A client's place, and its own again. */
uint32_t sim_client_take(struct sim *sim);
void sim_client_put(struct sim *sim, uint32_t index);
/* Make places for the maximum number of clients, a client's request, and the input of the length
 * predictor. */
void sim_clients_open(struct sim *sim);
void sim_request_make(const struct sim *sim, const struct workload_ask *ask, uint32_t index,
                      struct route_request *out);
/* As it is submitted to an engine. */
void sim_request_whole(const struct sim *sim, uint32_t index, struct request *out);
void sim_lengths_open(struct sim *sim);
void sim_lengths_observe(struct sim *sim, const struct sim_client *client,
                         const struct service_event *event);

/* bus.c: does the same with gateway, manager, node and bus instead of door.c. */
void sim_bus_run(const struct sim_options *options, struct sim_report *report);

/* report.c */
void sim_report_open(struct sim *sim);
void sim_report_add(struct sim *sim, const struct sim_client *client,
                    const struct service_event *event);
void sim_report_unfinished(struct sim *sim); /* records of unfinished requests */
