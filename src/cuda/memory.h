/* Memory objects of the CUDA device: ranges of GPU memory, or pinned memory of the host. */
#pragma once
#include "compute/work.h"
#include "cuda/driver.h"

struct cuda_memory {
    struct compute_memory face;
    /* The bytes of a descriptor. GPU memory can't be the descriptor's, so they lie in host memory
     * too: packing writes there, and binding copies to the GPU. NULL: none. */
    struct compute_memory *host;
    int64_t range_bytes, granule_bytes; /* the range is a whole number of granules */
    bool is_reserved;
    bool *is_backed; /* of a reserved object, per granule */
};
/* As compute_device has them. */
enum status cuda_memory_open(struct cuda_driver *driver,
                             const struct compute_memory_options *options,
                             struct compute_memory **out, struct fault *fault) MUST_USE;
void cuda_memory_close(struct cuda_driver *driver, struct compute_memory *memory);
bool cuda_memory_back(struct cuda_driver *driver, struct compute_memory *memory, int64_t from,
                      int64_t to);
void cuda_memory_drop(struct cuda_driver *driver, struct compute_memory *memory, int64_t from,
                      int64_t to);

/* Enqueues a copy of bytes that lie inside both objects. */
struct cuda_memory_part {
    struct compute_memory *memory;
    int64_t at;
};
bool cuda_memory_copy(struct cuda_driver *driver, struct cuda_stream *stream,
                      struct cuda_memory_part to, struct cuda_memory_part from, int64_t n_bytes);
