/* Divides this machine's cores into units: a socket is cut into 1, 2, 4, 8 or 16. So a planner's
 * groups of 1, 2, 4, ... devices are groups of neighbouring cores of one socket. */
#pragma once
#include "core/limits.h"
#include "cpu/cpu.h"

enum { SERVE_UNITS_MAX = LIMIT_DEVICES };
/* The machine in units: cores of unit u are cores[first[u]] to cores[first[u + 1] - 1]. */
struct serve_machine {
    int32_t n_units, n_nodes, n_cores;
    int32_t node_first[SERVE_UNITS_MAX + 1]; /* units */
    int32_t first[SERVE_UNITS_MAX + 1];
    int32_t cores[DEVICE_CORES_MAX];
    int64_t memory_bytes; /* of all engines together */
};
/* Makes the units. memory_bytes is for all of them. */
void serve_machine_init(const struct cpu_topology *topology, int64_t memory_bytes,
                        struct serve_machine *out);
/* Writes units [first, first + n) as a device: "cpu:0-1". */
void serve_machine_device(const struct serve_machine *machine, int32_t first, int32_t n, char *text,
                          size_t n_bytes);
