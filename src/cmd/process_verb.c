/* shoal process: an engine or a loader that a server started. It is not for people. */
#include "cmd/gpu.h"
#include "cmd/verbs.h"
#include "cpu/cpu.h"
#include "process/child.h"
#include "process/loader.h"
#include <stdio.h>
#include <string.h>

static enum status open_device(const struct process_device *device, struct compute_device **out,
                               struct fault *fault)
{
    struct device_spec spec = device->spec;
    if (spec.kind == DEVICE_CUDA) {
        struct lanes whole = { .n = 1 };
        if (device->n_lanes > 1)
            return fault_set(fault, STATUS_UNSUPPORTED,
                             "device cuda:%d: an engine that is a process has no lanes of a GPU; "
                             "leave out lanes, or the setting that makes engines processes",
                             (int)spec.cores[0]);
        return gpu_open(&spec, &whole, out, fault);
    }
    *out = cpu_open(&spec, cpu_isa_best());
    for (int32_t i = 1; i < device->n_lanes; i++)
        cpu_add_lane(*out, &device->lanes[i]);
    return STATUS_OK;
}

int verbs_process(int argc, char **argv)
{
    if (!process_child_begin(argc, argv)) {
        fprintf(stderr, "shoal: this verb is for shoal itself, which starts its engines with it\n");
        return 2;
    }
    return strcmp(argv[2], "loader") == 0 ? process_loader_run(open_device)
                                          : process_engine_run(open_device);
}
