/* Address space. See range.h. */
#include "kv/range.h"
#include "base/mem.h"
#include <sys/mman.h>

unsigned char *kv_range_take(int64_t n_bytes)
{
    void *p = mmap(NULL, (size_t)max_i64(n_bytes, 1), PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED)
        mem_refuse((size_t)n_bytes);
    /* Blocks of one sequence lie far apart, so each misses the translation buffer. */
    mem_wish_huge(p, (size_t)max_i64(n_bytes, 1));
    return p;
}

void kv_range_give(unsigned char *base, int64_t n_bytes)
{
    munmap(base, (size_t)max_i64(n_bytes, 1));
}
