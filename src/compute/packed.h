/* The weights of a model as one memory object, packed by this process, or by another one that lends
 * the object. */
#pragma once
#include "compute/device.h"

struct compute_packed {
    struct compute_device *device;
    struct compute_memory *memory; /* NULL: the weights sleep in host */
    struct compute_memory *host;   /* of weights that sleep, or while they are copied */
    bool is_lent;                  /* its lender closes it */
    int n, n_max;
    struct compute_weight **weights; /* (n) bound */
    int64_t n_bytes;                 /* of those n, in memory */
};
/* Returns the bytes of an object for these tensors. Each begins at a multiple of 64. */
int64_t compute_packed_bytes(struct compute_device *device, const struct tensor *const *tensors,
                             int n);
/* Opens an object for the tensors, or takes the lent one (NULL: none). Nothing is packed yet. */
enum status compute_packed_open(struct compute_packed *packed, struct compute_device *device,
                                const struct tensor *const *tensors, int n,
                                struct compute_memory *lent, struct fault *fault) MUST_USE;
/* Adds the next tensor of the list: packs it, unless the object was lent packed, and binds it. */
enum status compute_packed_add(struct compute_packed *packed, const struct tensor *tensor,
                               bool is_packed, struct fault *fault) MUST_USE;

/* Puts a model to sleep: its weights are unbound and their bytes lie in host memory, where no
 * device memory is needed for them. If the device's memory is the host's, they stay where they are.
 * Between begin and end the caller copies all bytes of packed->memory to packed->host, unless host
 * is NULL. Returns a fault when there is no host memory; then nothing changed. */
enum status compute_packed_sleep_begin(struct compute_packed *packed, struct fault *fault) MUST_USE;
/* is_copied false: the weights stay as they were. */
void compute_packed_sleep_end(struct compute_packed *packed, bool is_copied);
/* Wakes it: takes device memory, to which the caller copies the bytes before the end. tensors: (n)
 * as they were added; only their types and sizes are read. On a fault it sleeps on. */
enum status compute_packed_wake_begin(struct compute_packed *packed, struct fault *fault) MUST_USE;
enum status compute_packed_wake_end(struct compute_packed *packed,
                                    const struct tensor *const *tensors, bool is_copied,
                                    struct fault *fault) MUST_USE;
void compute_packed_close(struct compute_packed *packed);
