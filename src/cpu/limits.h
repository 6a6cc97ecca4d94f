/* This machine's best speeds, measured by loops that do nothing else. Kernels are compared with
 * them.
 *
 * Every figure comes from short windows, and is the one that nine of ten windows stay below, so
 * that another process that takes a core for a while does not count. */
#pragma once
#include "core/device.h"

/* Returns the bytes per second that the device's first n_threads cores read together. Each reads
 * its own part of n_bytes again and again, from caches that hold it, else from memory. */
double cpu_limits_read(const struct device_spec *device, int n_threads, int64_t n_bytes);

enum cpu_limit {
    CPU_LIMIT_FLOAT,      /* fused multiply-add of floats */
    CPU_LIMIT_HALF,       /* products of 16 bits summed as floats, by a unit for that */
    CPU_LIMIT_INT8,       /* products of 8 bits summed in 32 */
    CPU_LIMIT_INT8_SHORT, /* the same summed in 16 bits first, as small values allow */
    CPU_LIMIT_N,
};
/* Returns the operations per second (a multiplication and an addition are 2) of n_threads cores
 * together, in registers, with this processor's best instructions for that. */
double cpu_limits_peak(const struct device_spec *device, int n_threads, enum cpu_limit limit);
const char *cpu_limits_instructions(enum cpu_limit limit); /* "vpmaddubsw, vpmaddwd, vpaddd" */

/* Sizes in bytes that fit a core's second-level cache, its part of the third, and only memory (at
 * most half of what is free). */
struct cpu_limits_sizes {
    int64_t l2, l3, memory;
};
void cpu_limits_sizes(int n_threads, struct cpu_limits_sizes *out);
