/* The work of a loader's process. */
#include "process/loader.h"

#include "base/team.h"
#include "process/child.h"
#include "run/model.h"
#include <stdio.h>
#include <sys/mman.h>

static enum status pack(struct process_loader_job *job, struct compute_device *device,
                        struct fault *fault)
{
    struct weights *weights;
    struct compute_memory *memory;
    struct run_model model;
    enum status status = weights_open(&weights, job->path, fault);
    if (status != STATUS_OK)
        return status;
    job->file_hash = weights_hash(weights);
    const struct compute_memory_options options = { .n_bytes = job->n_bytes,
                                                    .has_fd = true,
                                                    .fd = PROCESS_CHILD_FDS + 1 };
    if (run_model_packed_bytes(weights, device) != job->n_bytes)
        status = fault_set(fault, STATUS_IO, "the file changed while it was read");
    else
        status = device->memory_open(device->self, &options, &memory, fault);
    if (status != STATUS_OK) {
        weights_close(weights);
        return status;
    }
    const struct run_model_options model_options = {
        .device = device, .kv_dtype = DTYPE_F16, .memory = memory, .progress = &job->progress
    };
    status = run_model_open(&model, weights, &model_options, fault);
    if (status == STATUS_OK)
        run_model_close(&model);
    device->memory_close(device->self, memory);
    return status;
}

int process_loader_run(process_engine_open_device *open_device)
{
    struct compute_device *device;
    struct fault fault = { "" };
    struct process_loader_job *job =
        mmap(NULL, sizeof *job, PROT_READ | PROT_WRITE, MAP_SHARED, PROCESS_CHILD_FDS, 0);
    if (job == MAP_FAILED)
        return 2;
    thread_give_way(); /* requests take precedence over a load */
    enum status status = open_device(&job->device, &device, &fault);
    if (status == STATUS_OK) {
        status = pack(job, device, &fault);
        device->close(device->self);
    }
    job->fault = fault;
    job->status = (int32_t)status;
    return 0;
}
