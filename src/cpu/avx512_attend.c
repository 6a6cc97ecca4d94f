/* Attention's kernels for AVX-512.
 *
 * Scores. A product of a query and a key is 16 partial sums, folded 8, 4, 2, 1. With a register for
 * one key's 16, folding would cost as much as multiplying. So the lanes are 4 dims of 4 keys (a
 * quad): the first two folds then add registers, and only the last two move lanes. A run's keys are
 * turned into floats in that order once for all queries, in scratch that stays in the first-level
 * cache. A single query, for which memory is the limit, reads the keys in place.
 *
 * Values. Lanes are dims. Every value is turned into a float where it is used, for so large a group
 * of queries that this costs little beside their products.
 *
 * While a run is computed the next one is prefetched. */
#include "cpu/avx512.h"
#include "cpu/lanes.h"

/* From one row to the next. */
INLINE size_t row_bytes(const struct cpu_run *run)
{
    return (size_t)run->head_dim * (run->dtype == DTYPE_Q8_0  ? 1
                                    : run->dtype == DTYPE_F16 ? sizeof(uint16_t)
                                                              : sizeof(float));
}

/* Returns whether rows are halves without a tail: the common case, known when compiled. */
INLINE bool is_plain(const struct cpu_run *run)
{
    return run->dtype == DTYPE_F16 && run->head_dim == run->stride;
}

/* Elements [d, d + 16) of a row as floats, 0 behind head_dim. */
INLINE __m512 load_row(const struct cpu_run *run, const unsigned char *row, int32_t d,
                       const bool plain)
{
    if (plain)
        return _mm512_cvtph_ps(_mm256_loadu_si256((const void *)(row + 2 * d)));
    __mmask16 mask = (__mmask16)((1u << min_i32(run->head_dim - d, 16)) - 1);
    if (run->dtype == DTYPE_F16)
        return _mm512_cvtph_ps(_mm256_maskz_loadu_epi16(mask, row + 2 * d));
    return _mm512_maskz_loadu_ps(mask, row + 4 * d);
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
    int32_t n_lines = (int32_t)(n_bytes + 63) / 64;
    return (struct ahead){ first, first + n_bytes, (n_lines + n_times - 1) / n_times };
}

INLINE void fetch(struct ahead *ahead)
{
    for (int32_t i = 0; i < ahead->n_lines && ahead->at < ahead->end; i++, ahead->at += 64)
        _mm_prefetch(ahead->at, _MM_HINT_T1);
}

/* Keeps a value that is used more than once in its register. Otherwise the compiler would load it
 * for each use, and two loads a cycle are the limit here. */
INLINE __m512 kept(__m512 x)
{
    __asm__("" : "+v"(x));
    return x;
}

/* ---- Scores. ---- */

/* Sets quad j to rows j, j + 4, j + 8 and j + 12 of the 16 from t on. Behind the run's end its last
 * row replaces them. */
INLINE void quad_rows(const struct cpu_run *run, int32_t t, int32_t j, const unsigned char *rows[4])
{
    for (int32_t i = 0; i < 4; i++)
        rows[i] = run->rows + (size_t)min_i32(t + j + 4 * i, run->n - 1) * row_bytes(run);
}

/* Quads of 4 partial sums to 16 products, row after row. */
INLINE __m512 fold_quads(const __m512 quad[4])
{
    __m512 a = _mm512_add_ps(_mm512_shuffle_ps(quad[0], quad[1], 0x44),
                             _mm512_shuffle_ps(quad[0], quad[1], 0xEE));
    __m512 b = _mm512_add_ps(_mm512_shuffle_ps(quad[2], quad[3], 0x44),
                             _mm512_shuffle_ps(quad[2], quad[3], 0xEE));
    return _mm512_add_ps(_mm512_shuffle_ps(a, b, 0x88), _mm512_shuffle_ps(a, b, 0xDD));
}

INLINE void put_scores(const struct cpu_run *run, int32_t query, int32_t t, __m512 scores)
{
    __mmask16 mask = (__mmask16)((1u << min_i32(run->n - t, 16)) - 1);
    _mm512_mask_storeu_ps(run->probabilities + query * CPU_PIECE + t, mask, scores);
}

/* Rows [t, t + 16) to scratch: for each 4 dims the four quads, for each row of a quad its 4. */
INLINE void to_quads(const struct cpu_run *run, int32_t t, const int32_t stride, const bool plain)
{
    for (int32_t j = 0; j < 4; j++) {
        const unsigned char *rows[4];
        quad_rows(run, t, j, rows);
        for (int32_t d = 0; d < stride; d += 16) {
            __m512 row[4];
            for (int i = 0; i < 4; i++)
                row[i] = load_row(run, rows[i], d, plain);
            __m512 a = _mm512_shuffle_f32x4(row[0], row[1], 0x44);
            __m512 b = _mm512_shuffle_f32x4(row[2], row[3], 0x44);
            __m512 c = _mm512_shuffle_f32x4(row[0], row[1], 0xEE);
            __m512 e = _mm512_shuffle_f32x4(row[2], row[3], 0xEE);
            float *to = run->scratch + 16 * d + 16 * j;
            _mm512_storeu_ps(to, _mm512_shuffle_f32x4(a, b, 0x88));
            _mm512_storeu_ps(to + 64, _mm512_shuffle_f32x4(a, b, 0xDD));
            _mm512_storeu_ps(to + 128, _mm512_shuffle_f32x4(c, e, 0x88));
            _mm512_storeu_ps(to + 192, _mm512_shuffle_f32x4(c, e, 0xDD));
        }
    }
}

/* Does the same for halves, in whole lines of 32: 4 dims of a row are a word here, half as many to
 * move. They go through memory, since turning them into floats from there is less work. */
INLINE void halves_to_quads(const struct cpu_run *run, int32_t t, const int32_t stride)
{
    const __m512i even = _mm512_setr_epi64(0, 1, 8, 9, 2, 3, 10, 11);
    const __m512i odd = _mm512_setr_epi64(4, 5, 12, 13, 6, 7, 14, 15);
    for (int32_t j = 0; j < 4; j++) {
        const unsigned char *rows[4];
        quad_rows(run, t, j, rows);
        for (int32_t d = 0; d < stride; d += 32) {
            __m512i row[4], words[4];
            for (int i = 0; i < 4; i++)
                row[i] = _mm512_loadu_si512(rows[i] + 2 * d);
            __m512i a = _mm512_unpacklo_epi64(row[0], row[1]);
            __m512i b = _mm512_unpacklo_epi64(row[2], row[3]);
            __m512i c = _mm512_unpackhi_epi64(row[0], row[1]);
            __m512i e = _mm512_unpackhi_epi64(row[2], row[3]);
            words[0] = _mm512_permutex2var_epi64(a, even, b); /* words 0 and 2 of each */
            words[1] = _mm512_permutex2var_epi64(c, even, e); /* 1 and 3 */
            words[2] = _mm512_permutex2var_epi64(a, odd, b);  /* 4 and 6 */
            words[3] = _mm512_permutex2var_epi64(c, odd, e);  /* 5 and 7 */
            __asm__("" : "+m"(words));
            for (int i = 0; i < 8; i++) {
                const __m256i *word = (const __m256i *)(const void *)words + i / 4 * 4 + i % 2 * 2;
                _mm512_storeu_ps(run->scratch + 16 * d + 64 * i + 16 * j,
                                 _mm512_cvtph_ps(_mm256_loadu_si256(word + i % 4 / 2)));
            }
        }
    }
}

/* Adds, for R queries, the partial sums of dims d to d + 3, d + 16 to d + 19, and so on. */
INLINE void dot_quads(const float *query, const float *quads, int32_t d, const int32_t stride,
                      const int R, __m512 acc[2][4])
{
    for (int r = 0; r < R; r++)
        for (int j = 0; j < 4; j++)
            acc[r][j] = _mm512_setzero_ps();
    for (; d < stride; d += 16) {
        __m512 x[2];
        for (int r = 0; r < R; r++)
            x[r] = kept(_mm512_broadcast_f32x4(_mm_loadu_ps(query + r * stride + d)));
        for (int j = 0; j < 4; j++) {
            __m512 key = kept(_mm512_loadu_ps(quads + 16 * d + 16 * j));
            for (int r = 0; r < R; r++)
                acc[r][j] = _mm512_fmadd_ps(x[r], key, acc[r][j]);
        }
    }
}

/* R queries from i on against the 16 keys in scratch. */
INLINE void score_quads(const struct cpu_run *run, const float *queries, float scale, int32_t i,
                        int32_t t, const int32_t stride, const int R)
{
    const float *query = queries + i * stride;
    __m512 sum[2][4], other[2][4], last[2][4];
    dot_quads(query, run->scratch, 0, stride, R, sum);
    dot_quads(query, run->scratch, 8, stride, R, last);
    for (int r = 0; r < R; r++)
        for (int j = 0; j < 4; j++)
            sum[r][j] = _mm512_add_ps(sum[r][j], last[r][j]);
    dot_quads(query, run->scratch, 4, stride, R, other);
    dot_quads(query, run->scratch, 12, stride, R, last);
    for (int r = 0; r < R; r++) {
        for (int j = 0; j < 4; j++)
            sum[r][j] = _mm512_add_ps(sum[r][j], _mm512_add_ps(other[r][j], last[r][j]));
        put_scores(run, i + r, t, _mm512_mul_ps(fold_quads(sum[r]), _mm512_set1_ps(scale)));
    }
}

INLINE void scores_many(const struct cpu_run *run, const float *queries, float scale,
                        const int32_t stride, const bool plain)
{
    for (int32_t t = 0; t < run->n; t += 16) {
        int32_t n = min_i32(run->n - t, 16), i = 0;
        struct ahead ahead = ahead_of(run, t, n, (run->n_queries + 1) / 2);
        if (plain && stride % 32 == 0)
            halves_to_quads(run, t, stride);
        else
            to_quads(run, t, stride, plain);
        for (; i + 2 <= run->n_queries; i += 2) {
            fetch(&ahead);
            score_quads(run, queries, scale, i, t, stride, 2);
        }
        fetch(&ahead);
        if (i < run->n_queries)
            score_quads(run, queries, scale, i, t, stride, 1);
    }
}

/* Quad j of a single query's partial sums, all 16 of each row in one register first. */
INLINE __m512 dot_rows(const struct cpu_run *run, const float *query, int32_t t, int32_t j,
                       const int32_t stride)
{
    const unsigned char *rows[4];
    __m512 acc[4];
    quad_rows(run, t, j, rows);
    for (int i = 0; i < 4; i++)
        acc[i] = _mm512_setzero_ps();
    for (int32_t d = 0; d < stride; d += 16)
        for (int i = 0; i < 4; i++)
            acc[i] = _mm512_fmadd_ps(load_row(run, rows[i], d, true), _mm512_loadu_ps(query + d),
                                     acc[i]);
    __m512 a = _mm512_add_ps(_mm512_shuffle_f32x4(acc[0], acc[1], 0x44),
                             _mm512_shuffle_f32x4(acc[0], acc[1], 0xEE));
    __m512 b = _mm512_add_ps(_mm512_shuffle_f32x4(acc[2], acc[3], 0x44),
                             _mm512_shuffle_f32x4(acc[2], acc[3], 0xEE));
    return _mm512_add_ps(_mm512_shuffle_f32x4(a, b, 0x88), _mm512_shuffle_f32x4(a, b, 0xDD));
}

INLINE void scores_single(const struct cpu_run *run, const float *query, float scale,
                          const int32_t stride)
{
    for (int32_t t = 0; t < run->n; t += 16) {
        struct ahead ahead = ahead_of(run, t, min_i32(run->n - t, 16), 4);
        __m512 quad[4];
        for (int j = 0; j < 4; j++) {
            fetch(&ahead);
            quad[j] = dot_rows(run, query, t, j, stride);
        }
        put_scores(run, 0, t, _mm512_mul_ps(fold_quads(quad), _mm512_set1_ps(scale)));
    }
}

static void scores(const struct cpu_run *run, const float *queries, float scale)
{
    bool is_single = run->n_queries == 1;
    if (!is_plain(run))
        scores_many(run, queries, scale, run->stride, false);
    else if (run->stride == 64 && is_single)
        scores_single(run, queries, scale, 64);
    else if (run->stride == 64)
        scores_many(run, queries, scale, 64, true);
    else if (run->stride == 128 && is_single)
        scores_single(run, queries, scale, 128);
    else if (run->stride == 128)
        scores_many(run, queries, scale, 128, true);
    else
        scores_many(run, queries, scale, run->stride, true);
}

/* ---- Scores of keys of Q8_0: products are summed in integers, so the order is free. ---- */

/* Makes bytes unsigned, because vpdpbusd needs one unsigned side. Queries' blocks have the surplus
 * that this adds. */
INLINE __m512i to_unsigned(__m512i bytes)
{
    return _mm512_xor_si512(bytes, _mm512_set1_epi8((char)0x80));
}

/* The scales of rows [t, t + 16) of a block of 32 dims; 0 behind the run. */
INLINE __m512 scales_at(const struct cpu_run *run, int32_t block, int32_t t)
{
    __mmask16 mask = (__mmask16)((1u << min_i32(run->n - t, 16)) - 1);
    return _mm512_cvtph_ps(
        _mm256_maskz_loadu_epi16(mask, run->scales + (size_t)block * run->scale_stride + t));
}

/* Rows [t, t + 16) to scratch: for each 4 dims those of all 16 rows. */
INLINE void bytes_to_columns(const struct cpu_run *run, int32_t t)
{
    __m512i *to = (__m512i *)(void *)run->scratch;
    for (int32_t d = 0; d < run->head_dim; d += 16, to += 4) {
        __m512i four[4]; /* rows i, i + 4, i + 8, i + 12: 16 dims each */
        for (int32_t i = 0; i < 4; i++) {
            const unsigned char *rows[4];
            quad_rows(run, t, i, rows);
            four[i] = _mm512_castsi128_si512(_mm_loadu_si128((const void *)(rows[0] + d)));
            for (int j = 1; j < 4; j++)
                four[i] = _mm512_mask_broadcast_i32x4(four[i], (__mmask16)(0xF << 4 * j),
                                                      _mm_loadu_si128((const void *)(rows[j] + d)));
            four[i] = to_unsigned(four[i]);
        }
        __m512i a = _mm512_unpacklo_epi32(four[0], four[1]);
        __m512i b = _mm512_unpacklo_epi32(four[2], four[3]);
        __m512i c = _mm512_unpackhi_epi32(four[0], four[1]);
        __m512i e = _mm512_unpackhi_epi32(four[2], four[3]);
        _mm512_storeu_si512(to, _mm512_unpacklo_epi64(a, b));
        _mm512_storeu_si512(to + 1, _mm512_unpackhi_epi64(a, b));
        _mm512_storeu_si512(to + 2, _mm512_unpacklo_epi64(c, e));
        _mm512_storeu_si512(to + 3, _mm512_unpackhi_epi64(c, e));
    }
}

/* R queries from i on against the 16 keys in scratch. */
INLINE void score_columns(const struct cpu_run *run, const struct cpu_block *queries, float scale,
                          int32_t i, int32_t t, const int R)
{
    const __m512i *keys = (const __m512i *)(const void *)run->scratch;
    const struct cpu_block *query = queries + i * cpu_run_blocks(run);
    __m512 acc[8];
    for (int r = 0; r < R; r++)
        acc[r] = _mm512_setzero_ps();
    for (int32_t block = 0; block < run->head_dim / 32; block++, keys += 8) {
        const struct cpu_block *own[8];
        __m512i sums[8];
        __m512 by = scales_at(run, block, t);
        for (int r = 0; r < R; r++) {
            own[r] = query + r * cpu_run_blocks(run) + block;
            sums[r] = _mm512_set1_epi32(own[r]->starts[0]);
        }
        for (int k = 0; k < 8; k++) {
            __m512i key = _mm512_loadu_si512(keys + k);
            for (int r = 0; r < R; r++) {
                int32_t four;
                memcpy(&four, own[r]->q + 4 * k, 4);
                sums[r] = _mm512_dpbusd_epi32(sums[r], key, _mm512_set1_epi32(four));
            }
        }
        for (int r = 0; r < R; r++)
            acc[r] = _mm512_fmadd_ps(scale_sum(sums[r], by), _mm512_set1_ps(own[r]->scale), acc[r]);
    }
    for (int r = 0; r < R; r++)
        put_scores(run, i + r, t, _mm512_mul_ps(acc[r], _mm512_set1_ps(scale)));
}

INLINE void scores_columns(const struct cpu_run *run, const struct cpu_block *queries, float scale)
{
    for (int32_t t = 0; t < run->n; t += 16) {
        int32_t n = run->n_queries, i = 0;
        struct ahead ahead = ahead_of(run, t, min_i32(run->n - t, 16), (n + 7) / 8);
        bytes_to_columns(run, t);
        for (; i < n; i += i + 8 <= n ? 8 : i + 4 <= n ? 4 : 1) {
            fetch(&ahead);
            if (i + 8 <= n)
                score_columns(run, queries, scale, i, t, 8);
            else if (i + 4 <= n)
                score_columns(run, queries, scale, i, t, 4);
            else
                score_columns(run, queries, scale, i, t, 1);
        }
    }
}

/* Folds 4 partial sums of two blocks each: for 8 rows the first block's sums, then the second's,
 * for rows 0 to 3 and 4 to 7. */
INLINE __m512i fold_bytes(const __m512i rows[8])
{
    __m512i pairs[4];
    for (int i = 0; i < 4; i++)
        pairs[i] = _mm512_add_epi32(_mm512_shuffle_i32x4(rows[i], rows[i + 4], 0x88),
                                    _mm512_shuffle_i32x4(rows[i], rows[i + 4], 0xDD));
    __m512i a = _mm512_add_epi32(_mm512_unpacklo_epi32(pairs[0], pairs[1]),
                                 _mm512_unpackhi_epi32(pairs[0], pairs[1]));
    __m512i b = _mm512_add_epi32(_mm512_unpacklo_epi32(pairs[2], pairs[3]),
                                 _mm512_unpackhi_epi32(pairs[2], pairs[3]));
    return _mm512_add_epi32(_mm512_unpacklo_epi64(a, b), _mm512_unpackhi_epi64(a, b));
}

/* A single query against 16 keys, 64 dims a time, where they are. */
INLINE __m512 dot_bytes(const struct cpu_run *run, const struct cpu_block *query, int32_t t,
                        struct ahead *ahead)
{
    __m512 acc = _mm512_setzero_ps();
    for (int32_t d = 0; d < run->head_dim; d += 64, query += 2) {
        __m512i q =
            _mm512_inserti64x4(_mm512_castsi256_si512(_mm256_loadu_si256((const void *)query[0].q)),
                               _mm256_loadu_si256((const void *)query[1].q), 1);
        __m512i start =
            _mm512_inserti64x4(_mm512_zextsi128_si512(_mm_cvtsi32_si128(query[0].starts[0])),
                               _mm256_zextsi128_si256(_mm_cvtsi32_si128(query[1].starts[0])), 1);
        __m512i folded[2];
        for (int half = 0; half < 2; half++) {
            __m512i rows[8];
            for (int32_t i = 0; i < 8; i++) {
                int32_t row = min_i32(t + 8 * half + i, run->n - 1);
                const unsigned char *key = run->rows + row * run->head_dim + d;
                rows[i] = _mm512_dpbusd_epi32(start, to_unsigned(_mm512_loadu_si512(key)), q);
            }
            folded[half] = fold_bytes(rows);
            fetch(ahead);
        }
        __m512i first = _mm512_shuffle_i32x4(folded[0], folded[1], 0x88);
        __m512i second = _mm512_shuffle_i32x4(folded[0], folded[1], 0xDD);
        acc = _mm512_fmadd_ps(scale_sum(first, scales_at(run, d / 32, t)),
                              _mm512_set1_ps(query[0].scale), acc);
        acc = _mm512_fmadd_ps(scale_sum(second, scales_at(run, d / 32 + 1, t)),
                              _mm512_set1_ps(query[1].scale), acc);
    }
    return acc;
}

static void scores_q8_0(const struct cpu_run *run, const struct cpu_block *queries, float scale)
{
    if (run->n_queries > 1 || run->head_dim % 64 != 0) {
        scores_columns(run, queries, scale);
        return;
    }
    for (int32_t t = 0; t < run->n; t += 16) {
        struct ahead ahead = ahead_of(run, t, min_i32(run->n - t, 16), run->head_dim / 32);
        put_scores(run, 0, t,
                   _mm512_mul_ps(dot_bytes(run, queries, t, &ahead), _mm512_set1_ps(scale)));
    }
}

/* ---- Softmax. ---- */

/* vmath_exp, 16 at once. */
INLINE __m512 exp_of(__m512 x)
{
    const __m512 shift = _mm512_set1_ps(12582912.0f);
    __m512 t = _mm512_fmadd_ps(x, _mm512_set1_ps(1.44269504f), shift);
    __m512 n = _mm512_sub_ps(t, shift);
    __m512 r = _mm512_fmadd_ps(n, _mm512_set1_ps(-0.693359375f), x);
    r = _mm512_fmadd_ps(n, _mm512_set1_ps(2.12194440e-4f), r);
    __m512 p = _mm512_set1_ps(1.9875691500e-4f);
    p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(1.3981999507e-3f));
    p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(8.3334519073e-3f));
    p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(4.1665795894e-2f));
    p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(1.6666665459e-1f));
    p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(5.0000001201e-1f));
    p = _mm512_add_ps(_mm512_fmadd_ps(p, _mm512_mul_ps(r, r), r), _mm512_set1_ps(1.0f));
    __m512i power = _mm512_add_epi32(_mm512_slli_epi32(_mm512_castps_si512(t), 23),
                                     _mm512_set1_epi32(0x3F800000));
    /* x <= 0 here; not-less-than keeps NaN. */
    __mmask16 mask = _mm512_cmp_ps_mask(x, _mm512_set1_ps(-87.3f), _CMP_NLT_UQ);
    return _mm512_maskz_mul_ps(mask, p, _mm512_castsi512_ps(power));
}

static float softmax(float *s, int32_t first, int32_t last, float *max)
{
    const __m512 none = _mm512_set1_ps(vmath_of_bits(0xFF800000u)); /* -infinity */
    int32_t from = first & ~15, to = last | 15;
    __m512 top = _mm512_set1_ps(s[first]), sum = _mm512_setzero_ps();
    _mm512_mask_storeu_ps(s + from, (__mmask16)((1u << (first - from)) - 1), none);
    _mm512_mask_storeu_ps(s + to - 15, (__mmask16)(0xFFFEu << (last & 15)), none);
    __m512 tops = _mm512_loadu_ps(s + from), others = tops; /* two at a time, for their latency */
    for (int32_t i = from; i <= to; i += 32) {
        tops = _mm512_max_ps(_mm512_loadu_ps(s + i), tops);
        others = _mm512_max_ps(_mm512_loadu_ps(s + min_i32(i + 16, to - 15)), others);
    }
    top = _mm512_max_ps(_mm512_max_ps(tops, others), top);
    *max = _mm512_reduce_max_ps(top);
    top = _mm512_set1_ps(*max);
    for (int32_t i = from; i <= to; i += 16) {
        __m512 x = exp_of(_mm512_sub_ps(_mm512_loadu_ps(s + i), top));
        _mm512_storeu_ps(s + i, x);
        sum = _mm512_add_ps(sum, x);
    }
    float partial[16];
    _mm512_storeu_ps(partial, sum);
    return vmath_fold16(partial);
}

/* ---- Values. ---- */

enum form { ANY, HALVES, BYTES }; /* rows; HALVES and BYTES have no tail */

struct values { /* of a run */
    const struct cpu_run *run;
    const float *p; /* weights of the first of some queries */
    float *out;     /* and the sums that they add to */
    struct ahead ahead;
};

/* Elements [d, d + 16) of row t as floats; the scales of bytes are in scratch. */
INLINE __m512 load_value(const struct cpu_run *run, const unsigned char *row, int32_t t, int32_t d,
                         const enum form form)
{
    if (form != BYTES)
        return load_row(run, row, d, form == HALVES);
    __m512i whole = _mm512_cvtepi8_epi32(_mm_loadu_si128((const void *)(row + d)));
    return _mm512_mul_ps(_mm512_cvtepi32_ps(whole),
                         _mm512_set1_ps(run->scratch[d / 32 * CPU_PIECE + t]));
}

/* Computes R queries, D times 16 elements from d on. */
INLINE void mix_some(struct values *values, int32_t d, const enum form form, const int R,
                     const int D)
{
    const struct cpu_run *run = values->run;
    const unsigned char *row = run->rows;
    float *out = values->out + d;
    __m512 acc[16][4];
    for (int r = 0; r < R; r++)
        for (int j = 0; j < D; j++)
            acc[r][j] = _mm512_loadu_ps(out + r * run->stride + 16 * j);
    for (int32_t t = 0; t < run->n; t++, row += row_bytes(run)) {
        __m512 value[4];
        for (int j = 0; j < D; j++)
            value[j] = load_value(run, row, t, d + 16 * j, form);
        for (int r = 0; r < R; r++) {
            __m512 weight = _mm512_set1_ps(values->p[r * CPU_PIECE + t]);
            for (int j = 0; j < D; j++)
                acc[r][j] = _mm512_fmadd_ps(weight, value[j], acc[r][j]);
        }
        fetch(&values->ahead);
    }
    for (int r = 0; r < R; r++)
        for (int j = 0; j < D; j++)
            _mm512_storeu_ps(out + r * run->stride + 16 * j, acc[r][j]);
}

/* Computes the next R queries, all dims, D times 16 at a time as long as there are that many. */
INLINE void mix_queries(struct values *values, const enum form form, const int R, const int D)
{
    int32_t d = 0, stride = values->run->stride;
    for (; D > 1 && d + 16 * D <= stride; d += 16 * D)
        mix_some(values, d, form, R, D);
    for (; d < stride; d += 16)
        mix_some(values, d, form, R, 1);
    values->p += R * CPU_PIECE;
    values->out += R * stride;
}

INLINE void mix_all(struct values *values, const enum form form)
{
    int32_t i = 0, n = values->run->n_queries;
    for (; i + 16 <= n; i += 16)
        mix_queries(values, form, 16, 1);
    for (; i + 8 <= n; i += 8)
        mix_queries(values, form, 8, 2);
    for (; i + 4 <= n; i += 4)
        mix_queries(values, form, 4, 4);
    for (; i < n; i++)
        mix_queries(values, form, 1, 4);
}

static void mix(const struct cpu_run *run, float *out)
{
    struct values values = { run, run->probabilities, out, ahead_of(run, 0, run->n, run->n) };
    if (run->dtype == DTYPE_Q8_0) {
        for (int32_t block = 0; block < run->head_dim / 32; block++)
            for (int32_t t = 0; t < run->n; t += 16)
                _mm512_storeu_ps(run->scratch + block * CPU_PIECE + t, scales_at(run, block, t));
        mix_all(&values, BYTES);
    } else if (is_plain(run)) {
        mix_all(&values, HALVES);
    } else {
        for (int32_t i = 0; i < run->n_queries; i++)
            mix_queries(&values, ANY, 1, 1);
    }
}

const struct cpu_kernels cpu_avx512_attend = {
    .scores = scores,
    .scores_q8_0 = scores_q8_0,
    .softmax = softmax,
    .mix = mix,
};
