/* The CUDA device: lanes on one GPU, behind the device contract (compute/device.h).
 *
 * Its arithmetic is stated in cuda/kernels.h: a row's result depends on the row, its cache and its
 * class (prompt or generated), and on nothing else. */
#pragma once
#include "compute/device.h"
#include "cuda/driver.h"

struct cuda_options {
    int32_t index;   /* of the GPU, from 0 */
    int32_t n_lanes; /* with lane 0, which has the whole GPU */
    /* (n_lanes - 1) shares of the other lanes. Each gets processors of its own, in proportion.
     * NULL: each has the whole GPU, too. */
    const int32_t *shares;
    /* Prompt rows are computed in the class of generated rows. So a block may be reused wherever
     * its tokens are the same, and prompts take longer. */
    bool is_strict;
    bool is_plain; /* decode steps are not recorded as graphs, but launched kernel by kernel */
};
/* STATUS_UNSUPPORTED with a sentence when there is no such GPU. */
enum status cuda_open(const struct cuda_options *options, struct compute_device **out,
                      struct fault *fault) MUST_USE;
/* Bytes of the GPU's memory that are free for a process that uses no other device. */
int64_t cuda_free_bytes(const struct compute_device *device);

/* libshoal_cuda.so exports this as the symbol CUDA_PLUGIN. The program checks that the sizes are
 * its own, so that no plug-in of another build is used. */
#define CUDA_PLUGIN "cuda_plugin"
struct cuda_plugin {
    size_t plugin_bytes, device_bytes, pass_bytes;
    enum status (*open)(const struct cuda_options *options, struct compute_device **out,
                        struct fault *fault);
    int64_t (*free_bytes)(const struct compute_device *device);
    int32_t (*count)(struct fault *fault);
    bool (*look)(int32_t index, struct cuda_driver_info *info);
};
