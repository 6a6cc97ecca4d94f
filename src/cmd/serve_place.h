/* Which models share which cores of this machine: decided by a planner before anything is loaded,
 * or read from what `shoal plan --out` wrote.
 *
 * Cores are counted in units: a socket is cut into 1, 2, 4, 8 or 16 of them, so that a planner's
 * groups of 1, 2, 4, ... devices are groups of neighbouring cores; memory is divided by cores. A
 * model takes what its profile says, else predict/cores.h. The window is drawn: rates and lengths
 * as configured, or equal rates that keep the machine half busy. Plans are judged by the simulator
 * under the policies that will serve, on one lane an engine. */
#pragma once
#include "cmd/config.h"
#include "cpu/cpu.h"
#include "place/plan.h"

enum { SERVE_UNITS_MAX = LIMIT_ENGINES };
/* An engine of a placement. */
struct serve_engine {
    char device[1024]; /* "cpu:0-1" */
    int64_t memory_bytes;
    bool has[LIMIT_SERVICES];              /* by the configuration's order of models */
    int32_t share_percent[LIMIT_SERVICES]; /* as struct place_member */
    int64_t kv_bytes[LIMIT_SERVICES];
};
struct serve_placement {
    int n; /* 0: the configuration's own devices, or one engine for all */
    struct serve_engine engines[LIMIT_ENGINES];
};
/* The machine in units: cores of unit u are cores[first[u]] to cores[first[u + 1] - 1]. */
struct serve_machine {
    int32_t n_units, n_nodes, n_cores;
    int32_t node_first[SERVE_UNITS_MAX + 1]; /* units */
    int32_t first[SERVE_UNITS_MAX + 1];
    int32_t cores[DEVICE_CORES_MAX];
    int64_t memory_bytes; /* of all engines together */
};
/* Memory: bytes for all of them; 0: 70% of what the machine has. */
void serve_machine_of(const struct cpu_topology *topology, int64_t memory_bytes,
                      struct serve_machine *out);
/* "cpu:0-1": units [first, first + n) as a device. */
void serve_machine_device(const struct serve_machine *machine, int32_t first, int32_t n, char *text,
                          size_t n_bytes);

/* Is there something to decide? Not when devices or lanes are given by hand, nor for one model, nor
 * for a policy that divides the cores itself unless a planner is named. */
bool serve_place_is_asked(const struct config *config);
/* Plans, says so in the log, and sets devices and memory in the configuration, which is checked; it
 * is left as it is where there is nothing to decide. */
enum status serve_place(struct config *config, struct fault *fault) MUST_USE;
/* What a scenario's `engines:` say of these models on this machine; a sentence where they do not
 * fit. */
enum status serve_place_given(const struct config *config, const struct serve_machine *machine,
                              struct serve_placement *out, struct fault *fault) MUST_USE;
/* Puts a placement into the configuration. */
void serve_place_apply(const struct serve_placement *placement, struct config *config);
