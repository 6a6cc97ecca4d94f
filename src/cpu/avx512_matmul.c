/* Matrix multiplication of integers for AVX-512 with VNNI: few rows by avx512_packed.h, many rows
 * with wide panels. */
#include "cpu/ahead.h"
#include "cpu/avx512_packed.h"

/* Multiplies R rows with P wide panels. */
INLINE void wide_rows(const struct cpu_tile *tile, int32_t row, int32_t panel, struct cpu_form form,
                      const int R, const int P)
{
    const unsigned char *w = tile->panels + (size_t)panel * tile->panel_bytes;
    float *out = tile->out + (row * CPU_TILE_PANELS + panel) * CPU_PANEL;
    struct rows rows = rows_of(tile, row, R);
    __m512 acc[R_MAX][P_MAX];
    const char *ahead = NULL;
    int32_t n_ahead = cpu_fetch_ahead(tile, row, panel, R, P, &ahead);
    start(tile, out, R, P, acc);
    for (int32_t k = 0; k < tile->n_columns; k += 32) {
        for (int32_t i = 0; i < n_ahead; i++, ahead += 64)
            EACH(int p = 0; p < P; p++)
                _mm_prefetch(ahead + (size_t)p * tile->ahead_stride, _MM_HINT_T1);
        EACH(int r = 0; r < R && panel == 0; r++)
            _mm_prefetch((const char *)(row_at(&rows, r) + (size_t)R * rows.stride), _MM_HINT_T0);
        EACH(int sub = 0; sub < 32 / form.n_sub; sub++) {
            struct factors factors[P_MAX];
            EACH(int p = 0; p < P; p++) {
                const float *at = (const float *)(const void *)(w + (size_t)p * tile->panel_bytes);
                factors[p].scale = _mm512_loadu_ps(at);
                if (form.has_minimum)
                    factors[p].minimum = _mm512_loadu_ps(at + 16);
            }
            w += wide_head(form);
            sub_block(form, w, tile->panel_bytes, &rows, sub, R, P, AS_WIDE, factors, acc);
            w += 16 * form.n_sub;
        }
        next_block(&rows, R);
    }
    if (tile->is_direct)
        stop(tile->target + (size_t)row * tile->target_stride + panel * CPU_PANEL,
             tile->target_stride, R, P, acc);
    else
        stop(out, OUT_STRIDE, R, P, acc);
}

/* Rows are split into groups of nearly equal size. Two panels stay in the first-level cache while
 * all groups use them. */
INLINE void matmul_wide(const struct cpu_tile *tile, struct cpu_form form)
{
    int32_t n_groups = (tile->n_rows + TWO_R_MAX - 1) / TWO_R_MAX;
    for (int32_t panel = 0; panel < tile->n_panels; panel += P_MAX)
        for (int32_t i = 0; i < n_groups; i++) {
            int32_t row = tile->n_rows * i / n_groups;
            int32_t n = tile->n_rows * (i + 1) / n_groups - row;
            EACH(int r = 1; r <= TWO_R_MAX; r++) {
                if (r != n)
                    continue;
                if (panel + P_MAX <= tile->n_panels)
                    wide_rows(tile, row, panel, form, r, P_MAX);
                else
                    wide_rows(tile, row, panel, form, r, 1);
            }
        }
}

#define MATMUL(type, form)                                                                         \
    static void matmul_##type(const struct cpu_tile *tile)                                         \
    {                                                                                              \
        matmul_packed(tile, form, (struct walk){ false, FETCH_FAR, FETCH_FAR, FETCH_NEAR });       \
    }                                                                                              \
    static void widen_##type(const unsigned char *panel, int32_t n_columns, unsigned char *wide)   \
    {                                                                                              \
        widen(form, 128, panel, n_columns, wide);                                                  \
    }
MATMUL(q8_0, CPU_FORM_Q8_0)
MATMUL(q4_0, CPU_FORM_Q4_0)
MATMUL(q4_1, CPU_FORM_Q4_1)
MATMUL(q5_0, CPU_FORM_Q5_0)
MATMUL(q5_1, CPU_FORM_Q5_1)
MATMUL(q2_k, CPU_FORM_Q2_K)
MATMUL(q3_k, CPU_FORM_Q3_K)
MATMUL(q4_k, CPU_FORM_Q4_K)
MATMUL(q5_k, CPU_FORM_Q5_K)
MATMUL(q6_k, CPU_FORM_Q6_K)
MATMUL(iq4_nl, CPU_FORM_IQ4_NL)
MATMUL(iq4_xs, CPU_FORM_IQ4_XS)
MATMUL(mxfp4, CPU_FORM_MXFP4)
MATMUL(ternary, CPU_FORM_TQ)

/* Wide panels differ only in the length of a sub-block and in minimums. */
static void wide_32(const struct cpu_tile *tile)
{
    matmul_wide(tile, CPU_FORM_Q8_0);
}
static void wide_32_minimum(const struct cpu_tile *tile)
{
    matmul_wide(tile, CPU_FORM_Q4_1);
}
static void wide_16(const struct cpu_tile *tile)
{
    matmul_wide(tile, CPU_FORM_Q6_K);
}
static void wide_16_minimum(const struct cpu_tile *tile)
{
    matmul_wide(tile, CPU_FORM_Q2_K);
}

/* The integers of AVX-512's table. */
const struct cpu_kernels cpu_avx512_matmul = {
    .name = "cpu-avx512",
    .matmul = {
        [DTYPE_Q8_0] = matmul_q8_0, [DTYPE_Q4_0] = matmul_q4_0, [DTYPE_Q4_1] = matmul_q4_1,
        [DTYPE_Q5_0] = matmul_q5_0, [DTYPE_Q5_1] = matmul_q5_1, [DTYPE_Q2_K] = matmul_q2_k,
        [DTYPE_Q3_K] = matmul_q3_k, [DTYPE_Q4_K] = matmul_q4_k, [DTYPE_Q5_K] = matmul_q5_k,
        [DTYPE_Q6_K] = matmul_q6_k, [DTYPE_IQ4_NL] = matmul_iq4_nl,
        [DTYPE_IQ4_XS] = matmul_iq4_xs, [DTYPE_MXFP4] = matmul_mxfp4,
        [DTYPE_TQ1_0] = matmul_ternary, [DTYPE_TQ2_0] = matmul_ternary,
    },
    .widen = {
        [DTYPE_Q8_0] = widen_q8_0, [DTYPE_Q4_0] = widen_q4_0, [DTYPE_Q4_1] = widen_q4_1,
        [DTYPE_Q5_0] = widen_q5_0, [DTYPE_Q5_1] = widen_q5_1, [DTYPE_Q2_K] = widen_q2_k,
        [DTYPE_Q3_K] = widen_q3_k, [DTYPE_Q4_K] = widen_q4_k, [DTYPE_Q5_K] = widen_q5_k,
        [DTYPE_Q6_K] = widen_q6_k, [DTYPE_IQ4_NL] = widen_iq4_nl,
        [DTYPE_IQ4_XS] = widen_iq4_xs, [DTYPE_MXFP4] = widen_mxfp4,
        [DTYPE_TQ1_0] = widen_ternary, [DTYPE_TQ2_0] = widen_ternary,
    },
    .matmul_wide = {
        [DTYPE_Q8_0] = wide_32, [DTYPE_Q4_0] = wide_32, [DTYPE_Q4_1] = wide_32_minimum,
        [DTYPE_Q5_0] = wide_32, [DTYPE_Q5_1] = wide_32_minimum, [DTYPE_Q2_K] = wide_16_minimum,
        [DTYPE_Q3_K] = wide_16, [DTYPE_Q4_K] = wide_32_minimum, [DTYPE_Q5_K] = wide_32_minimum,
        [DTYPE_Q6_K] = wide_16, [DTYPE_IQ4_NL] = wide_32, [DTYPE_IQ4_XS] = wide_32,
        [DTYPE_MXFP4] = wide_32, [DTYPE_TQ1_0] = wide_32, [DTYPE_TQ2_0] = wide_32,
    },
};
