/* Matrix multiplication for AVX2 with weights of integers. avx2_wide.c has the kernels for many
 * rows.
 *
 * Bytes are multiplied by vpmaddubsw: unsigned times signed, with pairs added to int16 that
 * saturate. With q in -127..127 a pair of stored values up to 63 stays within 16,002, so no pair
 * saturates. The pairs of a (sub-)block are summed in int16 too, which may wrap on the way but not
 * in the end. A lane's share has 16 products of centred values (stored - centre) up to 8 or 16 away
 * from the centre, or 8 products up to 32 away; with q they stay within 32,512. Stored values up to
 * 15 without a centre stay within 30,480. One vpmaddwd then widens the whole sum. The centre's
 * share is subtracted through the sums of q, lane by lane. Signed bytes (Q8_0, IQ4) are passed as
 * |w| and q with the sign of w: 128 * 127 * 2 = 32,512 just fits, and each pair is widened by
 * itself. */
#include "compute/quant.h"
#include "compute/vmath.h"
#include "cpu/avx2_panels.h"

/* sums[r][half]: of (stored - centre) * q over a sub-block, in pairs of int16. */
INLINE void dot_unsigned(struct cpu_form form, const unsigned char *w,
                         const struct cpu_block *const *x, int sub, const int R,
                         __m256i sums[R_MAX][2])
{
    const int centre = centre_of(form), first = sub * form.n_sub;
    EACH(int r = 0; r < R && centre != 0; r++) {
        __m256i q = four(x[r]->sums[sub]);
        if (form.n_sub == 32)
            q = _mm256_add_epi16(q, four(x[r]->sums[1]));
        q = _mm256_slli_epi16(q, __builtin_ctz((unsigned)centre | 64));
        sums[r][0] = sums[r][1] = q;
    }
    EACH(int k = first; k < first + form.n_sub; k += 4) {
        __m256i weights[2];
        EACH(int half = 0; half < 2; half++)
            weights[half] = load_four(form, w, k, half);
        EACH(int r = 0; r < R; r++) {
            __m256i q = four(x[r]->q + k);
            EACH(int half = 0; half < 2; half++) {
                __m256i pairs = _mm256_maddubs_epi16(weights[half], q);
                if (k > first)
                    sums[r][half] = _mm256_add_epi16(sums[r][half], pairs);
                else if (centre != 0)
                    sums[r][half] = _mm256_sub_epi16(pairs, sums[r][half]);
                else
                    sums[r][half] = pairs;
                NOW(sums[r][half]);
            }
        }
    }
    const __m256i ones = _mm256_set1_epi16(1);
    const __m256i back = _mm256_set1_epi16((int16_t)(centre - form.offset));
    EACH(int r = 0; r < R; r++) {
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

/* Brings both halves to the same step before one continues. Zen 3 gives many instructions of
 * consecutive steps to a busy port, even when another one is free. */
INLINE void together(__m256i x[2])
{
    __asm__ volatile("" : "+x"(x[0]), "+x"(x[1]));
}

/* Does the same for signed bytes, a block of 32. */
INLINE void dot_signed(struct cpu_form form, const unsigned char *w,
                       const struct cpu_block *const *x, const int R, __m256i sums[R_MAX][2])
{
    const __m256i ones = _mm256_set1_epi16(1);
    EACH(int k = 0; k < 32; k += 4) {
        __m256i bytes[2], size[2], y[2];
        EACH(int half = 0; half < 2; half++) {
            bytes[half] = load_four(form, w, k, half);
            size[half] = _mm256_abs_epi8(bytes[half]);
        }
        EACH(int r = 0; r < R; r++) {
            __m256i q = four(x[r]->q + k);
            EACH(int half = 0; half < 2; half++)
                y[half] = _mm256_sign_epi8(q, bytes[half]);
            together(y);
            EACH(int half = 0; half < 2; half++)
                y[half] = _mm256_maddubs_epi16(size[half], y[half]);
            together(y);
            EACH(int half = 0; half < 2; half++)
                y[half] = _mm256_madd_epi16(y[half], ones);
            together(y);
            EACH(int half = 0; half < 2; half++)
                sums[r][half] = k == 0 ? y[half] : _mm256_add_epi32(sums[r][half], y[half]);
            together(sums[r]);
        }
    }
}

/* Returns the scale times the sum of the 16 q of a sub-block. */
INLINE __m256 sum_of_half(const struct cpu_block *x, int sub)
{
    __m256i sum = _mm256_madd_epi16(four(x->sums[sub]), _mm256_set1_epi16(1));
    return _mm256_mul_ps(_mm256_cvtepi32_ps(sum), _mm256_set1_ps(x->scale));
}

/* For products that need all registers; the compiler would otherwise spill some of those. */
#define IN_MEMORY(value) __asm__ volatile("" : "+m"(value))
enum { NEVER = R_MAX + 1 };

/* Computes one sub-block: integer sums, and their scaled addition to acc. acc is kept in memory if
 * R is at least r_memory. */
INLINE void sub_block(struct cpu_form form, const struct factors *factors, const unsigned char *w,
                      const struct cpu_block *const *x, int sub, const int r_memory, const int R,
                      __m256 acc[R_MAX][2])
{
    __m256i sums[R_MAX][2];
    if (is_signed(form))
        dot_signed(form, w, x, R, sums);
    else
        dot_unsigned(form, w, x, sub, R, sums);
    EACH(int half = 0; half < 2; half++)
        EACH(int r = 0; r < R; r++) {
            __m256 scale = _mm256_broadcast_ss(&x[r]->scale);
            __m256 sum = _mm256_mul_ps(_mm256_cvtepi32_ps(sums[r][half]), factors->scale[half]);
            acc[r][half] = _mm256_fmadd_ps(sum, scale, acc[r][half]);
            if (R >= r_memory)
                IN_MEMORY(acc[r][half]);
            if (!form.has_minimum)
                continue;
            __m256 x_sum =
                form.n_sub == 32 ? _mm256_broadcast_ss(&x[r]->sum) : sum_of_half(x[r], sub);
            acc[r][half] = _mm256_fmadd_ps(factors->minimum[half], x_sum, acc[r][half]);
        }
}

INLINE void integer_rows(const struct cpu_tile *tile, int32_t row, int32_t panel,
                         struct cpu_form form, int32_t part, int32_t n_parts, const int r_memory,
                         const int R)
{
    const unsigned char *p = tile->panels + (size_t)panel * tile->panel_bytes;
    float *out = tile->out + (row * CPU_TILE_PANELS + panel) * CPU_PANEL;
    int32_t n_units = tile->n_columns / form.n_unit;
    struct ahead ahead = ahead_of(tile, panel, (size_t)(n_units * cpu_form_unit_bytes(form)),
                                  tile->n_columns / 32, part, n_parts);
    const struct cpu_block *x[R_MAX];
    __m256 acc[R_MAX][2];
    EACH(int r = 0; r < R; r++) {
        x[r] = tile->blocks + (size_t)(row + r) * tile->block_stride;
        start(tile, out + r * CPU_TILE_PANELS * CPU_PANEL, acc[r]);
    }
    for (int32_t k = 0; k < tile->n_columns; k += form.n_unit) {
        struct factors unit = unit_factors(form, p);
        p += cpu_form_head(form);
        for (int32_t i = 0; i < form.n_unit; i += 32) {
            const unsigned char *w = p + cpu_form_scales(form);
            EACH(int line = 0; line < form.n_bits; line++)
                _mm_prefetch(ahead.at + (size_t)line * ahead.step, _MM_HINT_T0);
            ahead.at += ahead.block_bytes;
            EACH(int sub = 0; sub < 32 / form.n_sub; sub++) {
                struct factors factors = sub_factors(form, &unit, p, sub);
                sub_block(form, &factors, w, x, sub, r_memory, R, acc);
            }
            p = w + cpu_form_weights(form);
            EACH(int r = 0; r < R; r++)
                x[r]++;
        }
    }
    EACH(int r = 0; r < R; r++)
        stop(acc[r], out + r * CPU_TILE_PANELS * CPU_PANEL);
}

/* Rows are split into parts of nearly equal size, of r_max at most. r_max is how many sums fit the
 * registers, in the way that gcc 12 fills them, measured by type. */
INLINE void matmul_integer(const struct cpu_tile *tile, struct cpu_form form, const int32_t r_max)
{
    int32_t n_parts = (tile->n_rows + r_max - 1) / r_max;
    for (int32_t panel = 0; panel < tile->n_panels; panel++)
        for (int32_t i = 0; i < n_parts; i++) {
            int32_t row = tile->n_rows * i / n_parts;
            int32_t n = tile->n_rows * (i + 1) / n_parts - row;
            EACH(int r = 1; r <= R_MAX; r++)
                if (r <= r_max && r == n)
                    integer_rows(tile, row, panel, form, i, n_parts, NEVER, r);
        }
}

#define MATMUL(type, form, r_max)                                                                  \
    static void matmul_##type(const struct cpu_tile *tile)                                         \
    {                                                                                              \
        matmul_integer(tile, form, r_max);                                                         \
    }
MATMUL(q8_0, CPU_FORM_Q8_0, 4)
MATMUL(q4_0, CPU_FORM_Q4_0, 4)
MATMUL(q4_1, CPU_FORM_Q4_1, 3)
MATMUL(q5_0, CPU_FORM_Q5_0, 4)
MATMUL(q5_1, CPU_FORM_Q5_1, 3)
MATMUL(q2_k, CPU_FORM_Q2_K, 3)
MATMUL(q4_k, CPU_FORM_Q4_K, 4)
MATMUL(iq4_nl, CPU_FORM_IQ4_NL, 4)
MATMUL(iq4_xs, CPU_FORM_IQ4_XS, 4)
MATMUL(mxfp4, CPU_FORM_MXFP4, 4)
MATMUL(ternary, CPU_FORM_TQ, 4)

typedef void part_fn(const struct cpu_tile *tile, int32_t row, int32_t panel, int32_t part,
                     int32_t n_parts);

static void each_part(const struct cpu_tile *tile, part_fn *const parts[R_MAX])
{
    int32_t n_parts = (tile->n_rows + R_MAX - 1) / R_MAX;
    for (int32_t panel = 0; panel < tile->n_panels; panel++)
        for (int32_t i = 0; i < n_parts; i++) {
            int32_t row = tile->n_rows * i / n_parts, end = tile->n_rows * (i + 1) / n_parts;
            parts[end - row - 1](tile, row, panel, i, n_parts);
        }
}

/* Some types gain by a function for each number of rows, and then by more rows at a time; others
 * lose by it. This depends on how gcc 12 fills registers, and was measured by type. */
#define PART(type, form, r_memory, r)                                                              \
    APART void type##_##r(const struct cpu_tile *tile, int32_t row, int32_t panel, int32_t part,   \
                          int32_t n_parts)                                                         \
    {                                                                                              \
        integer_rows(tile, row, panel, form, part, n_parts, r_memory, r);                          \
    }
#define MATMUL_BY_PARTS(type, form, r_memory)                                                      \
    PART(type, form, r_memory, 1)                                                                  \
    PART(type, form, r_memory, 2)                                                                  \
    PART(type, form, r_memory, 3)                                                                  \
    PART(type, form, r_memory, 4)                                                                  \
    PART(type, form, r_memory, 5)                                                                  \
    PART(type, form, r_memory, 6)                                                                  \
    static void matmul_##type(const struct cpu_tile *tile)                                         \
    {                                                                                              \
        static part_fn *const parts[R_MAX] = { type##_1, type##_2, type##_3,                       \
                                               type##_4, type##_5, type##_6 };                     \
        each_part(tile, parts);                                                                    \
    }
MATMUL_BY_PARTS(q3_k, CPU_FORM_Q3_K, 4)
MATMUL_BY_PARTS(q5_k, CPU_FORM_Q5_K, NEVER)
MATMUL_BY_PARTS(q6_k, CPU_FORM_Q6_K, 4)

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
        if (bits >= 0x7F800000u || b->scale < 0x1p-126f) { /* rare: use the definition */
            memset(b->sums, 0, sizeof(b->sums));
            b->scale = quant_activations(x, b->q);
            cpu_block_finish(b);
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
        cpu_block_finish(b);
    }
}

/* The integers of AVX2's table. */
const struct cpu_kernels cpu_avx2_matmul = {
    .name = "cpu-avx2",
    .matmul = {
        [DTYPE_Q8_0] = matmul_q8_0, [DTYPE_Q4_0] = matmul_q4_0, [DTYPE_Q4_1] = matmul_q4_1,
        [DTYPE_Q5_0] = matmul_q5_0, [DTYPE_Q5_1] = matmul_q5_1, [DTYPE_Q2_K] = matmul_q2_k,
        [DTYPE_Q3_K] = matmul_q3_k, [DTYPE_Q4_K] = matmul_q4_k, [DTYPE_Q5_K] = matmul_q5_k,
        [DTYPE_Q6_K] = matmul_q6_k, [DTYPE_IQ4_NL] = matmul_iq4_nl,
        [DTYPE_IQ4_XS] = matmul_iq4_xs, [DTYPE_MXFP4] = matmul_mxfp4,
        [DTYPE_TQ1_0] = matmul_ternary, [DTYPE_TQ2_0] = matmul_ternary,
    },
    .quantize = quantize,
};
