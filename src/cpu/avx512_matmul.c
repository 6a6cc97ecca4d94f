/* Matrix multiplication of integers for AVX-512 with VNNI: a panel's 16 outputs are one register.
 *
 * vpdpbusd multiplies unsigned weights with signed q, four k at a time, exactly. Signed bytes
 * (Q8_0) become unsigned by flipping their top bit, which adds 128. */
#include "cpu/kernels.h"

#include <immintrin.h>
#include <string.h>

#define INLINE static inline __attribute__((always_inline))

enum { PREFETCH_BYTES = 4096, R_MAX = 12 };

INLINE __m512 load_half(const void *p)
{
    return _mm512_cvtph_ps(_mm256_loadu_si256(p));
}

/* The sums so far of one row and panel. */
INLINE __m512 start(const struct cpu_tile *tile, const float *out)
{
    return tile->is_continued ? _mm512_loadu_ps(out) : _mm512_setzero_ps();
}

/* Four q, the same in every output's lane. */
INLINE __m512i four(const void *q)
{
    int32_t bits;
    memcpy(&bits, q, 4);
    return _mm512_set1_epi32(bits);
}

/* Adds stored * q to sums over n groups of 4 k from g on. */
INLINE void dot_bytes(struct cpu_form form, const unsigned char *w, const struct cpu_block *x,
                      size_t stride, int g, int n, const int R, __m512i sums[R_MAX])
{
    for (int i = g; i < g + n; i++) {
        __m512i weights = _mm512_loadu_si512(w + 64 * i);
        if (form.value_max < 0)
            weights = _mm512_xor_si512(weights, _mm512_set1_epi8((char)0x80));
        for (int r = 0; r < R; r++)
            sums[r] = _mm512_dpbusd_epi32(sums[r], weights, four(x[(size_t)r * stride].q + 4 * i));
    }
}

INLINE void dot_nibbles(const unsigned char *w, const struct cpu_block *x, size_t stride, bool low,
                        bool high, const int R, __m512i sums[R_MAX])
{
    const __m512i mask = _mm512_set1_epi8(15);
    for (int v = 0; v < 4; v++) {
        __m512i bytes = _mm512_loadu_si512(w + 64 * v);
        __m512i lows = _mm512_and_si512(bytes, mask);
        __m512i highs = _mm512_and_si512(_mm512_srli_epi16(bytes, 4), mask);
        for (int r = 0; r < R; r++) {
            const int8_t *q = x[(size_t)r * stride].q + 4 * v;
            if (low)
                sums[r] = _mm512_dpbusd_epi32(sums[r], lows, four(q));
            if (high)
                sums[r] = _mm512_dpbusd_epi32(sums[r], highs, four(q + 16));
        }
    }
}

INLINE __m512 scaled(__m512 factor, const unsigned char *bytes)
{
    __m512i wide = _mm512_cvtepi8_epi32(_mm_loadu_si128((const void *)bytes));
    return _mm512_mul_ps(factor, _mm512_cvtepi32_ps(wide));
}

/* -offset times the sum of the q that a sub-block meets. */
INLINE __m512i offset_sum(int offset, const struct cpu_block *x, int sub, bool is_whole)
{
    const __m512i factor = _mm512_set1_epi16((int16_t)-offset);
    __m512i sum = _mm512_madd_epi16(four(x->sums[sub]), factor);
    return is_whole ? _mm512_dpwssd_epi32(sum, four(x->sums[1]), factor) : sum;
}

/* One sub-block: integer sums, then their scaled addition to acc. d, m: scale and (negated where it
 * is subtracted) minimum of the unit; scales: the sub-block's bytes; x: row after row. */
INLINE void sub_block(struct cpu_form form, const unsigned char *scales, const unsigned char *w,
                      __m512 d, __m512 m, const struct cpu_block *x, size_t stride, int sub,
                      const int R, __m512 acc[R_MAX])
{
    const int offset = form.value_max < 0 ? 128 : form.offset;
    __m512i sums[R_MAX];
    for (int r = 0; r < R; r++)
        sums[r] = offset == 0 ? _mm512_setzero_si512()
                              : offset_sum(offset, &x[(size_t)r * stride], sub, form.n_sub == 32);
    if (form.n_bits == 8)
        dot_bytes(form, w, x, stride, sub * form.n_sub / 4, form.n_sub / 4, R, sums);
    else
        dot_nibbles(w, x, stride, sub == 0, sub == 1 || form.n_sub == 32, R, sums);
    __m512 scale = form.n_unit == 256 ? scaled(d, scales) : d, minimum = m;
    if (form.has_minimum && form.n_unit == 256)
        minimum = scaled(m, scales + 16);
    for (int r = 0; r < R; r++) {
        const struct cpu_block *at = &x[(size_t)r * stride];
        acc[r] = _mm512_fmadd_ps(_mm512_cvtepi32_ps(sums[r]),
                                 _mm512_mul_ps(scale, _mm512_set1_ps(at->scale)), acc[r]);
        if (!form.has_minimum)
            continue;
        float x_sum = form.n_sub == 32 ? at->sum : at->scale * (float)cpu_block_sum(at, sub);
        acc[r] = _mm512_fmadd_ps(minimum, _mm512_set1_ps(x_sum), acc[r]);
    }
}

INLINE void integer_rows(const struct cpu_tile *tile, int32_t row, int32_t panel,
                         struct cpu_form form, const int R)
{
    const unsigned char *p = tile->panels + (size_t)panel * tile->panel_bytes;
    size_t stride = tile->block_stride;
    const struct cpu_block *x = tile->blocks + (size_t)row * stride;
    float *out = tile->out + (row * CPU_TILE_PANELS + panel) * CPU_PANEL;
    __m512 acc[R_MAX];
    for (int r = 0; r < R; r++)
        acc[r] = start(tile, out + r * CPU_TILE_PANELS * CPU_PANEL);
    for (int32_t k = 0; k < tile->n_columns; k += form.n_unit) {
        __m512 d = load_half(p), m = d;
        if (form.has_minimum)
            m = load_half(p + 32);
        if (form.has_minimum && form.n_unit == 256)
            m = _mm512_xor_ps(m, _mm512_set1_ps(-0.0f));
        p += cpu_form_head(form);
        for (int32_t i = 0; i < form.n_unit; i += 32, x++) {
            const unsigned char *w = p + cpu_form_scales(form);
            for (int line = 0; line < cpu_form_weights(form); line += 64)
                _mm_prefetch((const char *)w + PREFETCH_BYTES + line, _MM_HINT_T0);
            for (int sub = 0; sub < 32 / form.n_sub; sub++)
                sub_block(form, p + sub * (form.has_minimum ? 32 : 16), w, d, m, x, stride, sub, R,
                          acc);
            p = w + cpu_form_weights(form);
        }
    }
    for (int r = 0; r < R; r++)
        _mm512_storeu_ps(out + r * CPU_TILE_PANELS * CPU_PANEL, acc[r]);
}

INLINE void matmul_integer(const struct cpu_tile *tile, struct cpu_form form)
{
    for (int32_t panel = 0; panel < tile->n_panels; panel++) {
        int32_t row = 0;
        for (; row + 12 <= tile->n_rows; row += 12)
            integer_rows(tile, row, panel, form, 12);
        for (; row + 4 <= tile->n_rows; row += 4)
            integer_rows(tile, row, panel, form, 4);
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

/* The integers of AVX-512's table. */
const struct cpu_kernels cpu_avx512_matmul = {
    .name = "cpu-avx512",
    .matmul = {
        [DTYPE_Q8_0] = matmul_q8_0, [DTYPE_Q4_0] = matmul_q4_0, [DTYPE_Q4_1] = matmul_q4_1,
        [DTYPE_Q5_0] = matmul_q5_0, [DTYPE_Q5_1] = matmul_q5_1, [DTYPE_Q2_K] = matmul_q2_k,
        [DTYPE_Q3_K] = matmul_q3_k, [DTYPE_Q4_K] = matmul_q4_k, [DTYPE_Q5_K] = matmul_q5_k,
        [DTYPE_Q6_K] = matmul_q6_k,
    },
};
