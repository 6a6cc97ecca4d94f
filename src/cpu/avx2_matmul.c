/* Matrix multiplication for AVX2 with FMA and F16C.
 *
 * Bytes are multiplied by vpmaddubsw: unsigned times signed, pairs added to int16 that saturate.
 * With q in -127..127 a pair of stored values up to 63 stays within 16,002, so no pair saturates.
 * The pairs of a (sub-)block are summed in int16 too, which may wrap on the way but not in the end:
 * centred values (stored - centre) times q over a lane's share, 16 products up to 8 or 16 away from
 * the centre or 8 products up to 32 away, stay within 32,512, and stored values up to 15 without a
 * centre within 30,480. One vpmaddwd then widens the whole sum. The centre's share is subtracted
 * through the sums of q, lane by lane.
 *
 * Signed bytes (Q8_0) go in as |w| and q with the sign of w: 128 * 127 * 2 = 32,512 just fits, each
 * pair is widened by itself. */
#include "compute/quant.h"
#include "compute/vmath.h"
#include "cpu/kernels.h"

#include <immintrin.h>
#include <string.h>

#define INLINE static inline __attribute__((always_inline))
#define EACH _Pragma("GCC unroll 16") for

enum { PREFETCH_BYTES = 4096, R_MAX = 6 }; /* ahead, measured by bench/kernels */

/* The compiler would first make all products and keep them in memory, and add them up later. */
#define NOW(value) __asm__ volatile("" : "+x"(value))

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

/* Four bytes, the same in every output's lane. */
INLINE __m256i four(const void *p)
{
    int32_t bits;
    memcpy(&bits, p, 4);
    return _mm256_set1_epi32(bits);
}

/* What is subtracted from stored values so that sums of products stay in int16. */
INLINE int centre_of(struct cpu_form form)
{
    return form.offset == 0 && form.value_max == 31 ? 16 : form.offset;
}

/* Weights of outputs 8 half .. 8 half + 7 at k..k + 3 of a block, one byte each. */
INLINE __m256i load_four(struct cpu_form form, const unsigned char *w, int k, int half)
{
    if (form.n_bits == 8)
        return load_bytes(w + 16 * k + 32 * half);
    __m256i bytes = load_bytes(w + 16 * (k % 16) + 32 * half);
    if (k >= 16)
        bytes = _mm256_srli_epi16(bytes, 4);
    return _mm256_and_si256(bytes, _mm256_set1_epi8(15));
}

/* sums[r][half]: of (stored - centre) * q over a sub-block, in pairs of int16. */
INLINE void dot_unsigned(struct cpu_form form, const unsigned char *w,
                         const struct cpu_block *const *x, int sub, const int R,
                         __m256i sums[R_MAX][2])
{
    const int centre = centre_of(form), first = sub * form.n_sub;
    EACH(int r = 0; r < R && centre != 0; r++)
    {
        __m256i q = four(x[r]->sums[sub]);
        if (form.n_sub == 32)
            q = _mm256_add_epi16(q, four(x[r]->sums[1]));
        q = _mm256_slli_epi16(q, __builtin_ctz((unsigned)centre | 64));
        sums[r][0] = sums[r][1] = q;
    }
    EACH(int k = first; k < first + form.n_sub; k += 4)
    {
        __m256i low = load_four(form, w, k, 0), high = load_four(form, w, k, 1);
        EACH(int r = 0; r < R; r++)
        {
            __m256i q = four(x[r]->q + k);
            __m256i pairs[2] = { _mm256_maddubs_epi16(low, q), _mm256_maddubs_epi16(high, q) };
            EACH(int half = 0; half < 2; half++)
            {
                if (k > first)
                    sums[r][half] = _mm256_add_epi16(sums[r][half], pairs[half]);
                else if (centre != 0)
                    sums[r][half] = _mm256_sub_epi16(pairs[half], sums[r][half]);
                else
                    sums[r][half] = pairs[half];
                NOW(sums[r][half]);
            }
        }
    }
    const __m256i ones = _mm256_set1_epi16(1);
    const __m256i back = _mm256_set1_epi16((int16_t)(centre - form.offset));
    EACH(int r = 0; r < R; r++)
    {
        EACH(int half = 0; half < 2; half++)
        sums[r][half] = _mm256_madd_epi16(sums[r][half], ones);
        if (centre == form.offset)
            continue;
        __m256i q = _mm256_add_epi16(four(x[r]->sums[0]), four(x[r]->sums[1]));
        q = _mm256_madd_epi16(q, back);
        EACH(int half = 0; half < 2; half++)
        sums[r][half] = _mm256_add_epi32(sums[r][half], q);
    }
}

/* The same for signed bytes, a block of 32. */
INLINE void dot_signed(const unsigned char *w, const struct cpu_block *const *x, const int R,
                       __m256i sums[R_MAX][2])
{
    const __m256i ones = _mm256_set1_epi16(1);
    EACH(int k = 0; k < 32; k += 4)
    {
        EACH(int half = 0; half < 2; half++)
        {
            __m256i bytes = load_bytes(w + 16 * k + 32 * half), size = _mm256_abs_epi8(bytes);
            EACH(int r = 0; r < R; r++)
            {
                __m256i q = _mm256_sign_epi8(four(x[r]->q + k), bytes);
                __m256i fours = _mm256_madd_epi16(_mm256_maddubs_epi16(size, q), ones);
                sums[r][half] = k == 0 ? fours : _mm256_add_epi32(sums[r][half], fours);
                NOW(sums[r][half]);
            }
        }
    }
}

INLINE __m256 scaled(__m256 factor, const unsigned char *bytes)
{
    __m256i wide = _mm256_cvtepi8_epi32(_mm_loadl_epi64((const void *)bytes));
    return _mm256_mul_ps(factor, _mm256_cvtepi32_ps(wide));
}

/* scale of an activation block times the sum of its q that a sub-block of 16 meets. */
INLINE __m256 sum_of_half(const struct cpu_block *x, int sub)
{
    __m256i sum = _mm256_madd_epi16(four(x->sums[sub]), _mm256_set1_epi16(1));
    return _mm256_mul_ps(_mm256_cvtepi32_ps(sum), _mm256_set1_ps(x->scale));
}

/* One sub-block: integer sums, then their scaled addition to acc. d, m: scale and (negated where it
 * is subtracted) minimum of the unit; scales: the sub-block's bytes. */
INLINE void sub_block(struct cpu_form form, const unsigned char *scales, const unsigned char *w,
                      const __m256 d[2], const __m256 m[2], const struct cpu_block *const *x,
                      int sub, const int R, __m256 acc[R_MAX][2])
{
    __m256i sums[R_MAX][2];
    if (form.value_max < 0)
        dot_signed(w, x, R, sums);
    else
        dot_unsigned(form, w, x, sub, R, sums);
    EACH(int half = 0; half < 2; half++)
    {
        __m256 scale = form.n_unit == 256 ? scaled(d[half], scales + 8 * half) : d[half];
        __m256 minimum = m[half];
        if (form.has_minimum && form.n_unit == 256)
            minimum = scaled(m[half], scales + 16 + 8 * half);
        EACH(int r = 0; r < R; r++)
        {
            __m256 factor = _mm256_mul_ps(scale, _mm256_broadcast_ss(&x[r]->scale));
            __m256 sum = _mm256_cvtepi32_ps(sums[r][half]);
            acc[r][half] = _mm256_fmadd_ps(sum, factor, acc[r][half]);
            if (!form.has_minimum)
                continue;
            __m256 x_sum =
                form.n_sub == 32 ? _mm256_broadcast_ss(&x[r]->sum) : sum_of_half(x[r], sub);
            acc[r][half] = _mm256_fmadd_ps(minimum, x_sum, acc[r][half]);
        }
    }
}

INLINE void integer_rows(const struct cpu_tile *tile, int32_t row, int32_t panel,
                         struct cpu_form form, const int R)
{
    const unsigned char *p = tile->panels + (size_t)panel * tile->panel_bytes;
    const __m256 minus = _mm256_set1_ps(-0.0f);
    const struct cpu_block *x[R_MAX];
    __m256 acc[R_MAX][2];
    EACH(int r = 0; r < R; r++)
    {
        x[r] = tile->blocks + (int64_t)(row + r) * (tile->n_columns / 32);
        acc[r][0] = acc[r][1] = _mm256_setzero_ps();
    }
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
            EACH(int line = 0; line < cpu_form_weights(form); line += 64)
            _mm_prefetch((const char *)w + PREFETCH_BYTES + line, _MM_HINT_T0);
            EACH(int sub = 0; sub < 32 / form.n_sub; sub++)
            sub_block(form, p + sub * (form.has_minimum ? 32 : 16), w, d, m, x, sub, R, acc);
            p = w + cpu_form_weights(form);
            EACH(int r = 0; r < R; r++)
            x[r]++;
        }
    }
    EACH(int r = 0; r < R; r++)
    {
        float *out = tile->out + ((row + r) * CPU_TILE_PANELS + panel) * CPU_PANEL;
        _mm256_storeu_ps(out, acc[r][0]);
        _mm256_storeu_ps(out + 8, acc[r][1]);
    }
}

/* Rows go in groups as even as can be, of r_max at most. */
INLINE void matmul_integer(const struct cpu_tile *tile, struct cpu_form form)
{
    const int32_t r_max = form.value_max < 0 ? 4 : 6;
    int32_t n_groups = (tile->n_rows + r_max - 1) / r_max;
    for (int32_t panel = 0; panel < tile->n_panels; panel++)
        for (int32_t i = 0; i < n_groups; i++) {
            int32_t row = tile->n_rows * i / n_groups;
            switch (tile->n_rows * (i + 1) / n_groups - row) {
            case 1:
                integer_rows(tile, row, panel, form, 1);
                break;
            case 2:
                integer_rows(tile, row, panel, form, 2);
                break;
            case 3:
                integer_rows(tile, row, panel, form, 3);
                break;
            case 4:
                integer_rows(tile, row, panel, form, 4);
                break;
            case 5:
                integer_rows(tile, row, panel, form, min_i32(r_max, 5));
                break;
            default:
                integer_rows(tile, row, panel, form, r_max);
            }
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

static void quantize(const float *x, int32_t n, struct cpu_block *blocks)
{
    const __m256i magnitude = _mm256_set1_epi32(0x7FFFFFFF);
    const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
    for (struct cpu_block *b = blocks; b < blocks + n / 32; b++, x += 32) {
        __m256 v[4];
        __m256i max = _mm256_setzero_si256(), whole[4];
        for (int i = 0; i < 4; i++) {
            v[i] = _mm256_loadu_ps(x + 8 * i);
            max = _mm256_max_epu32(max, _mm256_and_si256(_mm256_castps_si256(v[i]), magnitude));
        }
        uint32_t bits = biggest(max);
        b->scale = vmath_of_bits(bits) / 127.0f;
        if (bits >= 0x7F800000u || b->scale < 0x1p-126f) { /* rare: the definition knows */
            memset(b->sums, 0, sizeof(b->sums));
            b->scale = quant_activations(x, b->q);
            b->sum = b->scale * 0.0f;
            continue;
        }
        for (int i = 0; i < 4; i++)
            whole[i] = _mm256_cvtps_epi32(_mm256_div_ps(v[i], _mm256_set1_ps(b->scale)));
        __m256i low = _mm256_packs_epi32(whole[0], whole[1]);
        __m256i high = _mm256_packs_epi32(whole[2], whole[3]);
        __m256i bytes = _mm256_permutevar8x32_epi32(_mm256_packs_epi16(low, high), order);
        _mm256_storeu_si256((void *)b->q, bytes);
        __m256i pairs = _mm256_maddubs_epi16(_mm256_set1_epi8(1), bytes);
        pairs = _mm256_add_epi16(pairs, _mm256_shuffle_epi32(pairs, 0x4E));
        pairs = _mm256_add_epi16(pairs, _mm256_shuffle_epi32(pairs, 0xB1));
        uint32_t halves[2] = { (uint32_t)_mm256_extract_epi32(pairs, 0),
                               (uint32_t)_mm256_extract_epi32(pairs, 4) };
        memcpy(b->sums, halves, sizeof(halves));
        b->sum = b->scale * (float)(cpu_block_sum(b, 0) + cpu_block_sum(b, 1));
    }
}

/* The other half of AVX2's table. */
const struct cpu_kernels cpu_avx2_matmul = {
    .name = "cpu-avx2",
    .matmul = {
        [DTYPE_F32] = matmul_f32,   [DTYPE_F16] = matmul_f16,   [DTYPE_BF16] = matmul_bf16,
        [DTYPE_Q8_0] = matmul_q8_0, [DTYPE_Q4_0] = matmul_q4_0, [DTYPE_Q4_1] = matmul_q4_1,
        [DTYPE_Q5_0] = matmul_q5_0, [DTYPE_Q5_1] = matmul_q5_1, [DTYPE_Q2_K] = matmul_q2_k,
        [DTYPE_Q3_K] = matmul_q3_k, [DTYPE_Q4_K] = matmul_q4_k, [DTYPE_Q5_K] = matmul_q5_k,
        [DTYPE_Q6_K] = matmul_q6_k,
    },
    .quantize = quantize,
};
