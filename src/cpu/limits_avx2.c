/* The limits' loops for AVX2. */
#include "cpu/limits_loops.h"

#include <immintrin.h>

static uint64_t read_avx2(const unsigned char *from, int64_t n)
{
    __m256i a = _mm256_setzero_si256(), b = a, c = a, d = a;
    for (int64_t i = 0; i + 256 <= n; i += 256) {
        const __m256i *at = (const void *)(from + i);
        a = _mm256_or_si256(a, _mm256_or_si256(_mm256_load_si256(at), _mm256_load_si256(at + 1)));
        b = _mm256_or_si256(b,
                            _mm256_or_si256(_mm256_load_si256(at + 2), _mm256_load_si256(at + 3)));
        c = _mm256_or_si256(c,
                            _mm256_or_si256(_mm256_load_si256(at + 4), _mm256_load_si256(at + 5)));
        d = _mm256_or_si256(d,
                            _mm256_or_si256(_mm256_load_si256(at + 6), _mm256_load_si256(at + 7)));
    }
    __m256i all = _mm256_or_si256(_mm256_or_si256(a, b), _mm256_or_si256(c, d));
    return (uint64_t)_mm256_extract_epi64(all, 0);
}

static int64_t float_avx2(int n_rounds)
{
    __m256 acc[12], x = _mm256_set1_ps(0.999f), y = _mm256_set1_ps(0.001f);
    for (int j = 0; j < 12; j++)
        acc[j] = _mm256_set1_ps((float)j);
    for (int i = 0; i < n_rounds; i++) {
#pragma GCC unroll 12
        for (int j = 0; j < 12; j++)
            acc[j] = _mm256_fmadd_ps(acc[j], x, y);
    }
    for (int j = 1; j < 12; j++)
        acc[0] = _mm256_add_ps(acc[0], acc[j]);
    cpu_limits_sink = _mm256_cvtss_f32(acc[0]);
    return (int64_t)n_rounds * 12 * 16;
}

/* Tells the compiler that x may change here. So a product is not computed just once, and a sum has
 * one register. */
#define CHANGES(x) __asm__ volatile("" : "+x"(x))
/* A loop that is unrolled completely, so that arrays become registers. */
#define EACH(...) _Pragma("GCC unroll 16") for (__VA_ARGS__)

/* Only the sums depend on each other, as in a matrix. */
static int64_t int8_avx2(int n_rounds)
{
    __m256i acc[12], x = _mm256_set1_epi8(3), y = _mm256_set1_epi8(5), ones = _mm256_set1_epi16(1);
    EACH(int j = 0; j < 12; j++)
        acc[j] = x;
    for (int i = 0; i < n_rounds; i++)
        EACH(int j = 0; j < 12; j++) {
            CHANGES(x);
            acc[j] = _mm256_add_epi32(acc[j], _mm256_madd_epi16(_mm256_maddubs_epi16(x, y), ones));
            CHANGES(acc[j]);
        }
    EACH(int j = 1; j < 12; j++)
        acc[0] = _mm256_add_epi32(acc[0], acc[j]);
    cpu_limits_sink = (float)_mm256_extract_epi32(acc[0], 0);
    return (int64_t)n_rounds * 12 * 64;
}

static int64_t int8_short_avx2(int n_rounds)
{
    __m256i acc[12], x = _mm256_set1_epi8(3), y = _mm256_set1_epi8(5);
    EACH(int j = 0; j < 12; j++)
        acc[j] = x;
    for (int i = 0; i < n_rounds; i++)
        EACH(int j = 0; j < 12; j++) {
            CHANGES(x);
            acc[j] = _mm256_add_epi16(acc[j], _mm256_maddubs_epi16(x, y));
            CHANGES(acc[j]);
        }
    EACH(int j = 1; j < 12; j++)
        acc[0] = _mm256_add_epi16(acc[0], acc[j]);
    cpu_limits_sink = (float)_mm256_extract_epi16(acc[0], 0);
    return (int64_t)n_rounds * 12 * 64;
}

const struct cpu_limits_loops cpu_limits_avx2 = {
    .read = read_avx2,
    .peaks = { [CPU_LIMIT_FLOAT] = { float_avx2, "vfmadd, 256 bits" },
               [CPU_LIMIT_HALF] = { float_avx2, "vfmadd, 256 bits" },
               [CPU_LIMIT_INT8] = { int8_avx2, "vpmaddubsw, vpmaddwd, vpaddd, 256 bits" },
               [CPU_LIMIT_INT8_SHORT] = { int8_short_avx2, "vpmaddubsw, vpaddw, 256 bits" } },
};
