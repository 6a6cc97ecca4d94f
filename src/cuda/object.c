/* Memory objects of the CUDA device: see object.h.
 *
 * An object that is reserved is mapped, or pinned, granule by granule, since a mapping can only be
 * undone whole. Others are one piece. */
#include "cuda/object.h"

#include "base/mem.h"
#include "compute/host.h"

static int64_t whole_granules(const struct cuda_object *m, int64_t n_bytes)
{
    return (int64_t)align_up_u64((uint64_t)max_i64(n_bytes, 1), (uint64_t)m->granule_bytes);
}

/* Puts memory behind a piece. */
static bool put(struct cuda_driver *driver, struct cuda_object *m, int64_t at, int64_t n_bytes)
{
    unsigned char *p = m->face.base + at;
    return m->face.is_host ? cuda_driver_pin(driver, p, n_bytes)
                           : cuda_driver_map(driver, p, n_bytes);
}

static void take(struct cuda_driver *driver, struct cuda_object *m, int64_t at, int64_t n_bytes)
{
    if (m->face.is_host)
        cuda_driver_unpin(driver, m->face.base + at);
    else
        cuda_driver_unmap(driver, m->face.base + at, n_bytes);
}

/* Takes the addresses: those of the host have memory, once they are touched. */
static enum status take_range(struct cuda_driver *driver, struct cuda_object *m,
                              const struct compute_memory_options *options, struct fault *fault)
{
    struct compute_memory_options host = *options;
    bool is_host = options->is_host || options->has_fd;
    enum status status = STATUS_OK;
    host.n_bytes = options->is_reserved ? m->range_bytes : options->n_bytes;
    if (is_host)
        status = compute_host_open(NULL, &host, &m->host, fault);
    if (status != STATUS_OK)
        return status;
    m->face.base = options->is_host ? m->host->base : cuda_driver_reserve(driver, m->range_bytes);
    if (m->face.base != NULL)
        return STATUS_OK;
    compute_host_close(NULL, m->host);
    return fault_set(fault, STATUS_TOO_LARGE, "the GPU has no addresses for %lld bytes",
                     (long long)options->n_bytes);
}

static void give_range(struct cuda_driver *driver, struct cuda_object *m)
{
    if (!m->face.is_host)
        cuda_driver_release(driver, m->face.base, m->range_bytes);
    compute_host_close(NULL, m->host);
}

/* Returns the mapped or pinned bytes of an object that is one piece. */
static int64_t piece_bytes(const struct cuda_object *m)
{
    return m->face.is_host ? max_i64(m->face.n_bytes, 1) : m->range_bytes;
}

enum status cuda_object_open(struct cuda_driver *driver,
                             const struct compute_memory_options *options,
                             struct compute_memory **out, struct fault *fault)
{
    if (options->n_bytes < 0 || options->n_bytes > PTRDIFF_MAX / 2)
        return fault_set(fault, STATUS_TOO_LARGE, "there is no memory for %lld bytes",
                         (long long)options->n_bytes);
    struct cuda_object *m = mem_take(sizeof(*m));
    m->granule_bytes = cuda_driver_describe(driver)->granule_bytes;
    m->face = (struct compute_memory){ NULL, options->n_bytes, options->is_host };
    m->range_bytes = whole_granules(m, options->n_bytes);
    m->is_reserved = options->is_reserved;
    enum status status = take_range(driver, m, options, fault);
    if (status == STATUS_OK && options->is_reserved)
        m->is_backed = mem_take(sizeof(bool) * (size_t)(m->range_bytes / m->granule_bytes));
    else if (status == STATUS_OK && !put(driver, m, 0, piece_bytes(m))) {
        give_range(driver, m);
        status =
            fault_set(fault, STATUS_TOO_LARGE, "the GPU has no %s for %lld bytes",
                      options->is_host ? "pinned memory" : "memory", (long long)options->n_bytes);
    }
    if (status != STATUS_OK) {
        mem_give(m);
        return status;
    }
    *out = &m->face;
    return STATUS_OK;
}

void cuda_object_close(struct cuda_driver *driver, struct compute_memory *face)
{
    struct cuda_object *m = (struct cuda_object *)face;
    if (m == NULL)
        return;
    for (int64_t i = 0; i < m->range_bytes / m->granule_bytes && m->is_reserved; i++)
        if (m->is_backed[i])
            take(driver, m, i * m->granule_bytes, m->granule_bytes);
    if (!m->is_reserved)
        take(driver, m, 0, piece_bytes(m));
    give_range(driver, m);
    mem_give(m->is_backed);
    mem_give(m);
}

/* Undoes what back did to the granules [first, end) that were not backed before. */
static void undo(struct cuda_driver *driver, struct cuda_object *m, const int64_t *done, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        take(driver, m, done[i] * m->granule_bytes, m->granule_bytes);
        m->is_backed[done[i]] = false;
    }
}

bool cuda_object_back(struct cuda_driver *driver, struct compute_memory *face, int64_t from,
                      int64_t to)
{
    struct cuda_object *m = (struct cuda_object *)face;
    CHECK(from >= 0 && from <= to && to <= face->n_bytes);
    if (!m->is_reserved || from == to)
        return true;
    int64_t first = from / m->granule_bytes, end = div_up_i64(to, m->granule_bytes), n = 0;
    bool is_backed = true;
    while (first < end && m->is_backed[first])
        first++;
    if (first == end)
        return true; /* as in each step but the first ones: nothing is allocated */
    int64_t *done = mem_take(sizeof(*done) * (size_t)(end - first));
    for (int64_t i = first; i < end && is_backed; i++) {
        if (m->is_backed[i])
            continue;
        is_backed = put(driver, m, i * m->granule_bytes, m->granule_bytes);
        if (is_backed) {
            m->is_backed[i] = true;
            done[n++] = i;
        }
    }
    if (!is_backed)
        undo(driver, m, done, n);
    mem_give(done);
    return is_backed;
}

void cuda_object_drop(struct cuda_driver *driver, struct compute_memory *face, int64_t from,
                      int64_t to)
{
    struct cuda_object *m = (struct cuda_object *)face;
    CHECK(from >= 0 && from <= to && to <= face->n_bytes);
    int64_t first = div_up_i64(from, m->granule_bytes), end = to / m->granule_bytes;
    for (int64_t i = first; i < end && m->is_reserved; i++) {
        if (!m->is_backed[i])
            continue;
        take(driver, m, i * m->granule_bytes, m->granule_bytes);
        m->is_backed[i] = false;
        if (face->is_host)
            compute_host_drop(NULL, m->host, i * m->granule_bytes, (i + 1) * m->granule_bytes);
    }
}

/* How many of n bytes from `at` on lie in one piece of pinned memory. */
static int64_t bytes_in_piece(struct cuda_object_part part, int64_t n_bytes)
{
    const struct cuda_object *m = (const struct cuda_object *)part.memory;
    if (!m->is_reserved || !m->face.is_host)
        return n_bytes;
    return min_i64(n_bytes, m->granule_bytes - part.at % m->granule_bytes);
}

bool cuda_object_copy(struct cuda_driver *driver, struct cuda_stream *stream,
                      struct cuda_object_part to, struct cuda_object_part from, int64_t n_bytes)
{
    CHECK(from.at >= 0 && n_bytes >= 0 && from.at + n_bytes <= from.memory->n_bytes);
    CHECK(to.at >= 0 && to.at + n_bytes <= to.memory->n_bytes);
    while (n_bytes > 0) {
        int64_t n = bytes_in_piece(to, bytes_in_piece(from, n_bytes));
        if (!cuda_driver_copy(driver, stream, to.memory->base + to.at, from.memory->base + from.at,
                              n))
            return false;
        to.at += n;
        from.at += n;
        n_bytes -= n;
    }
    return true;
}
