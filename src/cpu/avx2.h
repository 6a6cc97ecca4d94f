/* Common parts of the matrix kernels for AVX2. */
#pragma once
#include "cpu/kernels.h"

#include <immintrin.h>

#define INLINE static inline __attribute__((always_inline))
/* Each shape is a function of its own; inlined into one function they would compete for
 * registers. */
#define APART static __attribute__((noinline))
/* A loop that is unrolled completely, so that arrays become registers. */
#define EACH(...) _Pragma("GCC unroll 16") for (__VA_ARGS__)

/* Bytes ahead, measured by bench/kernels. One or two rows leave memory no time, so they have a
 * shorter distance. */
enum { PREFETCH_FEW_BYTES = 1536, PREFETCH_BYTES = 4096, R_MAX = 6 };

/* Without this the compiler would first make all products, keep them in memory, and add them up
 * later. */
#define NOW(value) __asm__ volatile("" : "+x"(value))

INLINE __m256 load_half(const void *p)
{
    return _mm256_cvtph_ps(_mm_loadu_si128(p));
}

/* Loads the sums so far of one row and panel. */
INLINE void start(const struct cpu_tile *tile, const float *out, __m256 acc[2])
{
    acc[0] = tile->is_continued ? _mm256_loadu_ps(out) : _mm256_setzero_ps();
    acc[1] = tile->is_continued ? _mm256_loadu_ps(out + 8) : _mm256_setzero_ps();
}

INLINE void stop(const __m256 acc[2], float *out)
{
    _mm256_storeu_ps(out, acc[0]);
    _mm256_storeu_ps(out + 8, acc[1]);
}

/* Prefetches of one part of the rows. A single part fetches a little ahead in its own panel. One of
 * several parts fetches its share of the next panel, so that memory has the time of all parts. */
struct ahead {
    const char *at;
    size_t block_bytes, step; /* for a block of columns, for a line of its weights */
};

/* Returns the prefetches of the i-th of n parts. n_bytes is the size of the panel's columns, of
 * n_blocks blocks. */
INLINE struct ahead ahead_of(const struct cpu_tile *tile, int32_t panel, size_t n_bytes,
                             int32_t n_blocks, int32_t i, int32_t n)
{
    const char *own = (const char *)tile->panels + (size_t)panel * tile->panel_bytes;
    if (n > 1)
        own += tile->panel_bytes + n_bytes * (size_t)i / (size_t)n;
    else
        own += tile->n_rows <= 2 ? PREFETCH_FEW_BYTES : PREFETCH_BYTES;
    return (struct ahead){ own, n_bytes / (size_t)(n_blocks * n), 64 / (size_t)n };
}
