/* A lane of the CPU device: a thread that takes work from a queue, and the team that it leads. */
#pragma once
#include "base/team.h"
#include "base/wake.h"
#include "compute/device.h"
#include "compute/drawer.h"
#include "cpu/kernels.h"

struct cpu_lane {
    struct compute_lane face;
    const struct cpu_kernels *kernels;
    struct team *team;
    struct thread *thread;
    struct lock *turn; /* held by work that keeps the lane's cores */
    struct lock *lock; /* of the queue */
    struct compute_work *first, *last;
    struct wake wake; /* there is work, masks arrived, or the lane closes */
    _Atomic bool is_closing;
    /* Lanes on the same cores. For lane 0: all others. */
    struct cpu_lane *const *others;
    const int *n_others;
};
struct cpu_lane_options {
    const struct device_spec *cores;
    const struct cpu_kernels *kernels;
    struct cpu_lane *const *others; /* see struct cpu_lane: both may change until work begins */
    const int *n_others;
    int index;
};
void cpu_lane_open(struct cpu_lane *lane, const struct cpu_lane_options *options);
void cpu_lane_close(struct cpu_lane *lane);
void cpu_lane_begin(struct cpu_lane *lane, struct compute_work *work);

struct cpu_workspace {
    struct compute_workspace face;
    struct cpu_lane *lane;
    struct compute_drawer drawer;
    size_t at_logits;
};
/* Implement the functions of compute_device. */
int64_t cpu_lane_workspace_bytes(const struct cpu_lane *lane, const struct compute_program *program,
                                 struct compute_sizes sizes);
enum status cpu_lane_workspace_open(struct cpu_lane *lane, const struct compute_program *program,
                                    struct compute_sizes sizes, struct cpu_workspace **out,
                                    struct fault *fault) MUST_USE;
void cpu_lane_workspace_close(struct cpu_workspace *workspace);
