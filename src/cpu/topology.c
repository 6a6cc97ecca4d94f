/* The cores and their arrangement, as hwloc reports them.
 *
 * hwloc knows which cores a container may use. The further limits of taskset, numactl or systemd's
 * CPUAffinity are read from the process. */
#include "base/memory_limit.h"
#include "cpu/cpu.h"

#include <hwloc.h>

static void read_cores(hwloc_topology_t topology, struct cpu_topology *out)
{
    hwloc_obj_t core = NULL;
    while ((core = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_CORE, core)) != NULL) {
        hwloc_obj_t package = hwloc_get_ancestor_obj_by_type(topology, HWLOC_OBJ_PACKAGE, core);
        int processor = hwloc_bitmap_first(core->cpuset);
        if (processor < 0 || processor >= DEVICE_CORES_MAX || out->n_cores == DEVICE_CORES_MAX)
            continue;
        out->cores[out->n_cores++] = (struct cpu_topology_core){
            .processor = processor,
            .socket = package != NULL ? (int32_t)package->logical_index : 0,
        };
    }
}

/* Restricts the topology to the cores that this process is bound to. */
static void restrict_to_own(hwloc_topology_t topology)
{
    hwloc_bitmap_t own = hwloc_bitmap_alloc();
    if (own != NULL && hwloc_get_cpubind(topology, own, HWLOC_CPUBIND_PROCESS) == 0)
        (void)hwloc_topology_restrict(topology, own, 0); /* changes nothing if it fails */
    hwloc_bitmap_free(own);
}

enum status cpu_topology_read(const char *synthetic, struct cpu_topology *out, struct fault *fault)
{
    hwloc_topology_t topology;
    *out = (struct cpu_topology){ .n_sockets = 1 };
    if (hwloc_topology_init(&topology) != 0)
        return fault_set(fault, STATUS_IO, "hwloc can't start");
    if (synthetic != NULL && hwloc_topology_set_synthetic(topology, synthetic) != 0) {
        hwloc_topology_destroy(topology);
        return fault_set(fault, STATUS_BAD_INPUT, "%.60s: not a topology that hwloc understands",
                         synthetic);
    }
    if (hwloc_topology_load(topology) != 0) {
        hwloc_topology_destroy(topology);
        return fault_set(fault, STATUS_IO, "hwloc can't read this machine's topology");
    }
    if (synthetic == NULL)
        restrict_to_own(topology);
    hwloc_const_bitmap_t all = hwloc_topology_get_topology_cpuset(topology);
    out->n_processors = min_i32(hwloc_bitmap_last(all) + 1, DEVICE_CORES_MAX);
    for (int32_t i = 0; i < out->n_processors; i++)
        out->may_use[i] = hwloc_bitmap_isset(all, (unsigned)i);
    out->n_sockets = max_i32(hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_PACKAGE), 1);
    out->memory_bytes = (int64_t)hwloc_get_root_obj(topology)->total_memory;
    if (synthetic == NULL)
        out->memory_bytes = min_i64(out->memory_bytes, memory_limit_bytes());
    read_cores(topology, out);
    hwloc_topology_destroy(topology);
    if (out->n_cores == 0)
        return fault_set(fault, STATUS_NOT_FOUND, "hwloc finds no core that this process may use");
    return STATUS_OK;
}

void cpu_topology_device(const struct cpu_topology *topology, int32_t socket,
                         struct device_spec *out)
{
    bool chosen[DEVICE_CORES_MAX] = { false };
    for (int32_t i = 0; i < topology->n_cores; i++)
        if (socket < 0 || topology->cores[i].socket == socket)
            chosen[topology->cores[i].processor] = true;
    *out = (struct device_spec){ .kind = DEVICE_CPU };
    for (int32_t core = 0; core < DEVICE_CORES_MAX; core++)
        if (chosen[core])
            out->cores[out->n_cores++] = core;
}

enum status cpu_topology_check(const struct cpu_topology *topology,
                               const struct device_spec *device, const char *name,
                               struct fault *fault)
{
    for (int32_t i = 0; i < device->n_cores; i++)
        if (!topology->may_use[device->cores[i]])
            return fault_set(fault, STATUS_BAD_INPUT,
                             "device %.60s: this process may not use core %d (see taskset -p, or "
                             "its container's CPUs)",
                             name, device->cores[i]);
    return STATUS_OK;
}
