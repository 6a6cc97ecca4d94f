/* Memory objects in host memory. Plain ones come from mem_try, so that they are charged to accounts
 * like other memory. Ranges of addresses and descriptors are mapped. */
#include "compute/host.h"

#include "base/mem.h"
#include "compute/group.h"
#include <string.h>
#include <sys/mman.h>

#define PAGE_BYTES ((uint64_t)4096)
#define HUGE_BYTES ((size_t)2 << 20)
enum { COLLAPSE = 25 }; /* MADV_COLLAPSE, which headers may lack; kernels before 6.1 refuse it */

struct host_memory {
    struct compute_memory face;
    bool is_mapped;
};

static size_t mapped_bytes(int64_t n_bytes)
{
    return (size_t)align_up_u64((uint64_t)max_i64(n_bytes, 1), PAGE_BYTES);
}

/* Reserves addresses for a mapping that begins at a multiple of a huge page. */
static unsigned char *reserve_aligned(size_t n_bytes)
{
    void *p = mmap(NULL, n_bytes + HUGE_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED)
        return NULL;
    unsigned char *from = p, *base = (void *)align_up_u64((uintptr_t)p, HUGE_BYTES);
    if (base > from)
        CHECK(munmap(from, (size_t)(base - from)) == 0);
    CHECK(munmap(base + n_bytes, HUGE_BYTES - (size_t)(base - from)) == 0);
    return base;
}

/* Puts huge pages behind a descriptor, also where the system gives none by itself. The kernel
 * collapses a range that has one page or more. Without huge pages all works, only slower. */
static void collapse(unsigned char *base, size_t n_bytes, bool is_readonly)
{
    for (size_t at = 0; at + HUGE_BYTES <= n_bytes && !is_readonly; at += HUGE_BYTES)
        *(volatile unsigned char *)(base + at) = *(volatile unsigned char *)(base + at);
    (void)madvise(base, n_bytes / HUGE_BYTES * HUGE_BYTES, COLLAPSE);
}

static unsigned char *map_fd(const struct compute_memory_options *o)
{
    size_t n_bytes = mapped_bytes(o->n_bytes);
    unsigned char *base = reserve_aligned(n_bytes);
    int access = PROT_READ | (o->is_readonly ? 0 : PROT_WRITE);
    if (base == NULL)
        return NULL;
    if (mmap(base, n_bytes, access, MAP_SHARED | MAP_FIXED, o->fd, 0) == MAP_FAILED) {
        CHECK(munmap(base, n_bytes) == 0);
        return NULL;
    }
    if (!o->is_reserved)
        collapse(base, n_bytes, o->is_readonly);
    return base;
}

static unsigned char *map(const struct compute_memory_options *o)
{
    if (o->has_fd)
        return map_fd(o);
    int how = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    void *p = mmap(NULL, mapped_bytes(o->n_bytes), PROT_READ | PROT_WRITE, how, -1, 0);
    return p != MAP_FAILED ? p : NULL;
}

enum status compute_host_open(void *self, const struct compute_memory_options *options,
                              struct compute_memory **out, struct fault *fault)
{
    bool is_mapped = options->has_fd || options->is_reserved;
    unsigned char *base = NULL;
    (void)self;
    if (options->n_bytes >= 0 && options->n_bytes <= PTRDIFF_MAX / 2)
        base = is_mapped ? map(options) : mem_try((size_t)max_i64(options->n_bytes, 1));
    if (base == NULL && options->has_fd)
        return fault_set(fault, STATUS_IO, "a descriptor's %lld bytes can't be mapped",
                         (long long)options->n_bytes);
    if (base == NULL)
        return fault_set(fault, STATUS_TOO_LARGE, "there is no memory for %lld bytes",
                         (long long)options->n_bytes);
    /* Blocks and panels are far apart, so each is a miss of the translation buffer. */
    mem_wish_huge(base, (size_t)max_i64(options->n_bytes, 1));
    struct host_memory *memory = mem_take(sizeof(*memory));
    *memory = (struct host_memory){ { base, options->n_bytes, true }, is_mapped };
    *out = &memory->face;
    return STATUS_OK;
}

void compute_host_close(void *self, struct compute_memory *face)
{
    struct host_memory *memory = (struct host_memory *)face;
    (void)self;
    if (memory == NULL)
        return;
    if (memory->is_mapped)
        CHECK(munmap(face->base, mapped_bytes(face->n_bytes)) == 0);
    else
        mem_give(face->base);
    mem_give(memory);
}

/* A page that was never touched, or was dropped, gets memory when it is touched. */
bool compute_host_back(void *self, struct compute_memory *memory, int64_t from, int64_t to)
{
    (void)self;
    CHECK(from >= 0 && from <= to && to <= memory->n_bytes);
    return true;
}

void compute_host_drop(void *self, struct compute_memory *memory, int64_t from, int64_t to)
{
    uint64_t start = align_up_u64((uint64_t)from, PAGE_BYTES);
    uint64_t end = (uint64_t)to & ~(PAGE_BYTES - 1);
    (void)self;
    CHECK(from >= 0 && from <= to && to <= memory->n_bytes);
    if (start < end)
        CHECK(madvise(memory->base + start, end - start, MADV_DONTNEED) == 0);
}

enum compute_state compute_host_copy(const struct compute_copy *copy)
{
    if (copy->group != NULL && !compute_group_sum(copy->group, NULL, NULL, 0))
        return COMPUTE_LOST;
    for (int32_t i = 0; i < copy->n_parts; i++) {
        const struct copy_part *part = &copy->parts[i];
        CHECK(part->from >= 0 && part->from + part->n_bytes <= copy->from->n_bytes);
        CHECK(part->to >= 0 && part->to + part->n_bytes <= copy->to->n_bytes);
        memcpy(copy->to->base + part->to, copy->from->base + part->from, (size_t)part->n_bytes);
    }
    if (copy->group != NULL && !compute_group_sum(copy->group, NULL, NULL, 0))
        return COMPUTE_LOST;
    return COMPUTE_DONE;
}
