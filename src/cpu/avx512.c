/* Kernels for AVX-512 (F, BW, VL, DQ, VBMI) with VNNI: rows. avx512_matmul.c and avx512_float.c
 * have the matrices, avx512_attend.c has attention. All other kernels are AVX2's. */
#include "cpu/lanes.h"

#include <immintrin.h>

static void to_half(const float *x, int32_t n, uint16_t *out)
{
    for (int32_t i = 0; i < n; i += 16) {
        __mmask16 mask = (__mmask16)((1u << min_i32(n - i, 16)) - 1);
        __m256i halves =
            _mm512_cvtps_ph(_mm512_maskz_loadu_ps(mask, x + i), _MM_FROUND_TO_NEAREST_INT);
        _mm256_mask_storeu_epi16(out + i, mask, halves);
    }
}

/* ---- Quantization: four blocks at a time. All vectors of 512 bits share two ports, and the work
 * on a block's maximum and sums would leave most lanes of a single block empty. ---- */

enum { FOUR = 4 };

/* The largest magnitudes of four blocks, as bits. */
static inline __m128i maxima_of(const float *x)
{
    const __m512i magnitude = _mm512_set1_epi32(0x7FFFFFFF);
    __m512i max[FOUR];
    for (int b = 0; b < FOUR; b++, x += 32)
        max[b] = _mm512_max_epu32(_mm512_and_si512(_mm512_loadu_si512(x), magnitude),
                                  _mm512_and_si512(_mm512_loadu_si512(x + 16), magnitude));
    for (int b = 0; b < FOUR; b += 2)
        max[b] = _mm512_max_epu32(_mm512_unpacklo_epi32(max[b], max[b + 1]),
                                  _mm512_unpackhi_epi32(max[b], max[b + 1]));
    max[0] = _mm512_max_epu32(_mm512_unpacklo_epi64(max[0], max[2]),
                              _mm512_unpackhi_epi64(max[0], max[2]));
    __m256i half =
        _mm256_max_epu32(_mm512_castsi512_si256(max[0]), _mm512_extracti64x4_epi64(max[0], 1));
    return _mm_max_epu32(_mm256_castsi256_si128(half), _mm256_extracti128_si256(half, 1));
}

/* Returns 16 quotients x / scale, rounded to integers. by is 2^14 / scale. In steps of 2^-14 the
 * product is less than one step off the divided quotient. So it rounds alike unless it is within
 * that distance of the middle between two integers. Then lanes become unsure, in about one of 32
 * fours. */
static inline __m512i round_quotients(const float *x, float by, __mmask16 *unsure)
{
    __m512i steps = _mm512_cvtps_epi32(_mm512_mul_ps(_mm512_loadu_ps(x), _mm512_set1_ps(by)));
    steps = _mm512_add_epi32(steps, _mm512_set1_epi32((1 << 13) + 1));
    *unsure |= _mm512_testn_epi32_mask(steps, _mm512_set1_epi32((1 << 14) - 4));
    return _mm512_srai_epi32(steps, 14);
}

/* Writes two blocks from their q (first halves, second halves, of 128 bits each) and scales. */
static inline void write_two(__m512i q, const float *scales, struct cpu_block *blocks)
{
    __m512i pairs = _mm512_maddubs_epi16(_mm512_set1_epi8(1), q);
    pairs = _mm512_add_epi16(pairs, _mm512_shuffle_epi32(pairs, 0x4E));
    pairs = _mm512_add_epi16(pairs, _mm512_shuffle_epi32(pairs, 0xB1));
    __m512i sums = _mm512_madd_epi16(pairs, _mm512_set1_epi16(1));
    __m512i other = _mm512_shuffle_i64x2(sums, sums, 0xB1);
    __m512i both = _mm512_add_epi32(sums, other);
    __m512 scale = _mm512_insertf32x8(_mm512_set1_ps(scales[0]), _mm256_set1_ps(scales[1]), 1);
    __m512 product = _mm512_mul_ps(scale, _mm512_cvtepi32_ps(both));
    /* The first of each two lanes of 128 bits has scale, sum and sums; the second has starts. */
    __m512i starts = _mm512_mask_mov_epi32(both, 0x2020, other);
    starts = _mm512_mask_mov_epi32(starts, 0x4040, sums);
    starts = _mm512_slli_epi32(_mm512_maskz_sub_epi32(0x7070, _mm512_setzero_si512(), starts), 7);
    starts = _mm512_mask_add_epi32(starts, 0xF0F0, starts, _mm512_set1_epi32(CPU_SUM_BITS));
    __m512i rest = _mm512_mask_mov_epi32(starts, 0x0101, _mm512_castps_si512(scale));
    rest = _mm512_mask_mov_epi32(rest, 0x0202, _mm512_castps_si512(product));
    rest = _mm512_mask_mov_epi32(rest, 0x0404, pairs);
    rest = _mm512_mask_mov_epi32(rest, 0x0808, _mm512_shuffle_i64x2(pairs, pairs, 0xB1));
    _mm512_storeu_si512(&blocks[0], _mm512_shuffle_i64x2(q, rest, 0x44));
    _mm512_storeu_si512(&blocks[1], _mm512_shuffle_i64x2(q, rest, 0xEE));
}

static bool quantize_four(const float *x, struct cpu_block *blocks)
{
    /* Dwords of two packed blocks come as the first and second half of both, four times. */
    const __m512i order = _mm512_set_epi32(15, 11, 7, 3, 14, 10, 6, 2, 13, 9, 5, 1, 12, 8, 4, 0);
    __m128i max = maxima_of(x);
    __m128 scale = _mm_div_ps(_mm_castsi128_ps(max), _mm_set1_ps(127.0f));
    __mmask8 is_usual = _mm_cmplt_epu32_mask(max, _mm_set1_epi32(0x7F800000));
    is_usual = _mm_mask_cmp_ps_mask(is_usual, scale, _mm_set1_ps(0x1p-100f), _CMP_GE_OQ);
    if (is_usual != 15)
        return false;
    float scales[FOUR], by[FOUR];
    __mmask16 unsure = 0;
    __m512i q[FOUR];
    _mm_storeu_ps(scales, scale);
    _mm_storeu_ps(by, _mm_div_ps(_mm_set1_ps(0x1p14f), scale));
    for (int b = 0; b < FOUR; b++)
        q[b] = _mm512_packs_epi32(round_quotients(x + 32 * b, by[b], &unsure),
                                  round_quotients(x + 32 * b + 16, by[b], &unsure));
    if (unsure != 0)
        return false;
    for (int b = 0; b < FOUR; b += 2)
        write_two(_mm512_permutexvar_epi32(order, _mm512_packs_epi16(q[b], q[b + 1])), scales + b,
                  blocks + b);
    return true;
}

static void quantize(const float *x, int32_t n, struct cpu_block *blocks)
{
    int32_t i = 0;
    for (; i + 32 * FOUR <= n; i += 32 * FOUR)
        if (!quantize_four(x + i, blocks + i / 32))
            cpu_avx2_matmul.quantize(x + i, 32 * FOUR, blocks + i / 32);
    cpu_avx2_matmul.quantize(x + i, n - i, blocks + i / 32);
}

const struct cpu_kernels cpu_avx512 = {
    .name = "cpu-avx512",
    .quantize = quantize,
    .norm = lanes_norm,
    .rotate_halves = lanes_rotate_halves,
    .rotate_pairs = lanes_rotate_pairs,
    .act = lanes_act,
    .multiply = lanes_multiply,
    .cap = lanes_cap,
    .swiglu_clamped = lanes_swiglu_clamped,
    .add = lanes_add,
    .add_scaled = lanes_add_scaled,
    .scale = lanes_scale,
    .to_half = to_half,
    .merge = lanes_merge,
    .draw = &cpu_avx512_draw,
};
