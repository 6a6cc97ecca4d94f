/* Kernels for AVX2 with FMA and F16C, all but the matrix multiplication (avx2_matmul.c). */
#include "cpu/lanes.h"

#include <immintrin.h>

#define INLINE static inline __attribute__((always_inline))

INLINE __m256 load_half(const void *p)
{
    return _mm256_cvtph_ps(_mm_loadu_si128(p));
}

static void to_half(const float *x, int32_t n, uint16_t *out)
{
    int32_t i = 0;
    for (; i + 8 <= n; i += 8)
        _mm_storeu_si128((void *)(out + i),
                         _mm256_cvtps_ph(_mm256_loadu_ps(x + i), _MM_FROUND_TO_NEAREST_INT));
    for (; i < n; i++)
        out[i] = half_from_float(x[i]);
}

/* One row of the cache as floats, 0 behind head_dim; in scratch unless it can be used in place. */
INLINE const float *key_row(const struct cpu_run *run, int32_t t, float *scratch)
{
    int32_t n = run->head_dim, d = 0;
    const unsigned char *row =
        run->rows + (size_t)t * (size_t)n * (run->is_half ? sizeof(uint16_t) : sizeof(float));
    if (!run->is_half && n == run->stride)
        return (const float *)(const void *)row;
    for (; run->is_half && d + 8 <= n; d += 8)
        _mm256_storeu_ps(scratch + d, load_half(row + 2 * d));
    for (; d < n; d++)
        quant_block_to_float(run->is_half ? DTYPE_F16 : DTYPE_F32,
                             row + (size_t)d * (run->is_half ? 2 : 4), scratch + d);
    for (; d < run->stride; d++)
        scratch[d] = 0;
    return scratch;
}

/* Four dot products at once: 16 partial sums each, folded 8, 4, 2, 1. */
INLINE __m128 four_dots(const float *query, const float *const keys[4], int32_t stride)
{
    __m256 acc[4][2];
    __m128 folded[4];
    for (int j = 0; j < 4; j++)
        acc[j][0] = acc[j][1] = _mm256_setzero_ps();
    for (int32_t d = 0; d < stride; d += 16) {
        __m256 low = _mm256_loadu_ps(query + d), high = _mm256_loadu_ps(query + d + 8);
        for (int j = 0; j < 4; j++) {
            acc[j][0] = _mm256_fmadd_ps(low, _mm256_loadu_ps(keys[j] + d), acc[j][0]);
            acc[j][1] = _mm256_fmadd_ps(high, _mm256_loadu_ps(keys[j] + d + 8), acc[j][1]);
        }
    }
    for (int j = 0; j < 4; j++) {
        __m256 eight = _mm256_add_ps(acc[j][0], acc[j][1]);
        folded[j] = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
    }
    __m128 a = _mm_add_ps(_mm_shuffle_ps(folded[0], folded[1], 0x44),
                          _mm_shuffle_ps(folded[0], folded[1], 0xEE));
    __m128 b = _mm_add_ps(_mm_shuffle_ps(folded[2], folded[3], 0x44),
                          _mm_shuffle_ps(folded[2], folded[3], 0xEE));
    return _mm_add_ps(_mm_shuffle_ps(a, b, 0x88), _mm_shuffle_ps(a, b, 0xDD));
}

static void scores(const struct cpu_run *run, const float *queries, float scale)
{
    for (int32_t t = 0; t < run->n; t += 4) {
        int32_t n = min_i32(run->n - t, 4);
        const float *keys[4];
        for (int32_t j = 0; j < 4; j++)
            keys[j] = j < n ? key_row(run, t + j, run->scratch + j * run->stride) : keys[0];
        for (int32_t i = 0; i < run->n_queries; i++) {
            __m128 dots = four_dots(queries + i * run->stride, keys, run->stride);
            float four_scores[4], *to = run->probabilities + i * CPU_PIECE + t;
            _mm_storeu_ps(four_scores, _mm_mul_ps(dots, _mm_set1_ps(scale)));
            for (int32_t j = 0; j < n; j++)
                to[j] = four_scores[j];
        }
    }
}

/* R queries from i on, D times 16 elements from d on: R * D <= 4. */
INLINE void mix_part(const struct cpu_run *run, float *out, int32_t i, int32_t d, const int R,
                     const int D)
{
    size_t n_bytes = run->is_half ? 2 : 4;
    const unsigned char *values = run->rows + (size_t)d * n_bytes;
    __m256 acc[4][8];
    for (int r = 0; r < R; r++)
        for (int j = 0; j < 2 * D; j++)
            acc[r][j] = _mm256_loadu_ps(out + (i + r) * run->stride + d + 8 * j);
    for (int32_t t = 0; t < run->n; t++, values += (size_t)run->head_dim * n_bytes) {
        __m256 value[8];
        for (int j = 0; j < 2 * D; j++)
            value[j] = run->is_half ? load_half(values + 16 * j)
                                    : _mm256_loadu_ps((const float *)(const void *)values + 8 * j);
        for (int r = 0; r < R; r++) {
            __m256 p = _mm256_broadcast_ss(run->probabilities + (i + r) * CPU_PIECE + t);
            for (int j = 0; j < 2 * D; j++)
                acc[r][j] = _mm256_fmadd_ps(p, value[j], acc[r][j]);
        }
    }
    for (int r = 0; r < R; r++)
        for (int j = 0; j < 2 * D; j++)
            _mm256_storeu_ps(out + (i + r) * run->stride + d + 8 * j, acc[r][j]);
}

/* What is left behind the last whole 16 elements. */
static void mix_tail(const struct cpu_run *run, float *out, int32_t d)
{
    for (int32_t t = 0; t < run->n; t++)
        for (int32_t at = d; at < run->head_dim; at++) {
            size_t element = (size_t)t * (size_t)run->head_dim + (size_t)at;
            float value;
            quant_block_to_float(run->is_half ? DTYPE_F16 : DTYPE_F32,
                                 run->rows + element * (run->is_half ? 2 : 4), &value);
            for (int32_t i = 0; i < run->n_queries; i++) {
                float *o = out + i * run->stride + at;
                *o = vmath_fma(run->probabilities[i * CPU_PIECE + t], value, *o);
            }
        }
}

static void mix(const struct cpu_run *run, float *out)
{
    int32_t i = 0, whole = run->head_dim & ~15;
    for (; i + 4 <= run->n_queries; i += 4)
        for (int32_t d = 0; d < whole; d += 16)
            mix_part(run, out, i, d, 4, 1);
    for (; i < run->n_queries; i++) {
        int32_t d = 0;
        for (; d + 64 <= whole; d += 64)
            mix_part(run, out, i, d, 1, 4);
        for (; d < whole; d += 16)
            mix_part(run, out, i, d, 1, 1);
    }
    if (whole < run->head_dim)
        mix_tail(run, out, whole);
}

const struct cpu_kernels cpu_avx2 = {
    .name = "cpu-avx2",
    .norm = lanes_norm,
    .rotate_halves = lanes_rotate_halves,
    .rotate_pairs = lanes_rotate_pairs,
    .act = lanes_act,
    .multiply = lanes_multiply,
    .add = lanes_add,
    .to_half = to_half,
    .scores = scores,
    .softmax = lanes_softmax,
    .mix = mix,
    .merge = lanes_merge,
};
