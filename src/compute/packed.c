/* Packed weights, one behind the other in one object. */
#include "compute/packed.h"

#include "base/mem.h"

enum { ALIGN = 64 };

static int64_t bytes_of(struct compute_device *device, const struct tensor *tensor)
{
    int64_t n_bytes = device->packed_bytes(device->self, tensor);
    return (int64_t)align_up_u64((uint64_t)n_bytes, ALIGN);
}

int64_t compute_packed_bytes(struct compute_device *device, const struct tensor *const *tensors,
                             int n)
{
    int64_t n_bytes = 0;
    for (int i = 0; i < n; i++)
        n_bytes += bytes_of(device, tensors[i]);
    return n_bytes;
}

enum status compute_packed_open(struct compute_packed *packed, struct compute_device *device,
                                const struct tensor *const *tensors, int n,
                                struct compute_memory *lent, struct fault *fault)
{
    const struct compute_memory_options options = { .n_bytes =
                                                        compute_packed_bytes(device, tensors, n) };
    *packed = (struct compute_packed){
        .device = device, .memory = lent, .is_lent = lent != NULL, .n_max = n
    };
    if (lent != NULL && lent->n_bytes < options.n_bytes)
        return fault_set(fault, STATUS_BAD_INPUT,
                         "the memory for packed weights has %lld bytes, but they take %lld",
                         (long long)lent->n_bytes, (long long)options.n_bytes);
    enum status status = STATUS_OK;
    if (lent == NULL)
        status = device->memory_open(device->self, &options, &packed->memory, fault);
    if (status == STATUS_OK)
        packed->weights = mem_take(sizeof(*packed->weights) * (size_t)n);
    return status;
}

enum status compute_packed_add(struct compute_packed *packed, const struct tensor *tensor,
                               bool is_packed, struct fault *fault)
{
    struct compute_device *device = packed->device;
    enum status status = STATUS_OK;
    int64_t n_bytes = bytes_of(device, tensor);
    CHECK(packed->n < packed->n_max && packed->n_bytes + n_bytes <= packed->memory->n_bytes);
    if (!is_packed)
        status = device->pack(device->self, tensor, packed->memory, packed->n_bytes, fault);
    if (status == STATUS_OK)
        status = device->bind(device->self, tensor, packed->memory, packed->n_bytes,
                              &packed->weights[packed->n], fault);
    if (status != STATUS_OK)
        return status;
    packed->n++;
    packed->n_bytes += n_bytes;
    return STATUS_OK;
}

static void give(struct compute_packed *packed, struct compute_memory **memory)
{
    if (*memory != NULL)
        packed->device->memory_close(packed->device->self, *memory);
    *memory = NULL;
}

static void unbind_all(struct compute_packed *packed)
{
    for (int i = 0; i < packed->n; i++)
        if (packed->weights[i] != NULL)
            packed->device->unbind(packed->device->self, packed->weights[i]);
    for (int i = 0; i < packed->n; i++)
        packed->weights[i] = NULL;
}

enum status compute_packed_sleep_begin(struct compute_packed *packed, struct fault *fault)
{
    struct compute_device *device = packed->device;
    const struct compute_memory_options options = { .n_bytes = packed->memory->n_bytes,
                                                    .is_host = true };
    CHECK(!packed->is_lent && packed->host == NULL);
    return device->memory_copy != NULL
               ? device->memory_open(device->self, &options, &packed->host, fault)
               : STATUS_OK;
}

void compute_packed_sleep_end(struct compute_packed *packed, bool is_copied)
{
    if (!is_copied) {
        give(packed, &packed->host);
        return;
    }
    unbind_all(packed);
    if (packed->host != NULL)
        give(packed, &packed->memory);
}

enum status compute_packed_wake_begin(struct compute_packed *packed, struct fault *fault)
{
    struct compute_device *device = packed->device;
    if (packed->host == NULL)
        return STATUS_OK;
    const struct compute_memory_options options = { .n_bytes = packed->host->n_bytes };
    return device->memory_open(device->self, &options, &packed->memory, fault);
}

enum status compute_packed_wake_end(struct compute_packed *packed,
                                    const struct tensor *const *tensors, bool is_copied,
                                    struct fault *fault)
{
    struct compute_device *device = packed->device;
    enum status status = STATUS_OK;
    int64_t at = 0;
    if (!is_copied)
        status = fault_set(fault, STATUS_IO, "the weights could not be copied back");
    for (int i = 0; i < packed->n && status == STATUS_OK; i++) {
        status =
            device->bind(device->self, tensors[i], packed->memory, at, &packed->weights[i], fault);
        at += bytes_of(device, tensors[i]);
    }
    if (status != STATUS_OK)
        unbind_all(packed);
    if (packed->host != NULL)
        give(packed, status == STATUS_OK ? &packed->host : &packed->memory);
    return status;
}

void compute_packed_close(struct compute_packed *packed)
{
    if (packed->device == NULL)
        return;
    unbind_all(packed);
    mem_give(packed->weights);
    if (!packed->is_lent)
        give(packed, &packed->memory);
    give(packed, &packed->host);
    *packed = (struct compute_packed){ 0 };
}
