/* Drawing's loops for AVX2. The logits or candidates that stay, of 4 at a time, are moved together
 * in a register. Loops that treat all equally use the plain code, since its vectors are wide
 * enough. */
#include "compute/draw_loops.h"
#include "cpu/kernels.h"

#include <immintrin.h>

enum { LANES = 8 };

/* A mask's lanes, the lowest first. */
static const int32_t places[16][4] = {
    { 0 }, { 0 },    { 1 },    { 0, 1 },    { 2 },    { 0, 2 },    { 1, 2 },    { 0, 1, 2 },
    { 3 }, { 0, 3 }, { 1, 3 }, { 0, 1, 3 }, { 2, 3 }, { 0, 2, 3 }, { 1, 2, 3 }, { 0, 1, 2, 3 },
};

/* Moves the masked ones of 8 together. It writes over 4 behind the last. */
static inline void move(const void *from, unsigned mask, void *to)
{
    const float *x = from;
    float *out = to;
    __m128i low = _mm_loadu_si128((const void *)places[mask & 15]);
    __m128i high = _mm_loadu_si128((const void *)places[mask >> 4]);
    __m128 first = _mm_loadu_ps(x), second = _mm_loadu_ps(x + 4);
    _mm_storeu_ps(out, _mm_permutevar_ps(first, low));
    _mm_storeu_ps(out + __builtin_popcount(mask & 15), _mm_permutevar_ps(second, high));
}

/* Returns the lanes that exist when n more are left. */
static inline unsigned lanes_of(int32_t n)
{
    return (1u << min_i32(n, LANES)) - 1;
}

static unsigned mask_of(__m256 x)
{
    return (unsigned)_mm256_movemask_ps(x);
}

static void weigh_lanes(const float *logits, unsigned mask, struct compute_draw_limit limit,
                        int32_t first, struct compute_draw_list *out)
{
    __m256 x = _mm256_loadu_ps(logits);
    __m256 distance =
        _mm256_mul_ps(_mm256_sub_ps(x, _mm256_set1_ps(limit.best)), _mm256_set1_ps(limit.inverse));
    __m256 is_near = _mm256_cmp_ps(distance, _mm256_set1_ps(limit.distance), _CMP_GE_OQ);
    is_near = _mm256_and_ps(is_near, _mm256_cmp_ps(x, _mm256_set1_ps(limit.logit), _CMP_GE_OQ));
    mask &= mask_of(is_near);
    if (mask == 0)
        return;
    float distances[LANES];
    int32_t weights[LANES], ids[LANES];
    _mm256_storeu_ps(distances, _mm256_and_ps(distance, is_near));
    for (int32_t j = 0; j < LANES; j++) {
        weights[j] = (int32_t)(draw_exp(distances[j]) * (float)COMPUTE_DRAW_ONE + 0.5F);
        ids[j] = first + j;
    }
    move(ids, mask, out->ids + out->n);
    move(weights, mask, out->weights + out->n);
    move(logits, mask, out->values + out->n);
    out->n += __builtin_popcount(mask);
}

static int64_t weigh(const float *logits, int32_t n, const struct compute_draw_limit *limit,
                     struct compute_draw_list *out)
{
    struct compute_draw_list list = *out;
    float rest[LANES] = { 0 };
    int32_t i = 0;
    list.n = 0;
    for (; i + LANES <= n; i += LANES) {
        __builtin_prefetch(limit->next + i, 0, 2);
        weigh_lanes(logits + i, lanes_of(LANES), *limit, i, &list);
    }
    memcpy(rest, logits + i, (size_t)(n - i) * sizeof(rest[0]));
    weigh_lanes(rest, lanes_of(n - i), *limit, i, &list);
    *out = list;
    return draw_sum(list.weights, list.n);
}

static int64_t split(const struct compute_draw_list *list, float low, float high,
                     struct compute_draw_list *out)
{
    const __m256 lows = _mm256_set1_ps(low), highs = _mm256_set1_ps(high);
    const __m256i halves = _mm256_set1_epi64x(0xFFFFFFFF);
    const struct compute_draw_list from = *list;
    struct compute_draw_list to = *out;
    __m256i above = _mm256_setzero_si256(), weights = _mm256_set1_epi32(1);
    int64_t sums[4];
    int32_t i = 0;
    to.n = 0;
    for (; i + LANES <= from.n; i += LANES) {
        __m256 x = _mm256_loadu_ps(from.values + i);
        if (from.weights != NULL)
            weights = _mm256_loadu_si256((const void *)(from.weights + i));
        __m256 is_above = _mm256_cmp_ps(x, highs, _CMP_GT_OQ);
        __m256 is_in = _mm256_andnot_ps(is_above, _mm256_cmp_ps(x, lows, _CMP_GE_OQ));
        __m256i w = _mm256_and_si256(weights, _mm256_castps_si256(is_above));
        above = _mm256_add_epi64(above, _mm256_and_si256(w, halves));
        above = _mm256_add_epi64(above, _mm256_srli_epi64(w, 32));
        if (to.weights != NULL)
            move(from.weights + i, mask_of(is_in), to.weights + to.n);
        move(from.values + i, mask_of(is_in), to.values + to.n);
        to.n += __builtin_popcount(mask_of(is_in));
    }
    _mm256_storeu_si256((void *)sums, above);
    struct compute_draw_list last = { from.n - i, NULL, NULL, from.values + i };
    struct compute_draw_list last_out = { 0, NULL, NULL, to.values + to.n };
    if (from.weights != NULL)
        last.weights = from.weights + i;
    if (to.weights != NULL)
        last_out.weights = to.weights + to.n;
    sums[0] += draw_split(&last, low, high, &last_out);
    out->n = to.n + last_out.n;
    return sums[0] + sums[1] + sums[2] + sums[3];
}

const struct compute_draw cpu_avx2_draw = {
    .highest = draw_highest,
    .tops = draw_tops,
    .weigh = weigh,
    .sum = draw_sum,
    .split = split,
};
