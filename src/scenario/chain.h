/* Chains of a scenario: groups of engines with `chain:`, and their devices that leave, crash and
 * join. */
#pragma once
#include "core/service_size.h"
#include "scenario/scenario.h"
#include "sim/chain.h"

struct predict_model;
struct scenario_chain_made {
    struct sim_chain chain;
    struct sim_chain_device *devices;
    struct sim_chain_event *events;
    struct links links;
    struct perf perf;                /* of a step on the first map, as a line */
    double flops_per_s, bytes_per_s; /* of all devices */
    int64_t memory_bytes;
};
struct scenario_chain_ask {
    const struct scenario *scenario;
    const struct scenario_group *group;
    const struct predict_model *model; /* of its single service; NULL: it has none, or several */
    int32_t service, first_device;     /* devices of all chains are numbered in the file's order */
    struct service_size size;
};
/* To be freed also after a fault. */
enum status scenario_chain_make(struct scenario_chain_made *made,
                                const struct scenario_chain_ask *ask, struct fault *fault) MUST_USE;
void scenario_chain_free(struct scenario_chain_made *made);
/* Checks that all rows of devices that leave, crash and join name one of the n_devices of
 * chains. */
enum status scenario_chain_check(const struct scenario *scenario, int32_t n_devices,
                                 struct fault *fault) MUST_USE;
