/* The only door to malloc: memory taken at start or for a load; the process ends with a sentence
 * when the system has none.
 *
 * Steady state allocates nothing: engines work from what they took at start. */
#pragma once
#include "base/base.h"

void *mem_take(size_t n_bytes); /* zeroed, 64-byte aligned; never NULL, also for 0 bytes */
void *mem_grow(void *p, size_t old_bytes,
               size_t new_bytes); /* the added tail is zeroed; p may be NULL when old_bytes is 0 */
void mem_give(void *p);           /* NULL is fine */
char *mem_copy_text(const char *text); /* a zero-terminated copy, given back by mem_give */

/* Ends the process with the sentence of mem_take (base_refuse); 0 bytes: how many is not known, as
 * when a library has got none. */
_Noreturn void mem_refuse(size_t n_bytes);
/* For what a library takes: false is its word for having got no memory. */
static inline void mem_need(bool is_there)
{
    if (!is_there)
        mem_refuse(0);
}

/* Takes without dying: for sizes that come from outside (a file's header). NULL when there is none.
 */
void *mem_try(size_t n_bytes) MUST_USE;

/* Asks for huge pages inside memory that was taken and not touched yet: to find its first pages,
 * and to translate their addresses, costs hundreds of times less. A wish: where the system has
 * none, small ones do. */
void mem_wish_huge(void *p, size_t n_bytes);

struct mem_span { /* some bytes */
    const void *at;
    size_t n_bytes;
};
/* Asks for their cache lines ahead. */
static inline void mem_fetch(const struct mem_span *spans, int n)
{
    for (int i = 0; i < n; i++)
        for (size_t k = 0; k < spans[i].n_bytes; k += 64)
            __builtin_prefetch((const char *)spans[i].at + k, 1);
}
