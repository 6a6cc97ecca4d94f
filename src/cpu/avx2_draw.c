/* Drawing's loops for AVX2: what stays of 4 logits or candidates is moved together in a register;
 * where all are looked at alike, the plain loops' vectors are wide enough. */
#include "compute/draw_loops.h"
#include "cpu/kernels.h"

#include <immintrin.h>

enum { LANES = 8 };

/* A mask's lanes, the lowest first. */
static const int32_t places[16][4] = {
    { 0 }, { 0 },    { 1 },    { 0, 1 },    { 2 },    { 0, 2 },    { 1, 2 },    { 0, 1, 2 },
    { 3 }, { 0, 3 }, { 1, 3 }, { 0, 1, 3 }, { 2, 3 }, { 0, 2, 3 }, { 1, 2, 3 }, { 0, 1, 2, 3 },
};

/* The masked of 8; writes over 4 behind the last. */
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

/* The lanes that there are of n more. */
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
    for (; i + LANES <= n; i += LANES)
        weigh_lanes(logits + i, lanes_of(LANES), *limit, i, &list);
    memcpy(rest, logits + i, (size_t)(n - i) * sizeof(rest[0]));
    weigh_lanes(rest, lanes_of(n - i), *limit, i, &list);
    *out = list;
    return draw_sum(list.weights, list.n);
}

static void keep(const struct compute_draw_list *list, float low, float high, int32_t n_low,
                 struct compute_draw_list *out)
{
    const __m256 lows = _mm256_set1_ps(low), highs = _mm256_set1_ps(high);
    const struct compute_draw_list from = *list;
    struct compute_draw_list to = *out;
    to.n = 0;
    for (int32_t i = 0; i < from.n; i += LANES) {
        __m256 x = _mm256_loadu_ps(from.values + i);
        __m256 is_in = _mm256_cmp_ps(x, highs, _CMP_LE_OQ);
        is_in = _mm256_and_ps(is_in, _mm256_cmp_ps(x, lows, _CMP_GE_OQ));
        unsigned mask = mask_of(is_in) & lanes_of(from.n - i);
        unsigned equal = mask & mask_of(_mm256_cmp_ps(x, lows, _CMP_EQ_OQ));
        for (; equal != 0; equal &= equal - 1)
            if (n_low-- <= 0)
                mask &= ~(equal & -equal);
        if (to.ids != NULL)
            move(from.ids + i, mask, to.ids + to.n);
        if (to.weights != NULL)
            move(from.weights + i, mask, to.weights + to.n);
        move(from.values + i, mask, to.values + to.n);
        to.n += __builtin_popcount(mask);
    }
    *out = to;
}

const struct compute_draw cpu_avx2_draw = {
    .highest = draw_highest,
    .tops = draw_tops,
    .weigh = weigh,
    .sum = draw_sum,
    .sums_above = draw_sums_above,
    .keep = keep,
};
