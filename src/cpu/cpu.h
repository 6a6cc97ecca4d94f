/* The CPU device: packed weights, one table of kernels per instruction set chosen at run time, a
 * team of cores.
 *
 * Its arithmetic is compute.h's. A row's result has the same bits as the reference backend's of
 * this arithmetic, whatever the instruction set, the number of cores and the batch. AMX has an
 * arithmetic of its own for matrices of F16 and BF16. */
#pragma once
#include "compute/device.h"
#include "core/device.h"

/* Zen 4's is AVX-512 with kernels for AMD's processors. Any processor with AVX-512 can run them. */
enum cpu_isa {
    CPU_ISA_GENERIC,
    CPU_ISA_AVX2,
    CPU_ISA_AVX512,
    CPU_ISA_ZEN4,
    CPU_ISA_AMX,
    CPU_ISA_N
};

/* Returns the best set that this processor has and the operating system supports (AMX only when the
 * system permits it). The environment variable SHOAL_CPU_ISA=generic, avx2, avx512, zen4 or amx
 * limits it. */
enum cpu_isa cpu_isa_best(void);
const char *cpu_isa_name(enum cpu_isa isa);

/* Opens a device with all of its cores in lane 0: one team member a core, pinned to it. Instruction
 * sets above isa_max are not used. Its memory is the host's. */
struct compute_device *cpu_open(const struct device_spec *device, enum cpu_isa isa_max);
/* Adds a lane on cores that no other lane but lane 0 has. It takes turns with lane 0. To be called
 * before anything computes. */
void cpu_add_lane(struct compute_device *device, const struct device_spec *part);

/* The cores of a machine, from hwloc. */
struct cpu_topology {
    int32_t n_processors;           /* operating system numbers run below this */
    bool may_use[DEVICE_CORES_MAX]; /* this process may use it, by operating system number */
    int32_t n_sockets;
    int32_t n_cores; /* physical cores that this process may use */
    struct cpu_topology_core {
        int32_t processor; /* operating system's number of its first hardware thread */
        int32_t socket;    /* counted from 0 */
    } cores[DEVICE_CORES_MAX];
    int64_t memory_bytes;
};
/* Reads the topology. synthetic is NULL for this machine, or a hwloc description such as "package:2
 * core:4 pu:2". */
enum status cpu_topology_read(const char *synthetic, struct cpu_topology *out,
                              struct fault *fault) MUST_USE;
/* Describes the device of one socket's cores, one hardware thread a core. socket -1 means all of
 * them. */
void cpu_topology_device(const struct cpu_topology *topology, int32_t socket,
                         struct device_spec *out);
/* Checks whether the process may use all cores of a device, which the user wrote as name. */
enum status cpu_topology_check(const struct cpu_topology *topology,
                               const struct device_spec *device, const char *name,
                               struct fault *fault) MUST_USE;
