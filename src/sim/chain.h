/* A chain: a model whose layers lie over unlike devices, what a step on it takes, and where a
 * planner of layers puts them (place/layers.h).
 *
 * A step passes through the parts of the chain's map in order: each part takes its layers' share of
 * what the whole model would take on its device, each border the link with what the step's tokens
 * hand on, and one link leads back. */
#pragma once
#include "place/layers.h"
#include "place/links.h"
#include "predict/perf.h"
#include "predict/truth.h"

struct sim_chain_device {
    struct perf perf;                    /* of the whole model on it alone */
    int64_t memory_bytes, reserve_bytes; /* reserve: what is not for layers and their KV */
};
struct sim_chain_event {
    int64_t at_ns;
    int32_t device;
    enum sim_chain_what { SIM_CHAIN_LEAVES, SIM_CHAIN_CRASHES, SIM_CHAIN_JOINS } what;
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
/* Batches that may be under way at once: one a part. */
int32_t sim_chain_deep(const struct layers_plan *plan);
/* What the slowest part takes of the step planned for. */
double sim_chain_slowest(const struct sim_chain *chain, const struct layers_plan *plan);
/* Of a step what the i-th part takes on this share of its device, and the link behind it. */
void sim_chain_part_ps(const struct sim_chain *chain, const struct layers_plan *plan, int32_t i,
                       float share, const struct perf_load *load, int64_t ps[2]);
/* A line that is near it: what schedulers and routers reckon with. */
void sim_chain_perf(const struct sim_chain *chain, const struct layers_plan *plan,
                    struct perf *perf);
int64_t sim_chain_tokens(const struct sim_chain *chain, const struct layers_plan *plan);

struct sim_chain_map { /* a chain's truth; both are lent */
    const struct sim_chain *chain;
    const struct layers_plan *plan;
};
struct perf_truth sim_chain_truth(const struct sim_chain_map *map);
