/* The inputs of a pass, gathered in pinned host memory and copied at once to an equal place in
 * GPU memory. Both sides are ranges that only ever grow, so no address changes. From the start they
 * have room for usual steps, so that nothing is allocated in a step. */
#pragma once
#include "cuda/object.h"

enum { CUDA_INPUTS_BYTES = 256 << 10 }; /* on each side, from the start */

struct cuda_inputs {
    struct cuda_driver *driver;
    struct compute_memory *host, *device;
    int64_t n_bytes, n_sent; /* written, and of those on their way */
    bool is_full;            /* something found no room */
};
/* The GPU's side belongs to the caller, and may be that of several inputs of one stream. */
enum status cuda_inputs_open(struct cuda_inputs *inputs, struct cuda_driver *driver,
                             struct compute_memory *device, struct fault *fault) MUST_USE;
enum status cuda_inputs_open_device(struct cuda_driver *driver, struct compute_memory **out,
                                    struct fault *fault) MUST_USE;
void cuda_inputs_close(struct cuda_inputs *inputs);
/* Room for n elements at a multiple of 16: *device is where the GPU will see them. Nothing that was
 * written before moves. NULL: there is no room, and is_full says so from now on. */
void *cuda_inputs_room(struct cuda_inputs *inputs, int64_t n, int64_t element_bytes,
                       const void **device);
/* The same with the elements of `from`; returns where the GPU will see them. */
const void *cuda_inputs_add(struct cuda_inputs *inputs, const void *from, int64_t n,
                            int64_t element_bytes);
/* Enqueues the copy of what was written since the last one. */
bool cuda_inputs_send(struct cuda_inputs *inputs, struct cuda_stream *stream);
