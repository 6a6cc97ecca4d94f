/* Memory that tests lend to a pool. Pages that the pool has not requested, or has given back, can't
 * be touched. */
#pragma once
#include "../test.h"

#include "kv/host.h"
#include <sys/mman.h>

struct lent {
    unsigned char *base, *host;
    int64_t n_bytes, n_host_bytes;
    int64_t n_back_most; /* there is no memory behind this offset; 0: no limit */
};

static inline bool lent_back(void *self, int64_t from, int64_t to)
{
    struct lent *lent = self;
    int64_t first = from & ~INT64_C(4095);
    if (lent->n_back_most > 0 && to > lent->n_back_most)
        return false;
    if (to > from)
        assert_int_equal(mprotect(lent->base + first, (size_t)(to - first), PROT_READ | PROT_WRITE),
                         0);
    return true;
}

static inline void lent_drop(void *self, int64_t from, int64_t to)
{
    struct lent *lent = self;
    int64_t first = (from + 4095) & ~INT64_C(4095), end = to & ~INT64_C(4095);
    if (end <= first)
        return;
    assert_int_equal(madvise(lent->base + first, (size_t)(end - first), MADV_DONTNEED), 0);
    assert_int_equal(mprotect(lent->base + first, (size_t)(end - first), PROT_NONE), 0);
}

static inline unsigned char *lent_range(int64_t n_bytes, int access)
{
    void *p =
        mmap(NULL, (size_t)n_bytes + 1, access, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    assert_true(p != MAP_FAILED);
    return p;
}

/* Give it back with lent_close. */
static inline void lent_open(struct lent *lent, struct kv *kv)
{
    const struct kv_memory memory = { lent, lent_back, lent_drop };
    *lent = (struct lent){ .n_bytes = kv_range_bytes(kv), .n_host_bytes = kv_host_bytes(kv) };
    lent->base = lent_range(lent->n_bytes, PROT_NONE);
    lent->host = lent_range(lent->n_host_bytes, PROT_READ | PROT_WRITE);
    assert_true(kv_lend(kv, &memory));
}

static inline void lent_close(struct lent *lent)
{
    munmap(lent->base, (size_t)lent->n_bytes + 1);
    munmap(lent->host, (size_t)lent->n_host_bytes + 1);
}

/* Does the copies that kv_host_parts lists, a few parts at a time. */
static inline void lent_copy(const struct lent *lent, const struct kv *kv, uint32_t slot,
                             bool is_out)
{
    struct copy_part parts[7];
    int32_t n;
    for (int64_t first = 0; (n = kv_host_parts(kv, slot, is_out, first, parts, 7)) > 0; first += n)
        for (int32_t i = 0; i < n; i++)
            memcpy((is_out ? lent->host : lent->base) + parts[i].to,
                   (is_out ? lent->base : lent->host) + parts[i].from, (size_t)parts[i].n_bytes);
}
