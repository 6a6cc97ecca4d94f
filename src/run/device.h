/* A device that computes: a backend and the lock that lets an executor and a loader take turns on
 * it.
 *
 * A backend's team does one thing at a time. Packing holds it for one tensor, a forward pass for
 * one batch, so neither keeps the other waiting long. */
#pragma once
#include "compute/compute.h"

struct run_device {
    struct compute_backend *backend; /* owned */
    struct lock *lock;
};
void run_device_open(struct run_device *device, struct compute_backend *backend);
void run_device_close(struct run_device *device);
enum status run_device_pack(struct run_device *device, const struct tensor *tensor,
                            struct compute_weight **out, struct fault *fault) MUST_USE;
void run_device_run(struct run_device *device, const struct compute_program *program,
                    const struct compute_pass *pass, void *workspace);
