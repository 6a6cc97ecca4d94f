/* The only way to malloc.
 *
 * Memory comes zeroed and aligned to a cache line. Large blocks are zeroed by handing their pages
 * back to the system, so that untouched memory costs nothing.
 *
 *   | struct block | the caller's bytes ...
 *
 * The head before each block names the account that it is charged to and the guard that took it. */
#include "base/mem.h"
#include <malloc.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/mman.h>

#define MEM_ALIGN       64
#define LIBRARY_HEAD    48 /* a multiple of their alignment, 16 */
#define MEM_PAGE_BYTES  4096
#define MEM_LARGE_BYTES ((size_t)1 << 17) /* from here on madvise is cheaper than memset */

enum { RESERVE_PARTS = 16, RESERVE_PART_BYTES = 1 << 20, RESERVE_TRIES = 8 };

struct guard;
struct block { /* right before the caller's bytes */
    struct block *next, *prev;
    struct guard *guard; /* NULL: none, or it is over */
    struct mem_account *account;
    size_t n_bytes;  /* with the head */
    uint32_t n_head; /* before the caller's bytes */
};
struct guard {
    struct block blocks; /* a ring */
    struct guard *before;
    struct mem_account *account; /* the thread's, when it began */
    int64_t n_bytes, n_bytes_max;
    int64_t n_wanted; /* when it was left */
    jmp_buf out;
};
_Static_assert(sizeof(struct block) <= LIBRARY_HEAD, "the head fits before a block");

static _Thread_local struct mem_account *account_now;
static _Thread_local struct guard *guard_now;
static _Atomic(void *) reserve[RESERVE_PARTS];
static atomic_bool has_reserve, is_short;

/* --- accounts --- */

void mem_account_charge(struct mem_account *account, int64_t n_bytes)
{
    for (; account != NULL; account = account->parent)
        atomic_fetch_add_explicit(&account->n_bytes, n_bytes, memory_order_relaxed);
}

static bool charge(struct mem_account *account, int64_t n_bytes, bool may_overdraw)
{
    bool is_over = false;
    mem_account_charge(account, n_bytes);
    for (struct mem_account *at = account; at != NULL && !may_overdraw; at = at->parent)
        is_over = is_over || (at->n_bytes_max > 0 && mem_account_bytes(at) > at->n_bytes_max);
    if (is_over)
        mem_account_charge(account, -n_bytes);
    return !is_over;
}

struct mem_account *mem_account_use(struct mem_account *account)
{
    struct mem_account *before = account_now;
    account_now = account;
    return before;
}

/* --- blocks --- */

static struct block *block_of(void *p)
{
    return (struct block *)(void *)((unsigned char *)p - sizeof(struct block));
}

static void join_guard(struct block *block, struct guard *guard)
{
    block->guard = guard;
    block->next = &guard->blocks;
    block->prev = guard->blocks.prev;
    block->prev->next = block->next->prev = block;
    guard->n_bytes += (int64_t)block->n_bytes;
}

static void leave_guard(struct block *block)
{
    block->prev->next = block->next;
    block->next->prev = block->prev;
    block->guard->n_bytes -= (int64_t)block->n_bytes;
    block->guard = NULL;
}

/* Returns NULL when there is no memory. The caller's bytes are aligned as n_head is. */
static void *take(size_t n_bytes, uint32_t n_head, bool may_overdraw)
{
    struct guard *guard = guard_now;
    void *start = NULL;
    size_t n = n_head + (n_bytes > 0 ? n_bytes : 1);
    if (n_bytes > (size_t)PTRDIFF_MAX - n_head)
        return NULL;
    if (guard != NULL && guard->n_bytes_max - guard->n_bytes < (int64_t)n)
        return NULL;
    if (!charge(account_now, (int64_t)n, may_overdraw && guard == NULL))
        return NULL;
    if (posix_memalign(&start, n_head == MEM_ALIGN ? MEM_ALIGN : 16, n) != 0) {
        mem_account_charge(account_now, -(int64_t)n);
        return NULL;
    }
    void *p = (unsigned char *)start + n_head;
    *block_of(p) = (struct block){ .account = account_now, .n_bytes = n, .n_head = n_head };
    if (guard != NULL)
        join_guard(block_of(p), guard);
    return p;
}

static void give(void *p)
{
    struct block *block = block_of(p);
    if (block->guard != NULL)
        leave_guard(block);
    mem_account_charge(block->account, -(int64_t)block->n_bytes);
    free((unsigned char *)p - block->n_head);
}

/* Gives part of the reserve back to the system. Returns false when nothing is left of it. */
static bool spend_reserve(void)
{
    for (int i = 0; i < RESERVE_PARTS; i++) {
        void *part = atomic_exchange(&reserve[i], NULL);
        if (part == NULL)
            continue;
        atomic_store(&is_short, true);
        (void)munmap(part, RESERVE_PART_BYTES);
        return true;
    }
    return false;
}

/* Leaves the guard when there is no memory. Without a guard it returns NULL when the reserve does
 * not help. */
static void *take_surely(size_t n_bytes, uint32_t n_head)
{
    void *p = take(n_bytes, n_head, true);
    struct guard *guard = guard_now;
    if (p == NULL && guard != NULL) {
        guard->n_wanted = guard->n_bytes + n_head + (int64_t)n_bytes;
        longjmp(guard->out, 1);
    }
    for (int i = 0; p == NULL && n_bytes < RESERVE_PART_BYTES && i < RESERVE_TRIES; i++)
        p = spend_reserve() ? take(n_bytes, n_head, true) : NULL;
    return p;
}

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

/* --- the face --- */

void *mem_try(size_t n_bytes)
{
    void *p = take(n_bytes, MEM_ALIGN, false);
    if (p != NULL)
        clear(p, n_bytes);
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
    void *p = take_surely(n_bytes, MEM_ALIGN);
    if (p == NULL)
        mem_refuse(n_bytes);
    clear(p, n_bytes);
    return p;
}

/* Moves the bytes of p into a block as it was taken, clears the rest of it, and gives p back. */
static void *move_to(unsigned char *block, size_t n_bytes, void *p, size_t old_bytes)
{
    size_t kept = old_bytes < n_bytes ? old_bytes : n_bytes;
    if (kept > 0)
        memcpy(block, p, kept);
    clear(block + kept, n_bytes - kept);
    mem_give(p);
    return block;
}

void *mem_grow(void *p, size_t old_bytes, size_t new_bytes)
{
    CHECK(p != NULL || old_bytes == 0);
    unsigned char *grown = take_surely(new_bytes, MEM_ALIGN);
    if (grown == NULL)
        mem_refuse(new_bytes);
    return move_to(grown, new_bytes, p, old_bytes);
}

void *mem_try_grow(void *p, size_t old_bytes, size_t new_bytes)
{
    unsigned char *grown = take(new_bytes, MEM_ALIGN, false);
    return grown != NULL ? move_to(grown, new_bytes, p, old_bytes) : NULL;
}

void mem_wish_huge(void *p, size_t n_bytes)
{
    uintptr_t start = (uintptr_t)align_up_u64((uintptr_t)p, MEM_PAGE_BYTES);
    uintptr_t end = ((uintptr_t)p + n_bytes) & ~(uintptr_t)(MEM_PAGE_BYTES - 1);
    if (start < end)
        (void)madvise((unsigned char *)p + (start - (uintptr_t)p), end - start, MADV_HUGEPAGE);
}

void mem_share_arena(void)
{
    (void)mallopt(M_ARENA_MAX, 1);
}

enum { STACK_BYTES = 512 << 10, STACK_STEP = 4096 };

static __attribute__((noinline)) void touch_stack(void)
{
    volatile unsigned char bytes[STACK_BYTES];
    for (size_t i = STACK_BYTES; i > 0; i -= STACK_STEP) /* downwards, as it grows */
        bytes[i - 1] = 0;
    (void)bytes[0];
}

void mem_take_stack(void)
{
    struct rlimit limit;
    bool is_known = getrlimit(RLIMIT_STACK, &limit) == 0;
    void *probe =
        mmap(NULL, STACK_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (probe == MAP_FAILED)
        base_refuse("the system has no memory for a stack of %d KiB (ulimit -v)",
                    STACK_BYTES >> 10);
    (void)munmap(probe, STACK_BYTES);
    if (is_known && limit.rlim_cur / 2 >= STACK_BYTES)
        touch_stack();
}

void mem_give(void *p)
{
    if (p != NULL)
        give(p);
}

char *mem_copy_text(const char *text)
{
    size_t n = strlen(text) + 1;
    char *copy = mem_take(n);
    memcpy(copy, text, n);
    return copy;
}

/* --- guards --- */

/* Separate from mem_guard, whose locals must not change between setjmp and longjmp. */
static bool runs_through(struct guard *guard, void (*f)(void *arg), void *arg)
{
    if (setjmp(guard->out) != 0)
        return false;
    f(arg);
    return true;
}

struct guard *mem_guard_use(struct guard *guard)
{
    struct guard *before = guard_now;
    guard_now = guard;
    return before;
}

int64_t mem_guard(int64_t n_bytes_max, void (*f)(void *arg), void *arg)
{
    struct guard guard = { .before = guard_now,
                           .account = account_now,
                           .n_bytes_max = n_bytes_max };
    guard.blocks.next = guard.blocks.prev = &guard.blocks;
    guard_now = &guard;
    bool is_done = runs_through(&guard, f, arg);
    guard_now = guard.before;
    account_now = guard.account;
    while (guard.blocks.next != &guard.blocks) {
        struct block *block = guard.blocks.next;
        leave_guard(block);
        if (!is_done)
            give(block + 1);
        else if (guard.before != NULL)
            join_guard(block, guard.before);
    }
    return is_done ? 0 : guard.n_wanted;
}

/* --- the reserve --- */

bool mem_reserve_fill(void)
{
    bool is_whole = true;
    if (atomic_load(&has_reserve) && !atomic_load(&is_short))
        return true;
    atomic_store(&has_reserve, true);
    atomic_store(&is_short, false); /* before the loop, since another thread may spend meanwhile */
    for (int i = 0; i < RESERVE_PARTS; i++) {
        if (atomic_load(&reserve[i]) != NULL)
            continue;
        void *part = mmap(NULL, RESERVE_PART_BYTES, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (part == MAP_FAILED)
            is_whole = false;
        else
            atomic_store(&reserve[i], part);
    }
    if (!is_whole)
        atomic_store(&is_short, true);
    return is_whole;
}

bool mem_is_short(void)
{
    return atomic_load(&is_short);
}

/* --- libraries --- */

void *mem_library_take(size_t n_bytes)
{
    return take_surely(n_bytes, LIBRARY_HEAD);
}

void *mem_library_grow(void *p, size_t n_bytes)
{
    void *grown = mem_library_take(n_bytes);
    if (p == NULL || grown == NULL)
        return grown;
    size_t n_old = block_of(p)->n_bytes - LIBRARY_HEAD;
    memcpy(grown, p, n_old < n_bytes ? n_old : n_bytes);
    give(p);
    return grown;
}

void mem_library_give(void *p)
{
    mem_give(p);
}
