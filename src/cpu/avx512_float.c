/* Matrix multiplication of floats for AVX-512: a panel's 16 outputs are one register. */
#include "cpu/kernels.h"

#include <immintrin.h>

#define INLINE static inline __attribute__((always_inline))

enum { PREFETCH_BYTES = 4096, R_MAX = 12 };

INLINE __m512 load_floats(enum dtype dtype, const unsigned char *p)
{
    if (dtype == DTYPE_F32)
        return _mm512_loadu_ps(p);
    __m256i halves = _mm256_loadu_si256((const void *)p);
    if (dtype == DTYPE_F16)
        return _mm512_cvtph_ps(halves);
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(halves), 16));
}

/* The sums so far of one row and panel. */
INLINE __m512 start(const struct cpu_tile *tile, const float *out)
{
    return tile->is_continued ? _mm512_loadu_ps(out) : _mm512_setzero_ps();
}

/* R rows against P panels: R * P independent sums. */
INLINE void float_rows(const struct cpu_tile *tile, int32_t row, int32_t panel, enum dtype dtype,
                       const int R, const int P)
{
    const size_t n_bytes = dtype == DTYPE_F32 ? 4 : 2;
    const unsigned char *w = tile->panels + (size_t)panel * tile->panel_bytes;
    const float *x = tile->x + (size_t)row * tile->x_stride;
    float *out = tile->out + (row * CPU_TILE_PANELS + panel) * CPU_PANEL;
    __m512 acc[R_MAX][4];
    for (int r = 0; r < R; r++)
        for (int p = 0; p < P; p++)
            acc[r][p] = start(tile, out + (r * CPU_TILE_PANELS + p) * CPU_PANEL);
    for (size_t k = 0; k < (size_t)tile->n_columns; k++)
        for (int p = 0; p < P; p++) {
            const unsigned char *at = w + (size_t)p * tile->panel_bytes + k * CPU_PANEL * n_bytes;
            if (R == 1)
                _mm_prefetch((const char *)at + PREFETCH_BYTES, _MM_HINT_T0);
            __m512 weights = load_floats(dtype, at);
            for (int r = 0; r < R; r++)
                acc[r][p] = _mm512_fmadd_ps(
                    weights, _mm512_set1_ps(x[(size_t)r * tile->x_stride + k]), acc[r][p]);
        }
    for (int r = 0; r < R; r++)
        for (int p = 0; p < P; p++)
            _mm512_storeu_ps(out + (r * CPU_TILE_PANELS + p) * CPU_PANEL, acc[r][p]);
}

INLINE void matmul_float(const struct cpu_tile *tile, enum dtype dtype)
{
    int32_t row = 0;
    for (; row + 12 <= tile->n_rows; row += 12)
        for (int32_t panel = 0; panel < tile->n_panels; panel++)
            float_rows(tile, row, panel, dtype, 12, 1);
    for (; row + 4 <= tile->n_rows; row += 4) {
        int32_t panel = 0;
        for (; panel + 2 <= tile->n_panels; panel += 2)
            float_rows(tile, row, panel, dtype, 4, 2);
        for (; panel < tile->n_panels; panel++)
            float_rows(tile, row, panel, dtype, 4, 1);
    }
    for (; row < tile->n_rows; row++) {
        int32_t panel = 0;
        for (; panel + 4 <= tile->n_panels; panel += 4)
            float_rows(tile, row, panel, dtype, 1, 4);
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

/* The floats of AVX-512's table. */
const struct cpu_kernels cpu_avx512_float = {
    .name = "cpu-avx512",
    .matmul = {
        [DTYPE_F32] = matmul_f32, [DTYPE_F16] = matmul_f16, [DTYPE_BF16] = matmul_bf16,
    },
};
