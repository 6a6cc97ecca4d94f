/* The inputs of a pass: see inputs.h. */
#include "cuda/inputs.h"

#include <string.h>

enum { INPUT_BYTES_MAX = 256 << 20 };

static enum status back(struct cuda_driver *driver, struct compute_memory *memory,
                        struct fault *fault)
{
    if (cuda_object_back(driver, memory, 0, CUDA_INPUTS_BYTES))
        return STATUS_OK;
    return fault_set(fault, STATUS_TOO_LARGE, "the GPU has no memory for the inputs of a lane");
}

enum status cuda_inputs_open_device(struct cuda_driver *driver, struct compute_memory **out,
                                    struct fault *fault)
{
    const struct compute_memory_options options = { .n_bytes = INPUT_BYTES_MAX,
                                                    .is_reserved = true };
    enum status status = cuda_object_open(driver, &options, out, fault);
    return status == STATUS_OK ? back(driver, *out, fault) : status;
}

enum status cuda_inputs_open(struct cuda_inputs *inputs, struct cuda_driver *driver,
                             struct compute_memory *device, struct fault *fault)
{
    const struct compute_memory_options options = { .n_bytes = INPUT_BYTES_MAX,
                                                    .is_host = true,
                                                    .is_reserved = true };
    *inputs = (struct cuda_inputs){ .driver = driver, .device = device };
    enum status status = cuda_object_open(driver, &options, &inputs->host, fault);
    return status == STATUS_OK ? back(driver, inputs->host, fault) : status;
}

void cuda_inputs_close(struct cuda_inputs *inputs)
{
    cuda_object_close(inputs->driver, inputs->host);
}

void *cuda_inputs_room(struct cuda_inputs *inputs, int64_t n, int64_t element_bytes,
                       const void **device)
{
    int64_t at = (int64_t)align_up_u64((uint64_t)inputs->n_bytes, 16);
    *device = NULL;
    bool fits = n >= 0 && n <= (INPUT_BYTES_MAX - at) / element_bytes;
    int64_t end = fits ? at + n * element_bytes : 0;
    fits = fits && cuda_object_back(inputs->driver, inputs->host, at, end) &&
           cuda_object_back(inputs->driver, inputs->device, at, end);
    if (!fits) {
        inputs->is_full = true;
        return NULL;
    }
    inputs->n_bytes = end;
    *device = inputs->device->base + at;
    return inputs->host->base + at;
}

const void *cuda_inputs_add(struct cuda_inputs *inputs, const void *from, int64_t n,
                            int64_t element_bytes)
{
    const void *device;
    void *to = cuda_inputs_room(inputs, n, element_bytes, &device);
    if (to != NULL && n > 0)
        memcpy(to, from, (size_t)(n * element_bytes));
    return device;
}

bool cuda_inputs_send(struct cuda_inputs *inputs, struct cuda_stream *stream)
{
    const struct cuda_object_part to = { inputs->device, inputs->n_sent };
    const struct cuda_object_part from = { inputs->host, inputs->n_sent };
    int64_t n = inputs->n_bytes - inputs->n_sent;
    inputs->n_sent = inputs->n_bytes;
    return !inputs->is_full && cuda_object_copy(inputs->driver, stream, to, from, n);
}
