/* A device that computes: backends behind locks. */
#include "run/device.h"

#include "base/team.h"

void run_device_open(struct run_device *device, struct compute_backend *backend)
{
    *device = (struct run_device){ .backend = backend };
    run_device_add_lane(device, backend);
}

void run_device_add_lane(struct run_device *device, struct compute_backend *backend)
{
    CHECK(device->n_lanes < LIMIT_LANES && backend->arithmetic == device->backend->arithmetic);
    device->lanes[device->n_lanes++] = (struct run_device_lane){ backend, lock_open() };
}

void run_device_close(struct run_device *device)
{
    for (int i = 0; i < device->n_lanes; i++) {
        lock_close(device->lanes[i].lock);
        device->lanes[i].backend->close(device->lanes[i].backend->self);
    }
}

/* Lane 0 has every core: it takes all locks, upwards. */
static void take(struct run_device *device, int lane)
{
    lock_take(device->lanes[lane].lock);
    for (int i = 1; i < device->n_lanes && lane == 0; i++)
        lock_take(device->lanes[i].lock);
}

static void put(struct run_device *device, int lane)
{
    for (int i = device->n_lanes - 1; i > 0 && lane == 0; i--)
        lock_put(device->lanes[i].lock);
    lock_put(device->lanes[lane].lock);
}

enum status run_device_pack(struct run_device *device, const struct tensor *tensor,
                            struct compute_weight **out, struct fault *fault)
{
    take(device, 0);
    enum status status = device->backend->pack(device->backend->self, tensor, out, fault);
    put(device, 0);
    return status;
}

void run_device_run(struct run_device *device, int lane, const struct compute_program *program,
                    const struct compute_pass *pass, void *workspace)
{
    struct compute_backend *backend = device->lanes[lane].backend;
    CHECK(lane < device->n_lanes);
    take(device, lane);
    backend->run(backend->self, program, pass, workspace);
    put(device, lane);
}

void run_device_share(struct run_device *device, int lane, void (*work)(void *arg, int rank, int n),
                      void *arg)
{
    struct compute_backend *backend = device->lanes[lane].backend;
    CHECK(lane < device->n_lanes);
    take(device, lane);
    backend->share(backend->self, work, arg);
    put(device, lane);
}
