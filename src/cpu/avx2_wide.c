/* Matrix multiplication for AVX2 with wide panels of integers, for many rows.
 *
 * Weights around their centre are the signed bytes of vpmaddubsw, q + 128 the unsigned ones
 * (avx2_matmul.c has the bounds). So a row needs no extra work for each of its blocks. */
#include "cpu/ahead.h"
#include "cpu/avx2_panels.h"

#include <string.h>

enum { WIDE_SIGNED_BYTES = 1216 };

/* A block of 16 rows, for wide panels. Rows are side by side, so that a kernel's reads of several
 * rows are in few cache lines. */
struct group {
    uint8_t q[8][CPU_GROUP_ROWS][4]; /* q + 128, of four columns after four */
    float scale[CPU_GROUP_ROWS];
    float sum[3][CPU_GROUP_ROWS]; /* scale times the sum of all q, of the first 16, of the others */
    int32_t sum_16[CPU_GROUP_ROWS]; /* 16 times the sum of q, and CPU_SUM_BITS */
};

static void group(const struct cpu_block *row, int32_t n_blocks, int32_t place,
                  unsigned char *groups)
{
    struct group *to = (struct group *)(void *)groups;
    for (const struct cpu_block *b = row; b < row + n_blocks; b++, to++) {
        for (int i = 0; i < 8; i++) {
            uint32_t four_q;
            memcpy(&four_q, b->q + 4 * i, 4);
            four_q ^= 0x80808080u;
            memcpy(to->q[i][place], &four_q, 4);
        }
        int32_t first = cpu_block_sum(b, 0), second = cpu_block_sum(b, 1);
        to->scale[place] = b->scale;
        to->sum[0][place] = b->sum;
        to->sum[1][place] = (float)first * b->scale;
        to->sum[2][place] = (float)second * b->scale;
        to->sum_16[place] = 16 * (first + second) + CPU_SUM_BITS;
    }
}

/* Returns the first group of a row's, at the row's place. */
INLINE const struct group *group_at(const struct cpu_tile *tile, int32_t row)
{
    const unsigned char *groups = tile->groups;
    groups += (size_t)(row / CPU_GROUP_ROWS) * tile->group_stride;
    return (const void *)(groups + sizeof(float) * (size_t)(row % CPU_GROUP_ROWS));
}

/* Returns where a wide panel's sums of a row go. */
INLINE float *wide_out(const struct cpu_tile *tile, int32_t row, int32_t panel)
{
    float *to = tile->is_direct ? tile->target + (size_t)row * tile->target_stride
                                : tile->out + row * CPU_TILE_PANELS * CPU_PANEL;
    return to + panel * CPU_PANEL;
}

INLINE __m256 load_8_floats(const unsigned char *p)
{
    return _mm256_loadu_ps((const float *)(const void *)p);
}

/* Returns a sum that has CPU_SUM_BITS added times its scale (see there). p has 8 outputs of
 * put_scales. A conversion and a multiplication take as many instructions, and a tenth to a third
 * more time (Zen 3). */
INLINE __m256 scaled_sum(__m256i sum, const unsigned char *p)
{
    return _mm256_fmadd_ps(_mm256_castsi256_ps(sum), load_8_floats(p), load_8_floats(p + 64));
}

/* Sums (q + 128) * (stored - centre) over a (sub-)block in int16. The sums start from -128 times
 * the sum of the stored values. They may wrap on the way, but end as the sums for q. */
INLINE void wide_dot(struct cpu_form form, const unsigned char *w, const struct group *x, int sub,
                     const int R, __m256i sums[R_MAX][2])
{
    const __m256i ones = _mm256_set1_epi16(1);
    EACH(int i = 0; i < form.n_sub / 4; i++) {
        __m256i weights[2] = { load_bytes(w + 64 + 64 * i), load_bytes(w + 96 + 64 * i) };
        EACH(int r = 0; r < R; r++) {
            __m256i q = four(x->q[sub * form.n_sub / 4 + i][r]);
            EACH(int half = 0; half < 2; half++) {
                __m256i before = i == 0 ? load_bytes(w + 32 * half) : sums[r][half];
                sums[r][half] = _mm256_add_epi16(_mm256_maddubs_epi16(q, weights[half]), before);
                NOW(sums[r][half]);
            }
        }
    }
    EACH(int r = 0; r < R; r++)
        EACH(int half = 0; half < 2; half++) {
            __m256i more = centre_of(form) != form.offset ? four(&x->sum_16[r])
                                                          : _mm256_set1_epi32(CPU_SUM_BITS);
            sums[r][half] = _mm256_add_epi32(_mm256_madd_epi16(sums[r][half], ones), more);
        }
}

/* Adds the scaled sums of a (sub-)block. p has its floats. */
INLINE void add_scaled(struct cpu_form form, const unsigned char *p, const struct group *x, int sub,
                       const int R, __m256i sums[R_MAX][2], __m256 acc[R_MAX][2])
{
    EACH(int half = 0; half < 2; half++)
        EACH(int r = 0; r < R; r++) {
            acc[r][half] = _mm256_fmadd_ps(scaled_sum(sums[r][half], p + 32 * half),
                                           _mm256_broadcast_ss(&x->scale[r]), acc[r][half]);
            if (!form.has_minimum)
                continue;
            const float *x_sum = &x->sum[form.n_sub == 32 ? 0 : sub + 1][r];
            acc[r][half] = _mm256_fmadd_ps(load_8_floats(p + 128 + 32 * half),
                                           _mm256_broadcast_ss(x_sum), acc[r][half]);
        }
}

/* Multiplies R rows with a wide panel. */
INLINE void wide_rows(const struct cpu_tile *tile, int32_t row, int32_t panel, struct cpu_form form,
                      const int R)
{
    const unsigned char *p = tile->panels + (size_t)panel * tile->panel_bytes;
    float *out = tile->out + (row * CPU_TILE_PANELS + panel) * CPU_PANEL;
    const struct group *x = group_at(tile, row);
    const char *ahead = NULL;
    int32_t n_ahead = cpu_fetch_ahead(tile, row, panel, R, 1, &ahead);
    __m256 acc[R_MAX][2];
    EACH(int r = 0; r < R; r++)
        start(tile, out + r * CPU_TILE_PANELS * CPU_PANEL, acc[r]);
    for (int32_t k = 0; k < tile->n_columns; k += 32, x++) {
        for (int32_t i = 0; i < n_ahead; i++, ahead += 64)
            _mm_prefetch(ahead, _MM_HINT_T1);
        EACH(int sub = 0; sub < 32 / form.n_sub; sub++) {
            __m256i sums[R_MAX][2];
            const int head = form.has_minimum ? 192 : 128;
            wide_dot(form, p + head, x, sub, R, sums);
            add_scaled(form, p, x, sub, R, sums, acc);
            p += head + 64 + 16 * form.n_sub;
        }
    }
    EACH(int r = 0; r < R; r++)
        stop(acc[r], wide_out(tile, row + r, panel));
}

/* The operand is in memory, because with four rows there are no registers for both sizes and both
 * signs. */
INLINE __m256i flip(__m256i q, const unsigned char *sign)
{
    __m256i flipped;
    __asm__("vpxor %2, %1, %0" : "=x"(flipped) : "x"(q), "m"(*(const __m256i *)(const void *)sign));
    return flipped;
}

/* Q8_0's wide form: q * w = (q ^ s) * |w| + |w| for negative w, with s all ones. So the sign costs
 * one vpxor with a value in memory (which turns q + 128 into q too), and the sum starts from the
 * sum of those |w|. A pair of products is at least -2 * 128 * 128, which just fits. */
INLINE void wide_signed_rows(const struct cpu_tile *tile, int32_t row, int32_t panel, const int R)
{
    const unsigned char *p = tile->panels + (size_t)panel * tile->panel_bytes;
    float *out = tile->out + (row * CPU_TILE_PANELS + panel) * CPU_PANEL;
    const struct group *x = group_at(tile, row);
    const __m256i ones = _mm256_set1_epi16(1);
    const char *ahead = NULL;
    int32_t n_ahead = cpu_fetch_ahead(tile, row, panel, R, 1, &ahead);
    __m256 acc[R_MAX][2];
    EACH(int r = 0; r < R; r++)
        start(tile, out + r * CPU_TILE_PANELS * CPU_PANEL, acc[r]);
    for (int32_t k = 0; k < tile->n_columns; k += 32, p += WIDE_SIGNED_BYTES, x++) {
        for (int32_t i = 0; i < n_ahead; i++, ahead += 64)
            _mm_prefetch(ahead, _MM_HINT_T1);
        __m256i sums[R_MAX][2];
        EACH(int i = 0; i < 8; i++) {
            const unsigned char *w = p + 192 + 128 * i;
            __m256i size[2] = { load_bytes(w), load_bytes(w + 32) };
            EACH(int r = 0; r < R; r++) {
                __m256i q = four(x->q[i][r]);
                EACH(int half = 0; half < 2; half++) {
                    __m256i before = i == 0 ? load_bytes(p + 128 + 32 * half) : sums[r][half];
                    __m256i pairs = _mm256_maddubs_epi16(size[half], flip(q, w + 64 + 32 * half));
                    sums[r][half] = _mm256_add_epi32(_mm256_madd_epi16(pairs, ones), before);
                    NOW(sums[r][half]);
                }
            }
        }
        EACH(int half = 0; half < 2; half++)
            EACH(int r = 0; r < R; r++)
                acc[r][half] = _mm256_fmadd_ps(scaled_sum(sums[r][half], p + 32 * half),
                                               _mm256_broadcast_ss(&x->scale[r]), acc[r][half]);
    }
    EACH(int r = 0; r < R; r++)
        stop(acc[r], wide_out(tile, row + r, panel));
}

/* Stores scales, and their products with CPU_SUM_BITS, which are subtracted later. */
INLINE void put_scales(const __m256 scale[2], unsigned char *to)
{
    EACH(int half = 0; half < 2; half++) {
        __m256 less = _mm256_mul_ps(scale[half], _mm256_set1_ps(-CPU_SUM_FLOAT));
        _mm256_storeu_ps((float *)(void *)to + 8 * half, scale[half]);
        _mm256_storeu_ps((float *)(void *)to + 16 + 8 * half, less);
    }
}

/* Widens a block of signed bytes, packed at w. */
INLINE void widen_signed_block(struct cpu_form form, const unsigned char *packed,
                               const __m256 scale[2], unsigned char *to)
{
    const __m256i ones = _mm256_set1_epi16(1), none = _mm256_setzero_si256();
    __m256i before[2];
    before[0] = before[1] = _mm256_set1_epi32(CPU_SUM_BITS);
    EACH(int i = 0; i < 16; i++) {
        unsigned char *w = to + 192 + 128 * (i / 2) + 32 * (i % 2);
        __m256i bytes = load_four(form, packed, i / 2 * 4, i % 2), size = _mm256_abs_epi8(bytes);
        __m256i sign = _mm256_cmpgt_epi8(none, bytes);
        _mm256_storeu_si256((void *)w, size);
        _mm256_storeu_si256((void *)(w + 64), _mm256_xor_si256(sign, _mm256_set1_epi8((char)0x80)));
        __m256i pairs = _mm256_maddubs_epi16(_mm256_and_si256(size, sign), _mm256_set1_epi8(1));
        before[i % 2] = _mm256_add_epi32(before[i % 2], _mm256_madd_epi16(pairs, ones));
    }
    put_scales(scale, to);
    EACH(int half = 0; half < 2; half++)
        _mm256_storeu_si256((void *)(to + 128 + 32 * half), before[half]);
}

INLINE void widen_signed(struct cpu_form form, const unsigned char *p, int32_t n_columns,
                         unsigned char *to)
{
    for (int32_t k = 0; k < n_columns; k += form.n_unit) {
        struct factors unit = unit_factors(form, p);
        p += cpu_form_head(form);
        for (int32_t i = 0; i < form.n_unit; i += 32, to += WIDE_SIGNED_BYTES) {
            const unsigned char *w = p + cpu_form_scales(form);
            EACH(int line = 0; line <= cpu_form_weights(form); line += 64)
                _mm_prefetch((const char *)w + PREFETCH_BYTES + line, _MM_HINT_T0);
            struct factors factors = sub_factors(form, &unit, p, 0);
            widen_signed_block(form, w, factors.scale, to);
            p = w + cpu_form_weights(form);
        }
    }
}

#define WIDEN_SIGNED(type, form)                                                                   \
    static void widen_##type(const unsigned char *panel, int32_t n_columns, unsigned char *wide)   \
    {                                                                                              \
        widen_signed(form, panel, n_columns, wide);                                                \
    }
WIDEN_SIGNED(q8_0, CPU_FORM_Q8_0)
WIDEN_SIGNED(iq4_nl, CPU_FORM_IQ4_NL)
WIDEN_SIGNED(iq4_xs, CPU_FORM_IQ4_XS)

/* Widens the weights of a (sub-)block, packed at w, and the values that their sums start from. */
INLINE void widen_weights(struct cpu_form form, const unsigned char *w, int sub, unsigned char *to)
{
    const __m256i centre = _mm256_set1_epi8((char)centre_of(form)), one = _mm256_set1_epi8(1);
    __m256i sums[2];
    sums[0] = sums[1] = _mm256_setzero_si256();
    EACH(int i = 0; i < form.n_sub / 4; i++)
        EACH(int half = 0; half < 2; half++) {
            __m256i bytes = load_four(form, w, sub * form.n_sub + 4 * i, half);
            bytes = _mm256_sub_epi8(bytes, centre);
            sums[half] = _mm256_sub_epi16(sums[half], _mm256_maddubs_epi16(one, bytes));
            _mm256_storeu_si256((void *)(to + 64 + 64 * i + 32 * half), bytes);
        }
    EACH(int half = 0; half < 2; half++)
        _mm256_storeu_si256((void *)(to + 32 * half), _mm256_slli_epi16(sums[half], 7));
}

INLINE void widen(struct cpu_form form, const unsigned char *p, int32_t n_columns,
                  unsigned char *to)
{
    const size_t head = form.has_minimum ? 192 : 128;
    for (int32_t k = 0; k < n_columns; k += form.n_unit) {
        struct factors unit = unit_factors(form, p);
        p += cpu_form_head(form);
        for (int32_t i = 0; i < form.n_unit; i += 32) {
            const unsigned char *w = p + cpu_form_scales(form);
            EACH(int line = 0; line < cpu_form_weights(form); line += 64)
                _mm_prefetch((const char *)w + PREFETCH_BYTES + line, _MM_HINT_T0);
            EACH(int sub = 0; sub < 32 / form.n_sub; sub++) {
                struct factors factors = sub_factors(form, &unit, p, sub);
                put_scales(factors.scale, to);
                memcpy(to + 128, factors.minimum, form.has_minimum ? 64 : 0);
                widen_weights(form, w, sub, to + head);
                to += head + 64 + 16 * (size_t)form.n_sub;
            }
            p = w + cpu_form_weights(form);
        }
    }
}

/* Multiplies n rows, r_max at most: as many as the sums that fit the registers. */
INLINE void wide_part(const struct cpu_tile *tile, int32_t row, int32_t panel, struct cpu_form form,
                      int32_t n, const int32_t r_max)
{
    EACH(int r = 1; r <= R_MAX; r++)
        if (r <= r_max && r == n && form.n_bits == 8)
            wide_signed_rows(tile, row, panel, r);
        else if (r <= r_max && r == n)
            wide_rows(tile, row, panel, form, r);
}

/* Splits every group's rows into parts of nearly equal size. */
INLINE void matmul_wide(const struct cpu_tile *tile, struct cpu_form form, const int32_t r_max)
{
    for (int32_t panel = 0; panel < tile->n_panels; panel++)
        for (int32_t first = 0; first < tile->n_rows; first += CPU_GROUP_ROWS) {
            int32_t n_rows = min_i32(CPU_GROUP_ROWS, tile->n_rows - first);
            int32_t n_parts = (n_rows + r_max - 1) / r_max;
            for (int32_t i = 0; i < n_parts; i++) {
                int32_t row = n_rows * i / n_parts, end = n_rows * (i + 1) / n_parts;
                wide_part(tile, first + row, panel, form, end - row, r_max);
            }
        }
}

#define WIDEN(type, form)                                                                          \
    static void widen_##type(const unsigned char *panel, int32_t n_columns, unsigned char *wide)   \
    {                                                                                              \
        widen(form, panel, n_columns, wide);                                                       \
    }
WIDEN(q4_0, CPU_FORM_Q4_0)
WIDEN(q4_1, CPU_FORM_Q4_1)
WIDEN(q5_0, CPU_FORM_Q5_0)
WIDEN(q5_1, CPU_FORM_Q5_1)
WIDEN(q2_k, CPU_FORM_Q2_K)
WIDEN(q3_k, CPU_FORM_Q3_K)
WIDEN(q4_k, CPU_FORM_Q4_K)
WIDEN(q5_k, CPU_FORM_Q5_K)
WIDEN(q6_k, CPU_FORM_Q6_K)
WIDEN(mxfp4, CPU_FORM_MXFP4)
WIDEN(ternary, CPU_FORM_TQ)

/* Wide panels differ only in the length of a sub-block, in minimums and in the centre. */
static void wide_signed(const struct cpu_tile *tile)
{
    matmul_wide(tile, CPU_FORM_Q8_0, 4);
}
static void wide_32(const struct cpu_tile *tile)
{
    matmul_wide(tile, CPU_FORM_Q4_0, 6);
}
static void wide_32_minimum(const struct cpu_tile *tile)
{
    matmul_wide(tile, CPU_FORM_Q4_1, 6);
}
static void wide_32_minimum_centred(const struct cpu_tile *tile)
{
    matmul_wide(tile, CPU_FORM_Q5_1, 6);
}
static void wide_16(const struct cpu_tile *tile)
{
    matmul_wide(tile, CPU_FORM_Q6_K, 4);
}
static void wide_16_minimum(const struct cpu_tile *tile)
{
    matmul_wide(tile, CPU_FORM_Q2_K, 4);
}

/* AVX2's kernels for many rows. */
const struct cpu_kernels cpu_avx2_wide = {
    .name = "cpu-avx2",
    .widen = {
        [DTYPE_Q8_0] = widen_q8_0,
        [DTYPE_Q4_0] = widen_q4_0, [DTYPE_Q4_1] = widen_q4_1, [DTYPE_Q5_0] = widen_q5_0,
        [DTYPE_Q5_1] = widen_q5_1, [DTYPE_Q2_K] = widen_q2_k,
        [DTYPE_Q3_K] = widen_q3_k, [DTYPE_Q4_K] = widen_q4_k, [DTYPE_Q5_K] = widen_q5_k,
        [DTYPE_Q6_K] = widen_q6_k, [DTYPE_IQ4_NL] = widen_iq4_nl,
        [DTYPE_IQ4_XS] = widen_iq4_xs, [DTYPE_MXFP4] = widen_mxfp4,
        [DTYPE_TQ1_0] = widen_ternary, [DTYPE_TQ2_0] = widen_ternary,
    },
    .matmul_wide = {
        [DTYPE_Q8_0] = wide_signed, [DTYPE_Q4_0] = wide_32, [DTYPE_Q4_1] = wide_32_minimum,
        [DTYPE_Q5_0] = wide_32, [DTYPE_Q5_1] = wide_32_minimum_centred,
        [DTYPE_Q2_K] = wide_16_minimum, [DTYPE_Q3_K] = wide_16, [DTYPE_Q4_K] = wide_32_minimum,
        [DTYPE_Q5_K] = wide_32_minimum_centred, [DTYPE_Q6_K] = wide_16,
        [DTYPE_IQ4_NL] = wide_signed, [DTYPE_IQ4_XS] = wide_signed, [DTYPE_MXFP4] = wide_32,
        [DTYPE_TQ1_0] = wide_32, [DTYPE_TQ2_0] = wide_32,
    },
    /* Wide Q8_0 takes more than twice the memory. Values of 5 bits are slow to assemble for each
     * part of the rows (3 and 6 bits do not gain by it). */
    .wide_rows_min = { [DTYPE_Q8_0] = 24, [DTYPE_IQ4_NL] = 24, [DTYPE_IQ4_XS] = 24,
                       [DTYPE_Q5_0] = 10, [DTYPE_Q5_1] = 10, [DTYPE_Q5_K] = 8 },
    .group_bytes = sizeof(struct group),
    .group = group,
};
