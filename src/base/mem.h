/* The only way to malloc: memory is taken at start or for a load. If the system has none, the
 * process ends with a sentence.
 *
 * Steady state allocates nothing: engines work from what they took at start. Work for clients is
 * charged to accounts and runs under guards, so that a shortage ends the work, not the process. */
#pragma once
#include "base/base.h"
#include <stdatomic.h>

void *mem_take(size_t n_bytes); /* zeroed, 64-byte aligned; never NULL, also for 0 bytes */
void *mem_grow(void *p, size_t old_bytes,
               size_t new_bytes); /* the added tail is zeroed; p may be NULL when old_bytes is 0 */
void mem_give(void *p);           /* NULL is fine */
char *mem_copy_text(const char *text); /* a zero-terminated copy, given back by mem_give */

/* Ends the process with the sentence of mem_take (base_refuse). Pass 0 when the number of bytes is
 * not known, for example when a library got no memory. */
_Noreturn void mem_refuse(size_t n_bytes);
/* Checks a result that a library allocates: it passes false when it got no memory, which ends the
 * process. */
static inline void mem_need(bool is_there)
{
    if (!is_there)
        mem_refuse(0);
}

/* Takes memory without ending the process, for sizes that come from outside (a file's header).
 * Returns NULL when the system has no memory, or when the thread's account is at its limit. */
void *mem_try(size_t n_bytes) MUST_USE;

/* Does the same for mem_grow. When it returns NULL, p is unchanged. */
void *mem_try_grow(void *p, size_t old_bytes, size_t new_bytes) MUST_USE;

/* --- accounts --- */

/* An account counts the bytes that were taken on it and are not given back yet, by any thread. It
 * must live as long as anything is charged to it. */
struct mem_account {
    struct mem_account *parent; /* charged with the same bytes; NULL: none */
    _Atomic int64_t n_bytes;
    int64_t n_bytes_max; /* 0: no limit of its own */
};
/* Charges what this thread takes from now on to the account (NULL: to none). Returns the account
 * that was in use. Beyond a limit, mem_try fails, and so does mem_take under a guard; without a
 * guard, mem_take overdraws. */
struct mem_account *mem_account_use(struct mem_account *account);
/* Charges n bytes that were taken elsewhere, whatever the limit; n < 0 uncharges them. */
void mem_account_charge(struct mem_account *account, int64_t n_bytes);
static inline int64_t mem_account_bytes(const struct mem_account *account)
{
    return atomic_load_explicit(&account->n_bytes, memory_order_relaxed);
}

/* --- guards --- */

/* Runs f. f is abandoned, and everything that it took is given back, if it takes more memory than
 * the system or its account has. The same happens if it holds more than n_bytes_max of its own.
 * Returns 0, or how many bytes f held and asked for when it was abandoned.
 *
 * f must hold nothing but memory (no lock, no file) and must not grow what was taken before. After
 * an abandoned run the caller resets whatever f has written to. PostgreSQL ends a query in the same
 * way (memory contexts). */
int64_t mem_guard(int64_t n_bytes_max, void (*f)(void *arg), void *arg) MUST_USE;
/* Sets the guard of this thread and returns the one before. Memory that is taken under NULL
 * outlives the guarded work. */
struct guard;
struct guard *mem_guard_use(struct guard *guard);

/* --- the reserve --- */

/* Sets a reserve aside, or refills it. When the system has no memory, mem_take gives parts of the
 * reserve back to it, so that small records can still be made while the caller sheds work. Returns
 * false when the reserve could not be filled. */
bool mem_reserve_fill(void);
bool mem_is_short(void); /* part of the reserve is spent */

/* --- for libraries that let their allocator be replaced --- */

/* Does what mem_take does, but aligned to 16 bytes, not zeroed, and NULL instead of ending the
 * process. */
void *mem_library_take(size_t n_bytes);
void *mem_library_grow(void *p, size_t n_bytes); /* as realloc */
void mem_library_give(void *p);

/* Makes all threads share one arena of malloc, for places where addresses are scarce, since each
 * arena takes 64 MiB of them. Call it before there are threads. */
void mem_share_arena(void);

/* Makes the main thread's stack take 512 KiB now, twice what the verbs were seen to use. The stack
 * grows into free addresses only. If they ran out later (ulimit -v), a signal would end the
 * process, whereas a caller that asks for memory is refused. */
void mem_take_stack(void);

/* Asks for huge pages inside memory that was taken and not touched yet. Finding its first pages,
 * and translating their addresses, then costs hundreds of times less. This is a hint: a system
 * without huge pages uses small ones. */
void mem_wish_huge(void *p, size_t n_bytes);
