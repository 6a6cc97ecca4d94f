/* Common parts of the kernels for AVX-512. */
#pragma once
#include "cpu/kernels.h"

#include <immintrin.h>

#define INLINE static inline __attribute__((always_inline))
/* A loop that is unrolled completely, so that arrays become registers. */
#define EACH(...) _Pragma("GCC unroll 16") for (__VA_ARGS__)

/* Bytes ahead of a walk over a panel. Lines go into the second-level cache, which can have three
 * times as many misses in flight as the first, and from there into the first. */
enum { FETCH_FAR = 3072, FETCH_NEAR = 1024 };

/* 16 outputs of a panel's column. */
INLINE __m512 load_floats(enum dtype dtype, const unsigned char *p)
{
    if (dtype == DTYPE_F32)
        return _mm512_loadu_ps(p);
    __m256i halves = _mm256_loadu_si256((const void *)p);
    if (dtype == DTYPE_F16)
        return _mm512_cvtph_ps(halves);
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(halves), 16));
}

/* Returns (float)sum * scale of a sum that started from CPU_SUM_BITS: one instruction, and one for
 * the scale. A conversion and a product would be two. */
INLINE __m512 scale_sum(__m512i sum, __m512 scale)
{
    const __m512 less = _mm512_mul_ps(scale, _mm512_set1_ps(-CPU_SUM_FLOAT));
    return _mm512_fmadd_ps(_mm512_castsi512_ps(sum), scale, less);
}
