/* Decides which models share which cores of this machine. A planner decides before anything is
 * loaded, or a file from `shoal plan --out` is read.
 *
 * Units of cores (machine.h) are the planner's devices, and memory is divided by cores. A
 * model's times come from its profile, else from predict/cores.h. The window is drawn: rates and
 * lengths as configured, or equal rates that keep the machine half busy. The simulator judges plans
 * under the policies that will serve, with one lane per engine. */
#pragma once
#include "config/config.h"
#include "place/plan.h"
#include "serve/machine.h"

/* An engine of a placement. */
struct serve_engine {
    char device[6144]; /* "cpu:0-1"; long enough for all cores, one by one */
    int64_t memory_bytes;
    bool has[LIMIT_MODELS];              /* by the configuration's order of models */
    int32_t share_percent[LIMIT_MODELS]; /* as struct place_member */
    int64_t kv_bytes[LIMIT_MODELS];
    uint8_t role; /* enum engine_role */
};
struct serve_placement {
    int n; /* 0: the configuration's own devices, or one engine for all */
    struct serve_engine engines[LIMIT_DEVICES];
};
/* Returns whether there is something to decide. There is nothing if devices or lanes are given by
 * hand, or for one model. A policy that divides the cores itself needs no plan either, unless a
 * planner is named. */
bool serve_place_is_asked(const struct config *config);
/* Plans, logs the plan, and sets devices and memory in the configuration, which must be checked.
 * The configuration stays unchanged if there is nothing to decide. */
enum status serve_place(struct config *config, struct fault *fault) MUST_USE;
/* Applies a scenario's `engines:` to these models on this machine. Returns a fault if they do not
 * fit. */
enum status serve_place_given(const struct config *config, const struct serve_machine *machine,
                              struct serve_placement *out, struct fault *fault) MUST_USE;
/* Puts a placement into the configuration. */
void serve_place_apply(const struct serve_placement *placement, struct config *config);
