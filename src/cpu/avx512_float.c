/* Matrix multiplication for AVX-512 with weights of floats.
 *
 * Two units multiply and add 16 floats each a cycle, and they convert halves into floats as well.
 * Therefore many rows use panels that were converted to floats once (wide). */
#include "cpu/avx512_floats.h"

enum { PREFETCH_BYTES = 2048 };

static const struct float_walk walk = { PREFETCH_BYTES, PREFETCH_BYTES, true, R_BY_FOUR };

static void matmul_f32(const struct cpu_tile *tile)
{
    matmul_float(tile, walk, DTYPE_F32);
}
static void matmul_f16(const struct cpu_tile *tile)
{
    matmul_float(tile, walk, DTYPE_F16);
}
static void matmul_bf16(const struct cpu_tile *tile)
{
    matmul_float(tile, walk, DTYPE_BF16);
}

INLINE void widen(enum dtype dtype, const unsigned char *panel, int32_t n_columns,
                  unsigned char *wide)
{
    for (size_t k = 0; k < (size_t)n_columns; k++) {
        _mm_prefetch((const char *)panel + 32 * k + PREFETCH_BYTES, _MM_HINT_T0);
        _mm512_storeu_ps(wide + 64 * k, load_floats(dtype, panel + 32 * k));
    }
}

static void widen_f16(const unsigned char *panel, int32_t n_columns, unsigned char *wide)
{
    widen(DTYPE_F16, panel, n_columns, wide);
}
static void widen_bf16(const unsigned char *panel, int32_t n_columns, unsigned char *wide)
{
    widen(DTYPE_BF16, panel, n_columns, wide);
}

/* Returns 16 values of F8_E4M3, divided by 256. A byte's sign goes to the top of its word, and the
 * other bits to the place of a half's exponent and mantissa. */
INLINE __m512 load_f8(const unsigned char *p)
{
    __m256i words = _mm256_cvtepi8_epi16(_mm_loadu_si128((const void *)p));
    words = _mm256_and_si256(_mm256_slli_epi16(words, 7), _mm256_set1_epi16((short)0xBFFF));
    return _mm512_cvtph_ps(words);
}

/* Multiplies R rows with P panels of F8_E4M3. */
INLINE void f8_rows(const struct cpu_tile *tile, int32_t row, int32_t panel, const int R,
                    const int P)
{
    const size_t panel_bytes = tile->panel_bytes;
    const unsigned char *w = tile->panels + (size_t)panel * panel_bytes;
    struct rows rows = rows_of(tile, row, R);
    float *out = tile->out + (row * CPU_TILE_PANELS + panel) * CPU_PANEL;
    __m512 acc[R_MAX][P_MAX];
    EACH(int r = 0; r < R; r++)
        EACH(int p = 0; p < P; p++)
            acc[r][p] = tile->is_continued
                            ? _mm512_loadu_ps(out + (r * CPU_TILE_PANELS + p) * CPU_PANEL)
                            : _mm512_setzero_ps();
    for (int32_t k = 0; k < tile->n_columns; k += CPU_F8_UNIT) {
        __m512 scales[P_MAX];
        EACH(int p = 0; p < P; p++)
            scales[p] = _mm512_loadu_ps(w + (size_t)p * panel_bytes);
        w += CPU_F8_HEAD;
        for (int i = 0; i < CPU_F8_UNIT; i += 4, w += 4 * CPU_PANEL) {
            EACH(int p = 0; p < P; p++)
                _mm_prefetch((const char *)w + (size_t)p * panel_bytes + PREFETCH_BYTES,
                             _MM_HINT_T0);
            EACH(int j = 0; j < 4; j++) {
                __m512 weights[P_MAX];
                EACH(int p = 0; p < P; p++)
                    weights[p] = _mm512_mul_ps(load_f8(w + (size_t)p * panel_bytes + j * CPU_PANEL),
                                               scales[p]);
                EACH(int r = 0; r < R; r++) {
                    const float *x = rows.x[r / 3] + (size_t)(r % 3) * rows.stride;
                    __m512 value = _mm512_set1_ps(x[j]);
                    EACH(int p = 0; p < P; p++) {
                        acc[r][p] = _mm512_fmadd_ps(weights[p], value, acc[r][p]);
                        __asm__ volatile("" : "+v"(acc[r][p])); /* stays in its register */
                    }
                }
            }
            __asm__ volatile("" : "+r"(rows.stride)); /* addresses are not kept in memory */
            EACH(int r = 0; r < (R + 2) / 3; r++)
                rows.x[r] += 4;
        }
    }
    EACH(int r = 0; r < R; r++)
        EACH(int p = 0; p < P; p++)
            _mm512_storeu_ps(out + (r * CPU_TILE_PANELS + p) * CPU_PANEL, acc[r][p]);
}

/* Rows in groups of nearly equal size. */
INLINE void f8_groups(const struct cpu_tile *tile, int32_t panel, const int P)
{
    const int r_max = P == P_MAX ? R_BY_FOUR : R_MAX;
    int32_t n_groups = (tile->n_rows + r_max - 1) / r_max;
    for (int32_t i = 0; i < n_groups; i++) {
        int32_t row = tile->n_rows * i / n_groups;
        int32_t n = tile->n_rows * (i + 1) / n_groups - row;
        EACH(int r = 1; r <= r_max; r++)
            if (r == n)
                f8_rows(tile, row, panel, r, P);
    }
}

static void matmul_f8(const struct cpu_tile *tile)
{
    int32_t panel = 0;
    for (; tile->n_rows <= R_BY_FOUR && panel + 4 <= tile->n_panels; panel += 4)
        f8_groups(tile, panel, 4);
    for (; panel + 2 <= tile->n_panels; panel += 2)
        f8_groups(tile, panel, 2);
    for (; panel < tile->n_panels; panel++)
        f8_groups(tile, panel, 1);
}

static void widen_f8(const unsigned char *panel, int32_t n_columns, unsigned char *wide)
{
    for (int32_t k = 0; k < n_columns; k += CPU_F8_UNIT, panel += CPU_F8_BYTES) {
        __m512 scales = _mm512_loadu_ps(panel);
        for (int i = 0; i < CPU_F8_UNIT; i++, wide += 64) {
            const unsigned char *from = panel + CPU_F8_HEAD + CPU_PANEL * i;
            _mm_prefetch((const char *)from + PREFETCH_BYTES, _MM_HINT_T0);
            _mm512_storeu_ps(wide, _mm512_mul_ps(load_f8(from), scales));
        }
    }
}

/* The floats of AVX-512's table. Wide halves and wide F8_E4M3 are floats. */
const struct cpu_kernels cpu_avx512_float = {
    .name = "cpu-avx512",
    .matmul = {
        [DTYPE_F32] = matmul_f32, [DTYPE_F16] = matmul_f16, [DTYPE_BF16] = matmul_bf16,
        [DTYPE_F8_E4M3] = matmul_f8,
    },
    .widen = { [DTYPE_F16] = widen_f16, [DTYPE_BF16] = widen_bf16, [DTYPE_F8_E4M3] = widen_f8 },
    .wide_rows_min = { [DTYPE_F16] = CPU_TILE_ROWS + 1, [DTYPE_BF16] = CPU_TILE_ROWS + 1,
                       [DTYPE_F8_E4M3] = CPU_MANY_ROWS },
    .matmul_wide = { [DTYPE_F16] = matmul_f32, [DTYPE_BF16] = matmul_f32,
                     [DTYPE_F8_E4M3] = matmul_f32 },
};
