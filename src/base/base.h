/* Basic definitions for every room: checks, integer helpers, and a few additions to C.
 *
 * CHECK guards against bugs. It is always on, and it aborts. It never judges outside input: files,
 * sockets and requests get an enum status. VERIFY guards self-checks that cost more than O(1);
 * tests and the simulator switch it on. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

extern bool base_verify; /* true: VERIFY is evaluated */

_Noreturn void base_check_failed(const char *file, int line, const char *cond);

#define CHECK(cond) ((cond) ? (void)0 : base_check_failed(__FILE__, __LINE__, #cond))
#define VERIFY(cond)                                                                               \
    (!base_verify || (cond) ? (void)0 : base_check_failed(__FILE__, __LINE__, #cond))

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))
#define MUST_USE        __attribute__((warn_unused_result))
/* Keeps a rare path out of line, so that the path of every batch saves no registers for it. */
#define RARE                    __attribute__((noinline))
#define PRINTF_LIKE(fmt, first) __attribute__((format(printf, fmt, first)))

/* Reports that the system lacks something that we cannot do without: memory, threads, descriptors.
 * Writes "shoal: SENTENCE" to stderr and ends the process with code 1, without the abort that a bug
 * gets. */
_Noreturn void base_refuse(const char *fmt, ...) PRINTF_LIKE(1, 2);

/* Tells the processor that this loop waits for another core. */
static inline void base_relax(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

static inline int64_t min_i64(int64_t a, int64_t b)
{
    return a < b ? a : b;
}
static inline int64_t max_i64(int64_t a, int64_t b)
{
    return a > b ? a : b;
}
static inline int32_t min_i32(int32_t a, int32_t b)
{
    return a < b ? a : b;
}
static inline int32_t max_i32(int32_t a, int32_t b)
{
    return a > b ? a : b;
}
static inline int64_t div_up_i64(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
} /* a >= 0, b > 0 */
static inline uint64_t align_up_u64(uint64_t n, uint64_t to)
{
    return (n + to - 1) & ~(to - 1);
} /* to: power of 2 */
