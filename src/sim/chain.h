/* A chain: a model whose layers are spread over unlike devices. This file has the time of its
 * steps, and the map that a planner of layers makes (place/layers.h).
 *
 * A step passes through the parts of the chain's map in order. Each part takes its layers' share of
 * the whole model's time on its device. Each border takes the link's time for the data of the
 * step's tokens, and one link leads back. */
#pragma once
#include "place/layers.h"
#include "place/links.h"
#include "predict/perf.h"
#include "predict/truth.h"

struct sim_chain_device {
    struct perf perf;                    /* of the whole model on it alone */
    int64_t memory_bytes, reserve_bytes; /* reserve: for other things than layers and their KV */
};
struct sim_chain_event {
    int64_t at_ns;
    int32_t device;
    enum sim_chain_what { SIM_CHAIN_LEAVES, SIM_CHAIN_CRASHES, SIM_CHAIN_JOINS } what;
};
struct sim_chain { /* of a sim_engine_spec, lent: an engine with one service */
    int32_t service, n_devices, n_layers;
    const struct sim_chain_device *devices;  /* (n_devices) */
    const struct links *links;               /* between them */
    int64_t layer_bytes, kv_bytes_per_token; /* of one layer; of all layers */
    int64_t weights_bytes, activation_bytes; /* for the ledger, as in the service */
    int64_t handed_bytes_per_token;          /* on a border */
    int32_t n_batch, n_context;              /* the planned step; its KV is reserved */
    enum layers_aim aim;
    const struct sim_chain_event *events; /* (n_events) in order of time. A device whose first event
                                             is to join is absent before it */
    int32_t n_events;
    double host_bytes_per_s; /* to each device */
    int64_t settle_ns;       /* of every map, besides */
    bool stays; /* no new plans: the chain waits until all devices of its map are back */
};
/* Plans a map on the devices that are present, (n_devices), with room for n_tokens of KV in all. */
enum status sim_chain_plan(const struct sim_chain *chain, const bool *is_here, int64_t n_tokens,
                           struct layers_plan *plan, struct fault *fault) MUST_USE;
/* Sets which devices are present at first: (n_devices). */
void sim_chain_first(const struct sim_chain *chain, bool *is_here);
/* Return the time of a step on this map, and the KV tokens that it has room for. */
int64_t sim_chain_step_ps(const struct sim_chain *chain, const struct layers_plan *plan,
                          const struct perf_load *load);
/* Returns how many batches may be in flight at once, which is one per part. */
int32_t sim_chain_deep(const struct layers_plan *plan);
/* Returns the seconds that the slowest part takes of the planned step. */
double sim_chain_slowest(const struct sim_chain *chain, const struct layers_plan *plan);
/* Sets the time of a step in the i-th part on this share of its device, and in the link behind
 * it. */
void sim_chain_part_ps(const struct sim_chain *chain, const struct layers_plan *plan, int32_t i,
                       float share, const struct perf_load *load, int64_t ps[2]);
/* Fits a line to its times, for schedulers and routers. */
void sim_chain_perf(const struct sim_chain *chain, const struct layers_plan *plan,
                    struct perf *perf);
int64_t sim_chain_tokens(const struct sim_chain *chain, const struct layers_plan *plan);

struct sim_chain_map { /* a chain as the source of true times; both are lent */
    const struct sim_chain *chain;
    const struct layers_plan *plan;
};
struct perf_truth sim_chain_truth(const struct sim_chain_map *map);
