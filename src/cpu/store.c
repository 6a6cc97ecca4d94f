/* Regions are filled from their start to their end and never again: a load takes many matrices in
 * a row, and an unload gives them all back. */
#include "cpu/store.h"

#include "base/mem.h"
#include "base/team.h"
#include <stdatomic.h>
#include <sys/mman.h>

#define HUGE_PAGE_BYTES ((size_t)2 << 20)
#define PAGE_BYTES      ((size_t)4096)

struct cpu_region {
    unsigned char *taken; /* as the system gave it */
    unsigned char *next;  /* the first free byte */
    size_t n_free;
    _Atomic int32_t n_holders; /* what was taken and not given back, and the store that fills it */
};

struct cpu_store {
    struct lock *lock;
    struct cpu_region *region; /* under way, or NULL */
};

struct cpu_store *cpu_store_open(void)
{
    struct cpu_store *store = mem_take(sizeof(*store));
    store->lock = lock_open();
    return store;
}

static void let_go(struct cpu_region *region)
{
    if (region == NULL || atomic_fetch_sub(&region->n_holders, 1) > 1)
        return;
    mem_give(region->taken);
    mem_give(region);
}

void cpu_store_close(struct cpu_store *store)
{
    let_go(store->region);
    lock_close(store->lock);
    mem_give(store);
}

static struct cpu_region *open_region(size_t n_bytes)
{
    size_t n_inside = (size_t)align_up_u64((uint64_t)n_bytes, HUGE_PAGE_BYTES);
    unsigned char *taken = n_inside < n_bytes ? NULL : mem_try(n_inside + HUGE_PAGE_BYTES);
    if (taken == NULL)
        return NULL;
    size_t head = (size_t)(align_up_u64((uintptr_t)taken, HUGE_PAGE_BYTES) - (uintptr_t)taken);
    mem_wish_huge(taken + head, n_inside);
    struct cpu_region *region = mem_take(sizeof(*region));
    *region = (struct cpu_region){ .taken = taken, .next = taken + head, .n_free = n_inside };
    region->n_holders = 1;
    return region;
}

/* A matrix as large as a region gets its own. */
struct cpu_stored cpu_store_take(struct cpu_store *store, size_t n_bytes)
{
    struct cpu_stored none = { NULL, 0, NULL };
    size_t n = (size_t)align_up_u64((uint64_t)n_bytes, 64);
    if (n < n_bytes || n > PTRDIFF_MAX / 2)
        return none;
    if (n >= CPU_STORE_REGION_BYTES) {
        struct cpu_region *own = open_region(n);
        return own == NULL ? none : (struct cpu_stored){ own->next, n_bytes, own };
    }
    lock_take(store->lock);
    if (store->region == NULL || store->region->n_free < n) {
        let_go(store->region);
        store->region = open_region(CPU_STORE_REGION_BYTES);
    }
    struct cpu_region *region = store->region;
    struct cpu_stored stored = none;
    if (region != NULL) {
        stored = (struct cpu_stored){ region->next, n_bytes, region };
        region->next += n;
        region->n_free -= n;
        atomic_fetch_add(&region->n_holders, 1);
    }
    lock_put(store->lock);
    return stored;
}

void cpu_store_give(struct cpu_stored *stored)
{
    if (stored->at == NULL)
        return;
    uintptr_t first = (uintptr_t)align_up_u64((uintptr_t)stored->at, PAGE_BYTES);
    uintptr_t end = ((uintptr_t)stored->at + stored->n_bytes) & ~(PAGE_BYTES - 1);
    if (end > first)
        (void)madvise(stored->at + (first - (uintptr_t)stored->at), end - first, MADV_DONTNEED);
    let_go(stored->region);
    *stored = (struct cpu_stored){ NULL, 0, NULL };
}
