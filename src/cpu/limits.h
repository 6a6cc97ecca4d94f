/* What this machine can do at best, by loops that do nothing else: what kernels are compared with.
 *
 * Every figure is of short windows, the one that nine of ten stay below, so that a neighbour who
 * takes a core for a while does not count. */
#pragma once
#include "core/device.h"

/* Bytes per second that the device's first n_threads cores read together, each its own part of
 * n_bytes again and again: caches where they hold it, else memory. */
double cpu_limits_read(const struct device_spec *device, int n_threads, int64_t n_bytes);

enum cpu_limit {
    CPU_LIMIT_FLOAT,      /* fused multiply-add of floats */
    CPU_LIMIT_HALF,       /* products of 16 bits summed as floats, where a unit makes them */
    CPU_LIMIT_INT8,       /* products of 8 bits summed in 32 */
    CPU_LIMIT_INT8_SHORT, /* the same summed in 16 bits first, as small values allow */
    CPU_LIMIT_N,
};
/* Operations per second (a multiplication and an addition are 2) in registers with the best
 * instructions that this processor has for it, on n_threads cores together. */
double cpu_limits_peak(const struct device_spec *device, int n_threads, enum cpu_limit limit);
const char *cpu_limits_instructions(enum cpu_limit limit); /* "vpmaddubsw, vpmaddwd, vpaddd" */

/* Footprints, in bytes, that lie in a core's second-level cache, in its part of the third, and in
 * memory alone (at most half of what is free). */
struct cpu_limits_sizes {
    int64_t l2, l3, memory;
};
void cpu_limits_sizes(int n_threads, struct cpu_limits_sizes *out);
