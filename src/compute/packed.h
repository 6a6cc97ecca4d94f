/* The weights of a model as one memory object, packed by this process, or by another one that lends
 * the object. */
#pragma once
#include "compute/device.h"

struct compute_packed {
    struct compute_device *device;
    struct compute_memory *memory;
    bool is_lent; /* its lender closes it */
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
void compute_packed_close(struct compute_packed *packed);
