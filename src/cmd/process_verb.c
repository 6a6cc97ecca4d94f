/* shoal process: an engine, a loader or a planner that a server started. It is not for people. */
#include "cmd/gpu.h"
#include "cmd/verbs.h"
#include "cpu/cpu.h"
#include "group/group.h"
#include "live/plan.h"
#include "process/child.h"
#include "process/loader.h"
#include "serve/model_card.h"
#include <stdio.h>
#include <string.h>

static enum status open_device(const struct process_device *device, struct compute_device **out,
                               struct fault *fault)
{
    struct device_spec spec = device->spec;
    enum status status = STATUS_OK;
    if (spec.kind == DEVICE_CPU)
        status = group_open_cpu(&spec, out, fault);
    else
        status = gpu_open(&spec, device->lanes, device->n_lanes, out, fault);
    for (int32_t i = 1; i < device->n_lanes && spec.kind == DEVICE_CPU && status == STATUS_OK; i++)
        cpu_add_lane(*out, &device->lanes[i]);
    return status;
}

int verbs_process(int argc, char **argv)
{
    if (!process_child_begin(argc, argv)) {
        fprintf(stderr, "shoal: this verb is for shoal itself, which starts its engines with it\n");
        return 2;
    }
    if (strcmp(argv[2], "planner") == 0)
        return live_plan_run(PROCESS_CHILD_FDS);
    return strcmp(argv[2], "loader") == 0
               ? process_loader_run(open_device)
               : process_engine_run(open_device, model_card_open_tokenizer);
}
