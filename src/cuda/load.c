/* Weights on their way to the GPU: see load.h. */
#include "cuda/load.h"

#include "base/time.h"
#include "cuda/pack.h"
#include <string.h>

enum { HALF_BYTES = 4 << 20, RATE_COPIES = 8 };

enum status cuda_load_open(struct cuda_load *load, struct cuda_driver *driver, struct fault *fault)
{
    const struct compute_memory_options options = { .n_bytes = 2 * HALF_BYTES, .is_host = true };
    *load = (struct cuda_load){ .driver = driver, .lock = lock_open() };
    enum status status = cuda_object_open(driver, &options, &load->staging, fault);
    load->stream = cuda_driver_stream_open(driver, NULL);
    load->events[0] = cuda_driver_event_open(driver);
    load->events[1] = cuda_driver_event_open(driver);
    bool is_open = load->stream != NULL && load->events[0] != NULL && load->events[1] != NULL;
    if (status == STATUS_OK && !is_open)
        status = fault_set(fault, STATUS_UNSUPPORTED, "the GPU opens no stream");
    if (status != STATUS_OK)
        cuda_load_close(load);
    return status;
}

void cuda_load_close(struct cuda_load *load)
{
    cuda_driver_stream_close(load->driver, load->stream);
    cuda_driver_event_close(load->driver, load->events[0]);
    cuda_driver_event_close(load->driver, load->events[1]);
    cuda_object_close(load->driver, load->staging);
    lock_close(load->lock);
}

/* The half that may be filled now; NULL: the GPU is lost. */
static unsigned char *free_half(struct cuda_load *load)
{
    load->half = 1 - load->half;
    if (!cuda_driver_wait(load->driver, load->events[load->half]))
        return NULL;
    return load->staging->base + (int64_t)load->half * HALF_BYTES;
}

static bool send(struct cuda_load *load, struct cuda_object_part to, int64_t n_bytes)
{
    const struct cuda_object_part from = { load->staging, (int64_t)load->half * HALF_BYTES };
    return cuda_object_copy(load->driver, load->stream, to, from, n_bytes) &&
           cuda_driver_record(load->driver, load->events[load->half], load->stream);
}

static bool end(struct cuda_load *load)
{
    return cuda_driver_wait(load->driver, load->events[0]) &&
           cuda_driver_wait(load->driver, load->events[1]);
}

bool cuda_load_bytes(struct cuda_load *load, const void *from, struct cuda_object_part to,
                     int64_t n_bytes)
{
    bool is_well = true;
    lock_take(load->lock);
    for (int64_t at = 0; at < n_bytes && is_well; at += HALF_BYTES) {
        int64_t n = min_i64(HALF_BYTES, n_bytes - at);
        unsigned char *half = free_half(load);
        if (half != NULL)
            memcpy(half, (const unsigned char *)from + at, (size_t)n);
        is_well = half != NULL && send(load, (struct cuda_object_part){ to.memory, to.at + at }, n);
    }
    is_well = end(load) && is_well;
    lock_put(load->lock);
    return is_well;
}

/* One part of all rows, as many rows at a time as a half holds. */
static bool send_part(struct cuda_load *load, const struct tensor *tensor, int part,
                      int64_t row_bytes, struct cuda_object_part to)
{
    int64_t n_at_once = HALF_BYTES / row_bytes;
    bool is_well = true;
    for (int64_t row = 0; row < tensor->n_rows && is_well; row += n_at_once) {
        int64_t n = min_i64(n_at_once, tensor->n_rows - row);
        unsigned char *half = free_half(load);
        for (int64_t i = 0; i < n && half != NULL; i++)
            cuda_pack_row(tensor, part, (int32_t)(row + i), half + i * row_bytes);
        is_well = half != NULL &&
                  send(load, (struct cuda_object_part){ to.memory, to.at + row * row_bytes },
                       n * row_bytes);
    }
    return is_well;
}

enum status cuda_load_tensor(struct cuda_load *load, const struct tensor *tensor,
                             struct compute_memory *memory, int64_t at, struct fault *fault)
{
    struct cuda_object *m = (struct cuda_object *)memory;
    enum status status = cuda_pack_check(tensor, fault);
    if (status != STATUS_OK)
        return status;
    struct cuda_layout layout =
        cuda_layout_of((int32_t)tensor->dtype, tensor->n_rows, tensor->n_columns);
    CHECK(at % 64 == 0 && at + layout.n_bytes <= memory->n_bytes);
    if (m->host != NULL) {
        cuda_pack_all(tensor, m->host->base + at);
        return STATUS_OK;
    }
    bool is_well = true;
    lock_take(load->lock);
    for (int part = 0; part < CUDA_PARTS && is_well; part++) {
        if (layout.row_bytes[part] > HALF_BYTES)
            status = fault_set(fault, STATUS_TOO_LARGE, "a row of %d columns is too long to load",
                               tensor->n_columns);
        else if (layout.row_bytes[part] > 0)
            is_well = send_part(load, tensor, part, layout.row_bytes[part],
                                (struct cuda_object_part){ memory, at + layout.at[part] });
    }
    is_well = end(load) && is_well;
    lock_put(load->lock);
    return is_well ? status : fault_set(fault, STATUS_IO, "the GPU was lost while a load ran");
}

bool cuda_load_copy(struct cuda_load *load, struct cuda_object_part to,
                    struct cuda_object_part from, int64_t n_bytes)
{
    lock_take(load->lock);
    bool is_well = cuda_object_copy(load->driver, load->stream, to, from, n_bytes) &&
                   cuda_driver_record(load->driver, load->events[0], load->stream) &&
                   cuda_driver_wait(load->driver, load->events[0]);
    lock_put(load->lock);
    return is_well;
}

int64_t cuda_load_rate(struct cuda_load *load)
{
    const struct compute_memory_options options = { .n_bytes = HALF_BYTES };
    struct compute_memory *scratch;
    struct fault fault;
    if (cuda_object_open(load->driver, &options, &scratch, &fault) != STATUS_OK)
        return 0;
    int64_t begin_ns = 0;
    bool is_well = true;
    for (int i = 0; i <= RATE_COPIES && is_well; i++) { /* the first one warms up */
        if (i == 1)
            begin_ns = time_now_ns();
        is_well = cuda_load_copy(load, (struct cuda_object_part){ scratch, 0 },
                                 (struct cuda_object_part){ load->staging, 0 }, HALF_BYTES);
    }
    int64_t took_ns = max_i64(time_now_ns() - begin_ns, 1);
    cuda_object_close(load->driver, scratch);
    return is_well ? (int64_t)((double)RATE_COPIES * HALF_BYTES / (double)took_ns * 1e9) : 0;
}
