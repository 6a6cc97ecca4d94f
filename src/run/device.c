/* A device that computes: a backend behind a lock. */
#include "run/device.h"

#include "base/team.h"

void run_device_open(struct run_device *device, struct compute_backend *backend)
{
    *device = (struct run_device){ .backend = backend, .lock = lock_open() };
}

void run_device_close(struct run_device *device)
{
    lock_close(device->lock);
    device->backend->close(device->backend->self);
}

enum status run_device_pack(struct run_device *device, const struct tensor *tensor,
                            struct compute_weight **out, struct fault *fault)
{
    lock_take(device->lock);
    enum status status = device->backend->pack(device->backend->self, tensor, out, fault);
    lock_put(device->lock);
    return status;
}

void run_device_run(struct run_device *device, const struct compute_program *program,
                    const struct compute_pass *pass, void *workspace)
{
    lock_take(device->lock);
    device->backend->run(device->backend->self, program, pass, workspace);
    lock_put(device->lock);
}
