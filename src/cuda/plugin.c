/* The one symbol of libshoal_cuda.so. */
#include "cuda/cuda.h"

extern const struct cuda_plugin cuda_plugin;
__attribute__((visibility("default"))) const struct cuda_plugin cuda_plugin = {
    .plugin_bytes = sizeof(struct cuda_plugin),
    .device_bytes = sizeof(struct compute_device),
    .pass_bytes = sizeof(struct compute_pass),
    .open = cuda_open,
    .free_bytes = cuda_free_bytes,
    .count = cuda_driver_count,
    .look = cuda_driver_look,
};
