/* Kernels for AVX2 with FMA and F16C.
 *
 * Bytes are multiplied by vpmaddubsw, unsigned times signed into pairs of int16 that saturate.
 * With q in -127..127 a pair of stored values up to 15, 31, 63 stays below 3,810, 7,874, 16,002:
 * so 8, 4, 2 of them may be added in int16. Signed bytes (Q8_0) go in as |w| and q with the sign of
 * w: 128 * 127 * 2 = 32,512 just fits. */
#include "cpu/lanes.h"

#include <immintrin.h>

#define INLINE static inline __attribute__((always_inline))

enum { PREFETCH_BYTES = 4096 }; /* ahead, measured by bench/kernels */

INLINE __m256 load_half(const void *p)
{
    return _mm256_cvtph_ps(_mm_loadu_si128(p));
}

/* 8 weights of any float type from element i on. */
INLINE __m256 load_floats(enum dtype dtype, const unsigned char *p, size_t i)
{
    if (dtype == DTYPE_F32)
        return _mm256_loadu_ps((const float *)(const void *)p + i);
    if (dtype == DTYPE_F16)
        return load_half(p + 2 * i);
    __m256i wide = _mm256_cvtepu16_epi32(_mm_loadu_si128((const void *)(p + 2 * i)));
    return _mm256_castsi256_ps(_mm256_slli_epi32(wide, 16));
}

/* R rows against P panels: R * P * 2 independent sums, at most 12. */
INLINE void float_rows(const struct cpu_tile *tile, int32_t row, int32_t panel, enum dtype dtype,
                       const int R, const int P)
{
    const size_t n_bytes = dtype == DTYPE_F32 ? 4 : 2;
    const unsigned char *w = tile->panels + (size_t)panel * tile->panel_bytes;
    const float *x = tile->x + (size_t)row * tile->x_stride;
    __m256 acc[6][4][2];
    for (int r = 0; r < R; r++)
        for (int p = 0; p < P; p++)
            acc[r][p][0] = acc[r][p][1] = _mm256_setzero_ps();
    for (size_t k = 0; k < (size_t)tile->n_columns; k++)
        for (int p = 0; p < P; p++) {
            const unsigned char *at = w + (size_t)p * tile->panel_bytes + k * CPU_PANEL * n_bytes;
            if (R == 1)
                _mm_prefetch((const char *)at + PREFETCH_BYTES, _MM_HINT_T0);
            __m256 low = load_floats(dtype, at, 0), high = load_floats(dtype, at, 8);
            for (int r = 0; r < R; r++) {
                __m256 value = _mm256_broadcast_ss(x + (size_t)r * tile->x_stride + k);
                acc[r][p][0] = _mm256_fmadd_ps(low, value, acc[r][p][0]);
                acc[r][p][1] = _mm256_fmadd_ps(high, value, acc[r][p][1]);
            }
        }
    for (int r = 0; r < R; r++)
        for (int p = 0; p < P; p++) {
            float *out = tile->out + ((row + r) * CPU_TILE_PANELS + panel + p) * CPU_PANEL;
            _mm256_storeu_ps(out, acc[r][p][0]);
            _mm256_storeu_ps(out + 8, acc[r][p][1]);
        }
}

INLINE void matmul_float(const struct cpu_tile *tile, enum dtype dtype)
{
    int32_t row = 0;
    for (; row + 6 <= tile->n_rows; row += 6)
        for (int32_t panel = 0; panel < tile->n_panels; panel++)
            float_rows(tile, row, panel, dtype, 6, 1);
    for (; row + 2 <= tile->n_rows; row += 2) {
        int32_t panel = 0;
        for (; panel + 2 <= tile->n_panels; panel += 2)
            float_rows(tile, row, panel, dtype, 2, 2);
        for (; panel < tile->n_panels; panel++)
            float_rows(tile, row, panel, dtype, 2, 1);
    }
    for (; row < tile->n_rows; row++) {
        int32_t panel = 0;
        for (; panel + 4 <= tile->n_panels; panel += 4)
            float_rows(tile, row, panel, dtype, 1, 4);
        for (; panel + 2 <= tile->n_panels; panel += 2)
            float_rows(tile, row, panel, dtype, 1, 2);
        for (; panel < tile->n_panels; panel++)
            float_rows(tile, row, panel, dtype, 1, 1);
    }
}

static void matmul_f32(const struct cpu_tile *tile)
{
    matmul_float(tile, DTYPE_F32);
}
static void matmul_f16(const struct cpu_tile *tile)
{
    matmul_float(tile, DTYPE_F16);
}
static void matmul_bf16(const struct cpu_tile *tile)
{
    matmul_float(tile, DTYPE_BF16);
}

INLINE __m256i load_bytes(const void *p)
{
    return _mm256_loadu_si256(p);
}

/* Four q, the same in every output's lane. */
INLINE __m256i four(const int8_t *q)
{
    int32_t bits;
    memcpy(&bits, q, 4);
    return _mm256_set1_epi32(bits);
}

enum { R_MAX = 4 };

/* Products of 8 outputs, 4 k each, with the q of row r. */
INLINE __m256i pairs_of(struct cpu_form form, __m256i weights, const int8_t *q)
{
    __m256i x = four(q);
    if (form.value_max >= 0)
        return _mm256_maddubs_epi16(weights, x);
    return _mm256_maddubs_epi16(_mm256_abs_epi8(weights), _mm256_sign_epi8(x, weights));
}

/* sums[r][half] = 32-bit sums of stored * q over groups [g, g + n) of 4 k, R rows. */
INLINE void dot_bytes(struct cpu_form form, const unsigned char *w, const int8_t *const q[R_MAX],
                      int g, int n, const int R, __m256i sums[R_MAX][2])
{
    const __m256i ones = _mm256_set1_epi16(1);
    const int n_chain = form.value_max < 0 ? 1 : form.value_max <= 31 ? 4 : 2;
    for (int r = 0; r < R; r++)
        sums[r][0] = sums[r][1] = _mm256_setzero_si256();
    for (int first = g; first < g + n; first += n_chain) {
        __m256i pairs[R_MAX][2] = { { { 0 } } };
        for (int i = first; i < first + n_chain; i++) {
            __m256i low = load_bytes(w + 64 * i), high = load_bytes(w + 64 * i + 32);
            for (int r = 0; r < R; r++) {
                const int8_t *x = q[r] + 4 * i;
                pairs[r][0] = _mm256_add_epi16(pairs[r][0], pairs_of(form, low, x));
                pairs[r][1] = _mm256_add_epi16(pairs[r][1], pairs_of(form, high, x));
            }
        }
        for (int r = 0; r < R; r++)
            for (int half = 0; half < 2; half++)
                sums[r][half] =
                    _mm256_add_epi32(sums[r][half], _mm256_madd_epi16(pairs[r][half], ones));
    }
}

/* The same for nibbles: the low ones (k 0..15 of the block), the high ones, or both. */
INLINE void dot_nibbles(const unsigned char *w, const int8_t *const q[R_MAX], bool low, bool high,
                        const int R, __m256i sums[R_MAX][2])
{
    const __m256i ones = _mm256_set1_epi16(1), mask = _mm256_set1_epi8(15);
    __m256i pairs[R_MAX][2];
    for (int r = 0; r < R; r++)
        pairs[r][0] = pairs[r][1] = _mm256_setzero_si256();
    for (int v = 0; v < 4; v++)
        for (int half = 0; half < 2; half++) {
            __m256i bytes = load_bytes(w + 64 * v + 32 * half);
            __m256i lows = _mm256_and_si256(bytes, mask);
            __m256i highs = _mm256_and_si256(_mm256_srli_epi16(bytes, 4), mask);
            for (int r = 0; r < R; r++) {
                __m256i *to = &pairs[r][half];
                if (low)
                    *to = _mm256_add_epi16(*to, _mm256_maddubs_epi16(lows, four(q[r] + 4 * v)));
                if (high)
                    *to =
                        _mm256_add_epi16(*to, _mm256_maddubs_epi16(highs, four(q[r] + 16 + 4 * v)));
            }
        }
    for (int r = 0; r < R; r++)
        for (int half = 0; half < 2; half++)
            sums[r][half] = _mm256_madd_epi16(pairs[r][half], ones);
}

struct cursor { /* R rows of quantized activations */
    const int8_t *q[R_MAX];
    const float *scales[R_MAX];
    const int32_t *sums[R_MAX];
};

INLINE struct cursor cursor_at(const struct cpu_tile *tile, int32_t row, const int R)
{
    struct cursor at;
    for (int r = 0; r < R; r++) {
        size_t first = (size_t)(row + r) * (size_t)tile->n_columns;
        at.q[r] = tile->rows.q + first;
        at.scales[r] = tile->rows.scales + first / 32;
        at.sums[r] = tile->rows.sums + first / 16;
    }
    return at;
}

INLINE __m256 scaled(__m256 factor, const unsigned char *bytes)
{
    __m256i wide = _mm256_cvtepi8_epi32(_mm_loadl_epi64((const void *)bytes));
    return _mm256_mul_ps(factor, _mm256_cvtepi32_ps(wide));
}

/* One sub-block: integer sums, then their scaled addition to acc. d, m: scale and (negated where it
 * is subtracted) minimum of the unit; scales: the sub-block's bytes. */
INLINE void sub_block(struct cpu_form form, const unsigned char *scales, const unsigned char *w,
                      const __m256 d[2], const __m256 m[2], const struct cursor *at, int sub,
                      const int R, __m256 acc[R_MAX][2])
{
    __m256i sums[R_MAX][2];
    if (form.n_bits == 8)
        dot_bytes(form, w, at->q, sub * form.n_sub / 4, form.n_sub / 4, R, sums);
    else
        dot_nibbles(w, at->q, sub == 0, sub == 1 || form.n_sub == 32, R, sums);
    __m256 scale[2], minimum[2];
    for (int half = 0; half < 2; half++) {
        scale[half] = form.n_unit == 256 ? scaled(d[half], scales + 8 * half) : d[half];
        if (form.has_minimum)
            minimum[half] = form.n_unit == 256 ? scaled(m[half], scales + 16 + 8 * half) : m[half];
    }
    for (int r = 0; r < R; r++) {
        int32_t sum_q = at->sums[r][sub];
        if (form.n_sub == 32)
            sum_q += at->sums[r][1];
        __m256i offset = _mm256_set1_epi32(sum_q * form.offset);
        __m256 x_scale = _mm256_broadcast_ss(at->scales[r]);
        __m256 x_sum = _mm256_set1_ps(*at->scales[r] * (float)sum_q);
        for (int half = 0; half < 2; half++) {
            __m256i sum = sums[r][half];
            if (form.offset != 0)
                sum = _mm256_sub_epi32(sum, offset);
            acc[r][half] = _mm256_fmadd_ps(_mm256_cvtepi32_ps(sum),
                                           _mm256_mul_ps(scale[half], x_scale), acc[r][half]);
            if (form.has_minimum)
                acc[r][half] = _mm256_fmadd_ps(minimum[half], x_sum, acc[r][half]);
        }
    }
}

INLINE void integer_rows(const struct cpu_tile *tile, int32_t row, int32_t panel,
                         struct cpu_form form, const int R)
{
    const unsigned char *p = tile->panels + (size_t)panel * tile->panel_bytes;
    const __m256 minus = _mm256_set1_ps(-0.0f);
    struct cursor at = cursor_at(tile, row, R);
    __m256 acc[R_MAX][2];
    for (int r = 0; r < R; r++)
        acc[r][0] = acc[r][1] = _mm256_setzero_ps();
    for (int32_t k = 0; k < tile->n_columns; k += form.n_unit) {
        __m256 d[2] = { load_half(p), load_half(p + 16) }, m[2] = { d[0], d[1] };
        for (int half = 0; half < 2 && form.has_minimum; half++) {
            m[half] = load_half(p + 32 + 16 * half);
            if (form.n_unit == 256)
                m[half] = _mm256_xor_ps(m[half], minus);
        }
        p += cpu_form_head(form);
        for (int32_t i = 0; i < form.n_unit; i += 32) {
            const unsigned char *w = p + cpu_form_scales(form);
            for (int line = 0; line < cpu_form_weights(form); line += 64)
                _mm_prefetch((const char *)w + PREFETCH_BYTES + line, _MM_HINT_T0);
            for (int sub = 0; sub < 32 / form.n_sub; sub++)
                sub_block(form, p + sub * (form.has_minimum ? 32 : 16), w, d, m, &at, sub, R, acc);
            p = w + cpu_form_weights(form);
            for (int r = 0; r < R; r++) {
                at.q[r] += 32;
                at.scales[r] += 1;
                at.sums[r] += 2;
            }
        }
    }
    for (int r = 0; r < R; r++) {
        float *out = tile->out + ((row + r) * CPU_TILE_PANELS + panel) * CPU_PANEL;
        _mm256_storeu_ps(out, acc[r][0]);
        _mm256_storeu_ps(out + 8, acc[r][1]);
    }
}

INLINE void matmul_integer(const struct cpu_tile *tile, struct cpu_form form)
{
    for (int32_t panel = 0; panel < tile->n_panels; panel++) {
        int32_t row = 0;
        for (; row + 4 <= tile->n_rows; row += 4)
            integer_rows(tile, row, panel, form, 4);
        for (; row + 2 <= tile->n_rows; row += 2)
            integer_rows(tile, row, panel, form, 2);
        for (; row < tile->n_rows; row++)
            integer_rows(tile, row, panel, form, 1);
    }
}

#define MATMUL(name, form)                                                                         \
    static void name(const struct cpu_tile *tile)                                                  \
    {                                                                                              \
        matmul_integer(tile, form);                                                                \
    }
MATMUL(matmul_q8_0, CPU_FORM_Q8_0)
MATMUL(matmul_q4_0, CPU_FORM_Q4_0)
MATMUL(matmul_q4_1, CPU_FORM_Q4_1)
MATMUL(matmul_q5_0, CPU_FORM_Q5_0)
MATMUL(matmul_q5_1, CPU_FORM_Q5_1)
MATMUL(matmul_q2_k, CPU_FORM_Q2_K)
MATMUL(matmul_q3_k, CPU_FORM_Q3_K)
MATMUL(matmul_q4_k, CPU_FORM_Q4_K)
MATMUL(matmul_q5_k, CPU_FORM_Q5_K)
MATMUL(matmul_q6_k, CPU_FORM_Q6_K)

INLINE uint32_t biggest(__m256i x)
{
    __m128i m = _mm_max_epu32(_mm256_castsi256_si128(x), _mm256_extracti128_si256(x, 1));
    m = _mm_max_epu32(m, _mm_shuffle_epi32(m, 0x4E));
    m = _mm_max_epu32(m, _mm_shuffle_epi32(m, 0xB1));
    return (uint32_t)_mm_cvtsi128_si32(m);
}

static void quantize(const float *x, int32_t n, int8_t *q, float *scales, int32_t *sums)
{
    const __m256i magnitude = _mm256_set1_epi32(0x7FFFFFFF), ones = _mm256_set1_epi16(1);
    const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
    for (int32_t k = 0; k < n; k += 32, x += 32, q += 32, sums += 2) {
        __m256 v[4];
        __m256i max = _mm256_setzero_si256(), whole[4];
        for (int i = 0; i < 4; i++) {
            v[i] = _mm256_loadu_ps(x + 8 * i);
            max = _mm256_max_epu32(max, _mm256_and_si256(_mm256_castps_si256(v[i]), magnitude));
        }
        uint32_t bits = biggest(max);
        float scale = vmath_of_bits(bits) / 127.0f;
        if (bits >= 0x7F800000u || scale < 0x1p-126f) { /* rare: the definition knows what to do */
            scales[k / 32] = quant_activations(x, q);
            sums[0] = sums[1] = 0;
            continue;
        }
        for (int i = 0; i < 4; i++)
            whole[i] = _mm256_cvtps_epi32(_mm256_div_ps(v[i], _mm256_set1_ps(scale)));
        __m256i low = _mm256_packs_epi32(whole[0], whole[1]);
        __m256i high = _mm256_packs_epi32(whole[2], whole[3]);
        __m256i bytes = _mm256_permutevar8x32_epi32(_mm256_packs_epi16(low, high), order);
        _mm256_storeu_si256((void *)q, bytes);
        __m256i pairs = _mm256_maddubs_epi16(_mm256_set1_epi8(1), bytes);
        __m256i fours = _mm256_madd_epi16(pairs, ones);
        fours = _mm256_add_epi32(fours, _mm256_shuffle_epi32(fours, 0x4E));
        fours = _mm256_add_epi32(fours, _mm256_shuffle_epi32(fours, 0xB1));
        scales[k / 32] = scale;
        sums[0] = _mm256_extract_epi32(fours, 0);
        sums[1] = _mm256_extract_epi32(fours, 4);
    }
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
    .matmul = {
        [DTYPE_F32] = matmul_f32,   [DTYPE_F16] = matmul_f16,   [DTYPE_BF16] = matmul_bf16,
        [DTYPE_Q8_0] = matmul_q8_0, [DTYPE_Q4_0] = matmul_q4_0, [DTYPE_Q4_1] = matmul_q4_1,
        [DTYPE_Q5_0] = matmul_q5_0, [DTYPE_Q5_1] = matmul_q5_1, [DTYPE_Q2_K] = matmul_q2_k,
        [DTYPE_Q3_K] = matmul_q3_k, [DTYPE_Q4_K] = matmul_q4_k, [DTYPE_Q5_K] = matmul_q5_k,
        [DTYPE_Q6_K] = matmul_q6_k,
    },
    .quantize = quantize,
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
