/* Attention's kernels for AVX2 with FMA and F16C.
 *
 * For one or two queries at a time, halves are turned into floats in registers, because the
 * conversions have ports of their own beside the products. Other rows become floats once per group
 * of queries, CPU_RUN_ROWS rows at a time, in scratch that stays in the first-level cache. While a
 * run is computed the next one is prefetched. */
#include "cpu/lanes.h"

#include <immintrin.h>

#define INLINE static inline __attribute__((always_inline))
/* Each shape is a function of its own; inlined into one function they would compete for
 * registers. */
#define APART static __attribute__((noinline))

INLINE __m256 load_half(const void *p)
{
    return _mm256_cvtph_ps(_mm_loadu_si128(p));
}

/* From one row to the next. */
INLINE size_t row_bytes(const struct cpu_run *run)
{
    return (size_t)run->head_dim * (run->dtype == DTYPE_Q8_0  ? 1
                                    : run->dtype == DTYPE_F16 ? sizeof(uint16_t)
                                                              : sizeof(float));
}

/* Returns whether rows are halves without a tail. */
INLINE bool is_plain(const struct cpu_run *run)
{
    return run->dtype == DTYPE_F16 && run->head_dim == run->stride;
}

/* Data that is needed soon is prefetched a few lines at a time, between products. A single burst
 * would fill the queue of misses and delay everything behind it. */
struct ahead {
    const char *at, *end;
    int32_t n_lines; /* a time */
};

/* Returns the prefetches that belong to rows [t, t + n) of the run, to be issued in n_times
 * parts. */
INLINE struct ahead ahead_of(const struct cpu_run *run, int32_t t, int32_t n, int32_t n_times)
{
    const char *first = (const char *)run->ahead + (size_t)t * run->ahead_bytes;
    size_t n_bytes = (size_t)n * run->ahead_bytes;
    int32_t n_lines = (int32_t)(n_bytes / 64) / n_times + 1;
    return (struct ahead){ first, first + n_bytes, n_lines };
}

INLINE void fetch(struct ahead *ahead)
{
    for (int32_t i = 0; i < ahead->n_lines && ahead->at < ahead->end; i++, ahead->at += 64)
        _mm_prefetch(ahead->at, _MM_HINT_T0);
}

/* Layout of the rows that are computed with, without a tail. */
enum form { HALVES, FLOATS };

struct rows {
    const unsigned char *first;
    size_t n_bytes; /* of one */
};

INLINE __m256 load_8(const unsigned char *row, int32_t d, const enum form form)
{
    return form == HALVES ? load_half(row + 2 * d)
                          : _mm256_loadu_ps((const float *)(const void *)row + d);
}

/* One row of any width; rare shapes. */
static void row_to_floats(const struct cpu_run *run, const unsigned char *row, float *out)
{
    bool is_half = run->dtype == DTYPE_F16;
    int32_t width = run->head_dim, d = 0;
    for (; is_half && d + 8 <= width; d += 8)
        _mm256_storeu_ps(out + d, load_half(row + 2 * d));
    for (; d < width; d++)
        quant_block_to_float(run->dtype, row + (size_t)d * (is_half ? 2 : 4), out + d);
    for (; d < run->stride; d++)
        out[d] = 0;
}

INLINE float scale_at(const struct cpu_run *run, int32_t block, int32_t t)
{
    uint16_t half = run->scales[(size_t)block * run->scale_stride + (size_t)t];
    return _cvtsh_ss(half);
}

/* Rows [t, t + n) of Q8_0 as floats, side by side. */
INLINE void bytes_to_floats(const struct cpu_run *run, int32_t t, int32_t n, const int32_t stride)
{
    const unsigned char *row = run->rows + t * stride;
    float *out = run->scratch;
    for (int32_t i = 0; i < n; i++)
        for (int32_t block = 0; block < stride / 32; block++, row += 32, out += 32) {
            __m256 scale = _mm256_set1_ps(scale_at(run, block, t + i));
            for (int j = 0; j < 4; j++) {
                __m256i whole = _mm256_cvtepi8_epi32(_mm_loadl_epi64((const void *)(row + 8 * j)));
                _mm256_storeu_ps(out + 8 * j, _mm256_mul_ps(_mm256_cvtepi32_ps(whole), scale));
            }
        }
}

/* Returns rows [t, t + n) of the run, n <= CPU_RUN_ROWS. They are in scratch unless they can be
 * used in place. */
INLINE struct rows rows_of(const struct cpu_run *run, int32_t t, int32_t n, const int32_t stride,
                           const enum form form)
{
    const unsigned char *row = run->rows + (size_t)t * row_bytes(run);
    float *out = run->scratch;
    if (form == HALVES)
        return (struct rows){ run->rows + (size_t)t * 2 * (size_t)stride, 2 * (size_t)stride };
    if (run->dtype == DTYPE_F32 && run->head_dim == stride)
        return (struct rows){ row, row_bytes(run) };
    if (run->dtype == DTYPE_Q8_0)
        bytes_to_floats(run, t, n, stride);
    else
        for (int32_t i = 0; i < n; i++, row += row_bytes(run), out += stride)
            row_to_floats(run, row, out);
    return (struct rows){ (const unsigned char *)run->scratch, sizeof(float) * (size_t)stride };
}

/* ---- Scores: 16 partial sums a product, folded 8, 4, 2, 1. ---- */

/* From 8 partial sums each: four products of x in the lower half, four of y. */
INLINE __m256 fold_two_by_four(const __m256 x[4], const __m256 y[4])
{
    __m256 four[4];
    for (int j = 0; j < 4; j++)
        four[j] = _mm256_add_ps(_mm256_blend_ps(x[j], y[j], 0xF0),
                                _mm256_permute2f128_ps(x[j], y[j], 0x21));
    __m256 a = _mm256_add_ps(_mm256_shuffle_ps(four[0], four[1], 0x44),
                             _mm256_shuffle_ps(four[0], four[1], 0xEE));
    __m256 b = _mm256_add_ps(_mm256_shuffle_ps(four[2], four[3], 0x44),
                             _mm256_shuffle_ps(four[2], four[3], 0xEE));
    return _mm256_add_ps(_mm256_shuffle_ps(a, b, 0x88), _mm256_shuffle_ps(a, b, 0xDD));
}

/* The first n of four scores, n > 0; what lies behind them in the row is not touched. */
INLINE void put_scores(float *to, __m128 four, int32_t n)
{
    if (n >= 4)
        _mm_storeu_ps(to, four);
    else
        _mm_maskstore_ps(to, _mm_cmpgt_epi32(_mm_set1_epi32(n), _mm_setr_epi32(0, 1, 2, 3)), four);
}

/* Keeps a value that is used more than once in its register. Otherwise the compiler would load it
 * for each use, and two loads a cycle are the limit here. */
INLINE __m256 kept(__m256 x)
{
    __asm__("" : "+x"(x));
    return x;
}

/* 8 of the 16 partial sums of two queries with four keys: elements d, d + 16, and so on. */
INLINE void dots_two(const float *query, const int32_t stride, const unsigned char *const keys[4],
                     int32_t from, const enum form form, __m256 acc[2][4])
{
    for (int j = 0; j < 4; j++)
        acc[0][j] = acc[1][j] = _mm256_setzero_ps();
    for (int32_t d = from; d < stride; d += 16) {
        __m256 x = _mm256_loadu_ps(query + d), y = _mm256_loadu_ps(query + stride + d);
        for (int j = 0; j < 4; j++) {
            __m256 key = kept(load_8(keys[j], d, form));
            acc[0][j] = _mm256_fmadd_ps(x, key, acc[0][j]);
            acc[1][j] = _mm256_fmadd_ps(y, key, acc[1][j]);
        }
    }
}

/* 8 sums each of two queries with four keys: the lower 8 partial sums, then the upper, so that no
 * sum leaves its register on the way. */
INLINE void eights_two(const float *query, const int32_t stride, const unsigned char *const keys[4],
                       const enum form form, __m256 eights[2][4])
{
    __m256 lower[2][4], upper[2][4];
    dots_two(query, stride, keys, 0, form, lower);
    dots_two(query, stride, keys, 8, form, upper);
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 4; j++)
            eights[i][j] = _mm256_add_ps(lower[i][j], upper[i][j]);
}

/* Does the same for one query, with all 16 sums of each key at once. */
INLINE void eights_one(const float *query, const int32_t stride, const unsigned char *const keys[4],
                       const enum form form, struct ahead *ahead, __m256 eights[4])
{
    __m256 lower[4], upper[4];
    for (int j = 0; j < 4; j++)
        lower[j] = upper[j] = _mm256_setzero_ps();
    for (int32_t d = 0; d < stride; d += 16) {
        __m256 x = kept(_mm256_loadu_ps(query + d)), y = kept(_mm256_loadu_ps(query + d + 8));
        for (int j = 0; j < 4; j++) {
            lower[j] = _mm256_fmadd_ps(load_8(keys[j], d, form), x, lower[j]);
            upper[j] = _mm256_fmadd_ps(load_8(keys[j], d + 8, form), y, upper[j]);
        }
        if (d % 64 == 0)
            fetch(ahead);
    }
    for (int j = 0; j < 4; j++)
        eights[j] = _mm256_add_ps(lower[j], upper[j]);
}

/* Sets four rows from t on. The last row replaces those behind the n-th. */
INLINE void four_rows(struct rows rows, int32_t t, int32_t n, const unsigned char *four[4])
{
    for (int32_t j = 0; j < 4; j++)
        four[j] = rows.first + (size_t)min_i32(t + j, n - 1) * rows.n_bytes;
}

/* A fold directly behind its products would wait for them and delay the next ones. So the products
 * of some keys and queries come first, then all of their folds. */
INLINE void products_done(void)
{
    __asm__ volatile("" ::: "memory");
}

/* Two queries at a time against n keys; to: of key 0, and of the first query. */
INLINE void scores_pairs(const struct cpu_run *run, const float *queries, float scale,
                         struct rows keys, int32_t n, const int32_t stride, const enum form form,
                         struct ahead *ahead, float *to)
{
    __m256 eights[CPU_RUN_ROWS / 4][CPU_QUERIES / 2][2][4];
    int32_t n_pairs = run->n_queries / 2;
    for (int32_t t = 0; t < n; t += 4) {
        const unsigned char *four[4];
        four_rows(keys, t, n, four);
        for (int32_t i = 0; i < n_pairs; i++) {
            fetch(ahead);
            eights_two(queries + 2 * i * stride, stride, four, form, eights[t / 4][i]);
            products_done();
        }
    }
    for (int32_t t = 0; t < n; t += 4)
        for (int32_t i = 0; i < n_pairs; i++) {
            __m256 dots = fold_two_by_four(eights[t / 4][i][0], eights[t / 4][i][1]);
            dots = _mm256_mul_ps(dots, _mm256_set1_ps(scale));
            put_scores(to + 2 * i * CPU_PIECE + t, _mm256_castps256_ps128(dots), n - t);
            put_scores(to + (2 * i + 1) * CPU_PIECE + t, _mm256_extractf128_ps(dots, 1), n - t);
        }
}

/* One query against n keys, eight of them a fold. */
INLINE void scores_one(const float *query, float scale, struct rows keys, int32_t n,
                       const int32_t stride, const enum form form, struct ahead *ahead, float *to)
{
    for (int32_t t = 0; t < n; t += 8) {
        const unsigned char *eight[8];
        __m256 first[4], second[4];
        four_rows(keys, t, n, eight);
        four_rows(keys, t + 4, n, eight + 4);
        eights_one(query, stride, eight, form, ahead, first);
        if (n - t > 4) {
            eights_one(query, stride, eight + 4, form, ahead, second);
            __m256 dots = _mm256_mul_ps(fold_two_by_four(first, second), _mm256_set1_ps(scale));
            put_scores(to + t, _mm256_castps256_ps128(dots), 4);
            put_scores(to + t + 4, _mm256_extractf128_ps(dots, 1), n - t - 4);
        } else {
            __m256 dots = _mm256_mul_ps(fold_two_by_four(first, first), _mm256_set1_ps(scale));
            put_scores(to + t, _mm256_castps256_ps128(dots), n - t);
        }
    }
}

INLINE void scores_many(const struct cpu_run *run, const float *queries, float scale,
                        const int32_t stride, const enum form form)
{
    int32_t n_pairs = run->n_queries / 2, n_paired = 2 * n_pairs;
    for (int32_t t = 0; t < run->n; t += CPU_RUN_ROWS) {
        int32_t n = min_i32(run->n - t, CPU_RUN_ROWS);
        struct rows keys = rows_of(run, t, n, stride, form);
        struct ahead ahead = ahead_of(run, t, n, (n + 3) / 4 * max_i32(n_pairs, 1));
        float *to = run->probabilities + t;
        scores_pairs(run, queries, scale, keys, n, stride, form, &ahead, to);
        if (n_paired < run->n_queries)
            scores_one(queries + n_paired * stride, scale, keys, n, stride, form, &ahead,
                       to + n_paired * CPU_PIECE);
    }
}

INLINE void scores_single(const struct cpu_run *run, const float *query, float scale,
                          const int32_t stride)
{
    struct rows keys = rows_of(run, 0, run->n, stride, HALVES);
    struct ahead ahead = ahead_of(run, 0, run->n, (run->n + 3) / 4 * ((stride + 63) / 64));
    scores_one(query, scale, keys, run->n, stride, HALVES, &ahead, run->probabilities);
}

#define SINGLE(name, stride)                                                                       \
    APART void name(const struct cpu_run *run, const float *query, float scale)                    \
    {                                                                                              \
        scores_single(run, query, scale, stride);                                                  \
    }
SINGLE(single_64, 64)
SINGLE(single_128, 128)
SINGLE(single_any, run->stride)

#define MANY(name, stride, form)                                                                   \
    APART void name(const struct cpu_run *run, const float *queries, float scale)                  \
    {                                                                                              \
        scores_many(run, queries, scale, stride, form);                                            \
    }
MANY(many_halves_64, 64, HALVES)
MANY(many_halves_128, 128, HALVES)
MANY(many_halves, run->stride, HALVES)
MANY(many_floats_64, 64, FLOATS)
MANY(many_floats_128, 128, FLOATS)
MANY(many_floats, run->stride, FLOATS)

static void scores(const struct cpu_run *run, const float *queries, float scale)
{
    bool plain = is_plain(run);
    if (plain && run->n_queries == 1)
        (run->stride == 64    ? single_64
         : run->stride == 128 ? single_128
                              : single_any)(run, queries, scale);
    else if (run->stride == 64)
        (plain ? many_halves_64 : many_floats_64)(run, queries, scale);
    else if (run->stride == 128)
        (plain ? many_halves_128 : many_floats_128)(run, queries, scale);
    else
        (plain ? many_halves : many_floats)(run, queries, scale);
}

/* Returns the sums of products of four keys and one block of 32 dims, exact in integers. The signs
 * are moved to the query, since one of the two factors must be unsigned. */
INLINE __m128i dots_bytes(__m256i query, const unsigned char *const keys[4])
{
    __m256i sums[4];
    for (int j = 0; j < 4; j++) {
        __m256i key = _mm256_loadu_si256((const void *)keys[j]);
        __m256i pairs = _mm256_maddubs_epi16(_mm256_abs_epi8(key), _mm256_sign_epi8(query, key));
        sums[j] = _mm256_madd_epi16(pairs, _mm256_set1_epi16(1));
    }
    __m256i all =
        _mm256_hadd_epi32(_mm256_hadd_epi32(sums[0], sums[1]), _mm256_hadd_epi32(sums[2], sums[3]));
    return _mm_add_epi32(_mm256_castsi256_si128(all), _mm256_extracti128_si256(all, 1));
}

/* The scales of rows [t, t + n) of a block, n <= 4. */
INLINE __m128 scales_of_four(const struct cpu_run *run, int32_t block, int32_t t, int32_t n)
{
    uint64_t halves = 0;
    memcpy(&halves, run->scales + (size_t)block * run->scale_stride + t, 2 * (size_t)n);
    return _mm_cvtph_ps(_mm_cvtsi64_si128((long long)halves));
}

static void scores_q8_0(const struct cpu_run *run, const struct cpu_block *queries, float scale)
{
    struct ahead ahead = ahead_of(run, 0, run->n, (run->n + 3) / 4 * run->n_queries);
    for (int32_t t = 0; t < run->n; t += 4) {
        int32_t n = min_i32(run->n - t, 4);
        const struct cpu_block *query = queries;
        for (int32_t i = 0; i < run->n_queries; i++, query += cpu_run_blocks(run)) {
            __m128 acc = _mm_setzero_ps();
            fetch(&ahead);
            for (int32_t block = 0; block < run->head_dim / 32; block++) {
                const unsigned char *keys[4];
                for (int32_t j = 0; j < 4; j++)
                    keys[j] = run->rows + (t + (j < n ? j : 0)) * run->head_dim + 32 * block;
                __m128i sums = dots_bytes(_mm256_loadu_si256((const void *)query[block].q), keys);
                __m128 by =
                    n == 4 ? scales_of_four(run, block, t, 4) : scales_of_four(run, block, t, n);
                acc = _mm_fmadd_ps(_mm_mul_ps(_mm_cvtepi32_ps(sums), by),
                                   _mm_set1_ps(query[block].scale), acc);
            }
            put_scores(run->probabilities + i * CPU_PIECE + t, _mm_mul_ps(acc, _mm_set1_ps(scale)),
                       n);
        }
    }
}

/* ---- Softmax. ---- */

/* vmath_exp, 8 at once. */
INLINE __m256 exp_of(__m256 x)
{
    const __m256 shift = _mm256_set1_ps(12582912.0f);
    __m256 t = _mm256_fmadd_ps(x, _mm256_set1_ps(1.44269504f), shift);
    __m256 n = _mm256_sub_ps(t, shift);
    __m256 r = _mm256_fmadd_ps(n, _mm256_set1_ps(-0.693359375f), x);
    r = _mm256_fmadd_ps(n, _mm256_set1_ps(2.12194440e-4f), r);
    __m256 p = _mm256_set1_ps(1.9875691500e-4f);
    p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(1.3981999507e-3f));
    p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(8.3334519073e-3f));
    p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(4.1665795894e-2f));
    p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(1.6666665459e-1f));
    p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(5.0000001201e-1f));
    p = _mm256_add_ps(_mm256_fmadd_ps(p, _mm256_mul_ps(r, r), r), _mm256_set1_ps(1.0f));
    __m256i power = _mm256_add_epi32(_mm256_slli_epi32(_mm256_castps_si256(t), 23),
                                     _mm256_set1_epi32(0x3F800000));
    __m256 y = _mm256_mul_ps(p, _mm256_castsi256_ps(power));
    /* x <= 0 here; not-less-than keeps NaN. */
    return _mm256_and_ps(y, _mm256_cmp_ps(x, _mm256_set1_ps(-87.3f), _CMP_NLT_UQ));
}

static float softmax(float *s, int32_t first, int32_t last, float *max)
{
    const float none = vmath_of_bits(0xFF800000u); /* -infinity */
    int32_t from = first & ~15, to = last | 15;
    for (int32_t i = from; i < first; i++)
        s[i] = none;
    for (int32_t i = last + 1; i <= to; i++)
        s[i] = none;
    __m256 low = _mm256_loadu_ps(s + from), high = _mm256_loadu_ps(s + from + 8);
    for (int32_t i = from + 16; i <= to; i += 16) {
        low = _mm256_max_ps(_mm256_loadu_ps(s + i), low);
        high = _mm256_max_ps(_mm256_loadu_ps(s + i + 8), high);
    }
    float tops[8], top = s[first];
    _mm256_storeu_ps(tops, _mm256_max_ps(low, high));
    for (int j = 0; j < 8; j++)
        top = tops[j] > top ? tops[j] : top;
    const __m256 all = _mm256_set1_ps(top);
    low = high = _mm256_setzero_ps();
    for (int32_t i = from; i <= to; i += 16) {
        __m256 x = exp_of(_mm256_sub_ps(_mm256_loadu_ps(s + i), all));
        __m256 y = exp_of(_mm256_sub_ps(_mm256_loadu_ps(s + i + 8), all));
        _mm256_storeu_ps(s + i, x);
        _mm256_storeu_ps(s + i + 8, y);
        low = _mm256_add_ps(low, x);
        high = _mm256_add_ps(high, y);
    }
    float partial[16];
    _mm256_storeu_ps(partial, low);
    _mm256_storeu_ps(partial + 8, high);
    *max = top;
    return vmath_fold16(partial);
}

/* ---- Values. ---- */

/* R queries, D times 8 elements from d on, n positions. */
INLINE void mix_some(const struct cpu_run *run, float *out, const float *p, struct rows values,
                     int32_t n, int32_t d, struct ahead *ahead, const enum form form, const int R,
                     const int D)
{
    __m256 acc[2][8];
    for (int r = 0; r < R; r++)
        for (int j = 0; j < D; j++)
            acc[r][j] = _mm256_loadu_ps(out + r * run->stride + d + 8 * j);
    const unsigned char *row = values.first + d * (form == HALVES ? 2 : 4);
    for (int32_t t = 0; t < n; t++, row += values.n_bytes) {
        __m256 weight[2];
        for (int r = 0; r < R; r++)
            weight[r] = _mm256_broadcast_ss(p + r * CPU_PIECE + t);
        if (R == 1 && d == 0)
            fetch(ahead);
        for (int j = 0; j < D; j++) {
            __m256 value = load_8(row, 8 * j, form);
            value = R > 1 ? kept(value) : value;
            for (int r = 0; r < R; r++)
                acc[r][j] = _mm256_fmadd_ps(weight[r], value, acc[r][j]);
        }
    }
    for (int r = 0; r < R; r++)
        for (int j = 0; j < D; j++)
            _mm256_storeu_ps(out + r * run->stride + d + 8 * j, acc[r][j]);
}

/* Computes all elements of R queries, with 8 sums at a time. */
INLINE void mix_queries(const struct cpu_run *run, float *out, const float *p, struct rows values,
                        int32_t n, const int32_t stride, struct ahead *ahead, const enum form form,
                        const int R)
{
    int32_t d = 0;
    for (; d + 64 / R <= stride; d += 64 / R) {
        if (R > 1)
            fetch(ahead);
        mix_some(run, out, p, values, n, d, ahead, form, R, 8 / R);
    }
    for (; R == 1 && d + 32 <= stride; d += 32)
        mix_some(run, out, p, values, n, d, ahead, form, R, 4);
    for (; d < stride; d += 16)
        mix_some(run, out, p, values, n, d, ahead, form, R, 2);
}

INLINE void mix_many(const struct cpu_run *run, float *out, const int32_t stride,
                     const enum form form)
{
    for (int32_t t = 0; t < run->n; t += CPU_RUN_ROWS) {
        int32_t n = min_i32(run->n - t, CPU_RUN_ROWS), i = 0, n_pairs = run->n_queries / 2;
        struct rows values = rows_of(run, t, n, stride, form);
        const float *p = run->probabilities + t;
        struct ahead ahead =
            ahead_of(run, t, n, n_pairs == 0 ? n : n_pairs * max_i32(stride / 32, 1));
        for (; i + 2 <= run->n_queries; i += 2)
            mix_queries(run, out + i * stride, p + i * CPU_PIECE, values, n, stride, &ahead, form,
                        2);
        if (i < run->n_queries)
            mix_queries(run, out + i * stride, p + i * CPU_PIECE, values, n, stride, &ahead, form,
                        1);
    }
}

/* A single query's values of halves. */
APART void mix_single(const struct cpu_run *run, float *out)
{
    struct rows values = rows_of(run, 0, run->n, run->stride, HALVES);
    struct ahead ahead = ahead_of(run, 0, run->n, run->n);
    mix_queries(run, out, run->probabilities, values, run->n, run->stride, &ahead, HALVES, 1);
}

#define MIX(name, stride, form)                                                                    \
    APART void name(const struct cpu_run *run, float *out)                                         \
    {                                                                                              \
        mix_many(run, out, stride, form);                                                          \
    }
MIX(mix_halves_64, 64, HALVES)
MIX(mix_halves_128, 128, HALVES)
MIX(mix_halves, run->stride, HALVES)
MIX(mix_floats_64, 64, FLOATS)
MIX(mix_floats_128, 128, FLOATS)
MIX(mix_floats, run->stride, FLOATS)

static void mix(const struct cpu_run *run, float *out)
{
    bool plain = is_plain(run);
    if (plain && run->n_queries == 1)
        mix_single(run, out);
    else if (run->stride == 64)
        (plain ? mix_halves_64 : mix_floats_64)(run, out);
    else if (run->stride == 128)
        (plain ? mix_halves_128 : mix_floats_128)(run, out);
    else
        (plain ? mix_halves : mix_floats)(run, out);
}

const struct cpu_kernels cpu_avx2_attend = {
    .scores = scores,
    .scores_q8_0 = scores_q8_0,
    .softmax = softmax,
    .mix = mix,
};
