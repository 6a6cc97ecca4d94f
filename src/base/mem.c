/* The only door to malloc.
 *
 * Memory comes zeroed and aligned to a cache line. Large blocks are zeroed by handing their pages
 * back to the system, so that what is never touched is never paid for. */
#include "base/mem.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define MEM_ALIGN       64
#define MEM_PAGE_BYTES  4096
#define MEM_LARGE_BYTES ((size_t)1 << 17) /* from here on madvise is cheaper than memset */

static void clear(unsigned char *p, size_t n_bytes)
{
    if (n_bytes < MEM_LARGE_BYTES) {
        memset(p, 0, n_bytes);
        return;
    }
    uintptr_t start = (uintptr_t)p;
    size_t head = (size_t)(align_up_u64(start, MEM_PAGE_BYTES) - start);
    size_t middle = (n_bytes - head) & ~(size_t)(MEM_PAGE_BYTES - 1);
    if (madvise(p + head, middle, MADV_DONTNEED) != 0)
        memset(p + head, 0, middle);
    memset(p, 0, head);
    memset(p + head + middle, 0, n_bytes - head - middle);
}

void *mem_try(size_t n_bytes)
{
    void *p = NULL;
    size_t n = n_bytes > 0 ? n_bytes : 1;
    if (n > PTRDIFF_MAX || posix_memalign(&p, MEM_ALIGN, n) != 0)
        return NULL;
    clear(p, n);
    return p;
}

void mem_refuse(size_t n_bytes)
{
    char size[32] = "more";
    if (n_bytes > 0)
        snprintf(size, sizeof(size), "%zu more bytes", n_bytes);
    base_refuse("out of memory: the system does not give %s (ulimit -v may be too small)", size);
}

void *mem_take(size_t n_bytes)
{
    void *p = mem_try(n_bytes);
    if (p == NULL)
        mem_refuse(n_bytes);
    return p;
}

void *mem_grow(void *p, size_t old_bytes, size_t new_bytes)
{
    CHECK(p != NULL || old_bytes == 0);
    unsigned char *grown = mem_take(new_bytes);
    size_t kept = old_bytes < new_bytes ? old_bytes : new_bytes;
    if (kept > 0)
        memcpy(grown, p, kept);
    mem_give(p);
    return grown;
}

void mem_wish_huge(void *p, size_t n_bytes)
{
    uintptr_t start = (uintptr_t)align_up_u64((uintptr_t)p, MEM_PAGE_BYTES);
    uintptr_t end = ((uintptr_t)p + n_bytes) & ~(uintptr_t)(MEM_PAGE_BYTES - 1);
    if (start < end)
        (void)madvise((unsigned char *)p + (start - (uintptr_t)p), end - start, MADV_HUGEPAGE);
}

void mem_give(void *p)
{
    free(p);
}

char *mem_copy_text(const char *text)
{
    size_t n = strlen(text) + 1;
    char *copy = mem_take(n);
    memcpy(copy, text, n);
    return copy;
}
