/* The limits' loops for AVX-512 with VNNI; reading is AVX2's. */
#include "cpu/limits_loops.h"

#include <immintrin.h>

static int64_t float_avx512(int n_rounds)
{
    __m512 acc[12], x = _mm512_set1_ps(0.999f), y = _mm512_set1_ps(0.001f);
    for (int j = 0; j < 12; j++)
        acc[j] = _mm512_set1_ps((float)j);
    for (int i = 0; i < n_rounds; i++) {
#pragma GCC unroll 12
        for (int j = 0; j < 12; j++)
            acc[j] = _mm512_fmadd_ps(acc[j], x, y);
    }
    for (int j = 1; j < 12; j++)
        acc[0] = _mm512_add_ps(acc[0], acc[j]);
    cpu_limits_sink = _mm512_cvtss_f32(acc[0]);
    return (int64_t)n_rounds * 12 * 32;
}

static int64_t int8_vnni(int n_rounds)
{
    __m512i acc[12], x = _mm512_set1_epi32(0x03030303), y = _mm512_set1_epi32(0x01020304);
    for (int j = 0; j < 12; j++)
        acc[j] = _mm512_set1_epi32(j);
    for (int i = 0; i < n_rounds; i++) {
#pragma GCC unroll 12
        for (int j = 0; j < 12; j++)
            acc[j] = _mm512_dpbusd_epi32(acc[j], x, y);
    }
    for (int j = 1; j < 12; j++)
        acc[0] = _mm512_add_epi32(acc[0], acc[j]);
    cpu_limits_sink = (float)_mm_extract_epi32(_mm512_castsi512_si128(acc[0]), 0);
    return (int64_t)n_rounds * 12 * 128;
}

const struct cpu_limits_loops cpu_limits_avx512 = {
    .peaks = { [CPU_LIMIT_FLOAT] = { float_avx512, "vfmadd, 512 bits" },
               [CPU_LIMIT_HALF] = { float_avx512, "vfmadd, 512 bits" },
               [CPU_LIMIT_INT8] = { int8_vnni, "vpdpbusd, 512 bits" },
               [CPU_LIMIT_INT8_SHORT] = { int8_vnni, "vpdpbusd, 512 bits" } },
};
