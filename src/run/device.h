/* A device that computes: a backend per lane, and locks that let executors and a loader take turns.
 *
 * Lane 0 is all of the device and packs; further lanes are shares of its cores that compute side by
 * side, with the same bits: weights packed by lane 0 serve them all. A backend's team does one
 * thing at a time. Packing holds the device for one tensor, a forward pass its lane for one batch,
 * so neither keeps the other waiting long. */
#pragma once
#include "compute/compute.h"

struct run_device {
    struct compute_backend *backend; /* owned; of lane 0 */
    int n_lanes;
    struct run_device_lane {
        struct compute_backend *backend; /* owned */
        struct lock *lock;
    } lanes[LIMIT_LANES];
};
void run_device_open(struct run_device *device, struct compute_backend *backend);
/* A further lane: a backend of the same arithmetic and packing on cores that no other lane but lane
 * 0 has. Before anything computes. */
void run_device_add_lane(struct run_device *device, struct compute_backend *backend);
void run_device_close(struct run_device *device);
enum status run_device_pack(struct run_device *device, const struct tensor *tensor,
                            struct compute_weight **out, struct fault *fault) MUST_USE;
/* Waits for lanes that share cores with this one. */
void run_device_run(struct run_device *device, int lane, const struct compute_program *program,
                    const struct compute_pass *pass, void *workspace);
/* Work of the same lane between passes, shared by its members: see compute_backend.share. */
void run_device_share(struct run_device *device, int lane, void (*work)(void *arg, int rank, int n),
                      void *arg);
