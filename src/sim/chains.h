/* Chains in a simulation: an engine whose model is spread by layers over unlike devices, of which
 * some leave and others join while it runs.
 *
 * A step passes through the parts of the chain's map in order (place/layers.h): each part takes its
 * layers' share of what the whole model would take on its device, each border the link with what
 * the step's tokens hand on, and one link leads back. One batch is on its way at a time. The pool
 * is what the device that is tightest by its layers has room for. HELR, or another planner of
 * layers, plans anew when place/watch.h says so:
 *
 *     SERVING --another map--> CLOSING --all went back--> LOADING --weights are there--> SERVING
 *                                              \--no map--> DOWN --a device joins--> LOADING
 *
 * What runs goes back to the door at the end of its step, waits there, and computes again what it
 * had: a device that leaves does so after the step that it is in. A device keeps the layers that
 * its new part shares with the old; the others come from the host, all devices side by side.
 *
 * With holds and without them it is the same. */
#pragma once
#include "place/layers.h"
#include "place/links.h"
#include "place/watch.h"
#include "predict/perf.h"

struct sim_chain_device {
    struct perf perf;                    /* of the whole model on it alone */
    int64_t memory_bytes, reserve_bytes; /* reserve: what is not for layers and their KV */
};
struct sim_chain_event {
    int64_t at_ns;
    int32_t device;
    bool joins;
};
struct sim_chain { /* of a sim_engine_spec, lent: an engine of one service */
    int32_t service, n_devices, n_layers;
    const struct sim_chain_device *devices;  /* (n_devices) */
    const struct links *links;               /* between them */
    int64_t layer_bytes, kv_bytes_per_token; /* of one layer; of all layers */
    int64_t weights_bytes, activation_bytes; /* as in the service: the ledger's */
    int64_t handed_bytes_per_token;          /* on a border */
    int32_t n_batch, n_context;              /* the step planned for; its KV is reserved */
    enum layers_aim aim;
    const struct sim_chain_event *events; /* (n_events) in the order of time. Of whom the first
                                             event is to join is not there before */
    int32_t n_events;
    double host_bytes_per_s; /* to each device */
    int64_t settle_ns;       /* of every map, besides */
    bool stays; /* nothing is planned anew: the chain waits until all devices of its map are back */
};
/* The map on the devices that are here, (n_devices), with room for n_tokens of KV in all. */
enum status sim_chain_plan(const struct sim_chain *chain, const bool *is_here, int64_t n_tokens,
                           struct layers_plan *plan, struct fault *fault) MUST_USE;
/* Who is there at first: (n_devices). */
void sim_chain_first(const struct sim_chain *chain, bool *is_here);
/* A step on this map; KV tokens that it has room for. */
int64_t sim_chain_step_ps(const struct sim_chain *chain, const struct layers_plan *plan,
                          const struct perf_load *load);
int64_t sim_chain_tokens(const struct sim_chain *chain, const struct layers_plan *plan);

struct sim_chains_report {
    int64_t n_reruns[4];    /* by enum watch_why */
    int64_t n_maps;         /* of them: another map was installed */
    int64_t n_same, n_none; /* the map stayed; no map holds the model */
    int64_t n_returned;     /* requests that went back to the door */
    int64_t loaded_bytes, away_ns;
};

/* Private to this room. */
struct sim;
struct sim_engine_spec;
struct sim_chains;
struct request;
struct sim_chains *sim_chains_open(struct sim *sim); /* before engines; NULL: there are none */
void sim_chains_close(struct sim_chains *chains);
/* What the engine is like on the map of now; NULL: it is no chain. */
const struct sim_engine_spec *sim_chains_spec(const struct sim_chains *chains, int32_t engine);
/* A request of the service has come that will have so many tokens; or, negative, is over. */
void sim_chains_saw(struct sim *sim, int32_t service, int64_t n_tokens);
void sim_chains_stepped(struct sim *sim, int32_t engine);
/* When something happens to them; *is_waiting: what waits at the door may wait for it. */
int64_t sim_chains_wake_ns(const struct sim_chains *chains, bool *is_waiting);
/* Has one of them no map? */
bool sim_chains_is_down(const struct sim_chains *chains);
void sim_chains_tick(struct sim *sim);
void sim_chains_end(struct sim *sim);
