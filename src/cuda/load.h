/* Weights on their way to the GPU: packed by the host into a small pinned buffer. One half
 * is filled while the other half is copied. Loads have a stream of their own, so they stop no pass.
 */
#pragma once
#include "base/team.h"
#include "core/tensor.h"
#include "cuda/object.h"

struct cuda_blas;
struct cuda_load {
    struct cuda_driver *driver;
    struct cuda_blas *blas; /* see cuda/blas.h; the device's */
    struct lock *lock;      /* one loader at a time */
    struct cuda_stream *stream;
    struct compute_memory *staging;
    struct cuda_event *events[2]; /* of the last copy from each half */
    int half;
};
enum status cuda_load_open(struct cuda_load *load, struct cuda_driver *driver,
                           struct fault *fault) MUST_USE;
void cuda_load_close(struct cuda_load *load);
/* Packs a tensor as cuda/form.h says at `at` of the object, and waits until it is there. */
enum status cuda_load_tensor(struct cuda_load *load, const struct tensor *tensor,
                             struct compute_memory *memory, int64_t at,
                             struct fault *fault) MUST_USE;
/* Copies bytes of host memory to GPU memory, and waits until they are there. False: the GPU is
 * lost. */
bool cuda_load_bytes(struct cuda_load *load, const void *from, struct cuda_object_part to,
                     int64_t n_bytes);
/* Copies between GPU memory and pinned memory, and waits. False: the GPU is lost. */
bool cuda_load_copy(struct cuda_load *load, struct cuda_object_part to,
                    struct cuda_object_part from, int64_t n_bytes);
/* Measures how many bytes a second the GPU copies from pinned memory; 0: it has no memory to try.
 */
int64_t cuda_load_rate(struct cuda_load *load);
