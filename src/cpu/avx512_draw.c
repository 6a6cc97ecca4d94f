/* Drawing's loops for AVX-512: 16 logits or candidates at a time. Those that stay are moved
 * together in a register. */
#include "compute/draw_loops.h"
#include "cpu/kernels.h"

#include <immintrin.h>

enum { BLOCK = DRAW_BLOCK };

static inline __mmask16 lanes_of(int32_t n)
{
    return (__mmask16)((1u << min_i32(n, BLOCK)) - 1);
}

static float highest(const float *x, int32_t n)
{
    const __m512 none = _mm512_set1_ps(-__builtin_inff());
    __m512 a = none, b = none, c = none, d = none; /* a maximum takes four cycles */
    int32_t i = 0;
    /* Given a NaN and another number, max returns the second. */
    for (; i + 4 * BLOCK <= n; i += 4 * BLOCK) {
        a = _mm512_max_ps(_mm512_loadu_ps(x + i), a);
        b = _mm512_max_ps(_mm512_loadu_ps(x + i + BLOCK), b);
        c = _mm512_max_ps(_mm512_loadu_ps(x + i + 2 * BLOCK), c);
        d = _mm512_max_ps(_mm512_loadu_ps(x + i + 3 * BLOCK), d);
    }
    for (; i < n; i += BLOCK)
        a = _mm512_max_ps(_mm512_mask_loadu_ps(none, lanes_of(n - i), x + i), a);
    return _mm512_reduce_max_ps(_mm512_max_ps(_mm512_max_ps(a, b), _mm512_max_ps(c, d)));
}

/* As draw_exp in compute/draw_loops.h, step by step. */
static inline __m512 exp_of(__m512 x)
{
    const __m512 shift = _mm512_set1_ps(12582912.0F);
    __m512 t = _mm512_add_ps(_mm512_mul_ps(x, _mm512_set1_ps(1.44269504F)), shift);
    __m512 n = _mm512_sub_ps(t, shift);
    __m512 r = _mm512_add_ps(_mm512_sub_ps(x, _mm512_mul_ps(n, _mm512_set1_ps(0.693359375F))),
                             _mm512_mul_ps(n, _mm512_set1_ps(2.12194440e-4F)));
    static const float factors[] = { 1.3981999507e-3F, 8.3334519073e-3F, 4.1665795894e-2F,
                                     1.6666665459e-1F, 5.0000001201e-1F };
    __m512 p = _mm512_set1_ps(1.9875691500e-4F);
#pragma GCC unroll 5
    for (int i = 0; i < 5; i++)
        p = _mm512_add_ps(_mm512_mul_ps(p, r), _mm512_set1_ps(factors[i]));
    p = _mm512_add_ps(_mm512_mul_ps(p, _mm512_mul_ps(r, r)), r);
    p = _mm512_add_ps(p, _mm512_set1_ps(1.0F));
    __m512i power = _mm512_add_epi32(_mm512_slli_epi32(_mm512_castps_si512(t), 23),
                                     _mm512_set1_epi32(0x3F800000));
    return _mm512_mul_ps(p, _mm512_castsi512_ps(power));
}

/* Adds 16 weights, none negative, to 8 sums. */
static inline __m512i add_weights(__m512i sums, __m512i weights)
{
    __m512i even = _mm512_and_si512(weights, _mm512_set1_epi64(0xFFFFFFFF));
    return _mm512_add_epi64(sums, _mm512_add_epi64(even, _mm512_srli_epi64(weights, 32)));
}

static int64_t weigh(const float *logits, int32_t n, const struct compute_draw_limit *limit,
                     struct compute_draw_list *out)
{
    const __m512 best = _mm512_set1_ps(limit->best), inverse = _mm512_set1_ps(limit->inverse);
    const __m512 far = _mm512_set1_ps(limit->distance), low = _mm512_set1_ps(limit->logit);
    __m512i sums = _mm512_setzero_si512();
    __m512i ids = _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
    int32_t n_out = 0;
    for (int32_t i = 0; i < n; i += BLOCK, ids = _mm512_add_epi32(ids, _mm512_set1_epi32(BLOCK))) {
        __mmask16 mask = lanes_of(n - i);
        __m512 x = _mm512_maskz_loadu_ps(mask, logits + i);
        __builtin_prefetch(limit->next + i, 0, 2);
        __m512 distance = _mm512_mul_ps(_mm512_sub_ps(x, best), inverse);
        mask = _mm512_mask_cmp_ps_mask(mask, distance, far, _CMP_GE_OQ);
        mask = _mm512_mask_cmp_ps_mask(mask, x, low, _CMP_GE_OQ);
        if (mask == 0)
            continue;
        __m512 scaled = _mm512_mul_ps(exp_of(distance), _mm512_set1_ps((float)COMPUTE_DRAW_ONE));
        __m512i weights = _mm512_maskz_cvttps_epi32(mask, _mm512_add_ps(scaled, //
                                                                        _mm512_set1_ps(0.5F)));
        sums = add_weights(sums, weights);
        _mm512_storeu_si512(out->ids + n_out, _mm512_maskz_compress_epi32(mask, ids));
        _mm512_storeu_si512(out->weights + n_out, _mm512_maskz_compress_epi32(mask, weights));
        _mm512_storeu_ps(out->values + n_out, _mm512_maskz_compress_ps(mask, x));
        n_out += __builtin_popcount(mask);
    }
    out->n = n_out;
    return _mm512_reduce_add_epi64(sums);
}

static int64_t sum(const int32_t *weights, int32_t n)
{
    __m512i sums = _mm512_setzero_si512();
    for (int32_t i = 0; i < n; i += BLOCK)
        sums = add_weights(sums, _mm512_maskz_loadu_epi32(lanes_of(n - i), weights + i));
    return _mm512_reduce_add_epi64(sums);
}

static int64_t split(const struct compute_draw_list *list, float low, float high,
                     struct compute_draw_list *out)
{
    const __m512 lows = _mm512_set1_ps(low), highs = _mm512_set1_ps(high);
    const struct compute_draw_list from = *list;
    struct compute_draw_list to = *out;
    __m512i above = _mm512_setzero_si512(), weights = _mm512_set1_epi32(1);
    to.n = 0;
    for (int32_t i = 0; i < from.n; i += BLOCK) {
        __mmask16 mask = lanes_of(from.n - i);
        __m512 x = _mm512_maskz_loadu_ps(mask, from.values + i);
        if (from.weights != NULL)
            weights = _mm512_loadu_si512(from.weights + i);
        __mmask16 is_above = _mm512_mask_cmp_ps_mask(mask, x, highs, _CMP_GT_OQ);
        above = add_weights(above, _mm512_maskz_mov_epi32(is_above, weights));
        mask = _mm512_mask_cmp_ps_mask(mask & (__mmask16)~is_above, x, lows, _CMP_GE_OQ);
        if (to.weights != NULL)
            _mm512_storeu_si512(to.weights + to.n, _mm512_maskz_compress_epi32(mask, weights));
        _mm512_storeu_ps(to.values + to.n, _mm512_maskz_compress_ps(mask, x));
        to.n += __builtin_popcount(mask);
    }
    out->n = to.n;
    return _mm512_reduce_add_epi64(above);
}

const struct compute_draw cpu_avx512_draw = {
    .highest = highest,
    .tops = draw_tops,
    .weigh = weigh,
    .sum = sum,
    .split = split,
};
