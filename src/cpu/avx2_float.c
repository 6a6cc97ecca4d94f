/* Matrix multiplication for AVX2 with weights of floats. A column of a panel is two registers.
 * Halves are converted anew for each part of the rows. */
#include "cpu/avx2.h"

/* Loads a column of a panel of any float type. BFloat16s become floats by a shift and a mask, which
 * gives the even outputs first, then the odd ones. float_start and float_stop handle that order. */
INLINE void load_floats(enum dtype dtype, const unsigned char *p, __m256 w[2])
{
    if (dtype == DTYPE_F32) {
        w[0] = _mm256_loadu_ps((const float *)(const void *)p);
        w[1] = _mm256_loadu_ps((const float *)(const void *)p + 8);
    } else if (dtype == DTYPE_F16) {
        w[0] = load_half(p);
        w[1] = load_half(p + 16);
    } else {
        __m256i pairs = _mm256_loadu_si256((const void *)p);
        w[0] = _mm256_castsi256_ps(_mm256_slli_epi32(pairs, 16));
        w[1] = _mm256_castsi256_ps(_mm256_and_si256(pairs, _mm256_set1_epi32(-65536)));
    }
}

INLINE void float_start(const struct cpu_tile *tile, enum dtype dtype, const float *out,
                        __m256 acc[2])
{
    start(tile, out, acc);
    if (dtype != DTYPE_BF16)
        return;
    __m256 low = _mm256_permute2f128_ps(acc[0], acc[1], 0x20);
    __m256 high = _mm256_permute2f128_ps(acc[0], acc[1], 0x31);
    acc[0] = _mm256_shuffle_ps(low, high, 0x88);
    acc[1] = _mm256_shuffle_ps(low, high, 0xDD);
}

INLINE void float_stop(enum dtype dtype, __m256 acc[2], float *out)
{
    if (dtype == DTYPE_BF16) {
        __m256 low = _mm256_unpacklo_ps(acc[0], acc[1]);
        __m256 high = _mm256_unpackhi_ps(acc[0], acc[1]);
        acc[0] = _mm256_permute2f128_ps(low, high, 0x20);
        acc[1] = _mm256_permute2f128_ps(low, high, 0x31);
    }
    stop(acc, out);
}

/* Column i behind w and x. */
INLINE void float_step(const struct cpu_tile *tile, const unsigned char *w, const float *x, int i,
                       enum dtype dtype, const int R, const int P, __m256 acc[R_MAX][4][2])
{
    const size_t n_bytes = dtype == DTYPE_F32 ? 4 : 2;
    const size_t stride = tile->x_stride;
    const float *x3 = x + 3 * stride; /* so that addresses have a factor of 2 at most */
    EACH(int p = 0; p < P; p++) {
        __m256 weights[2];
        load_floats(dtype, w + (size_t)p * tile->panel_bytes + (size_t)i * 16 * n_bytes, weights);
        EACH(int r = 0; r < R; r++) {
            const float *from = (r < 3 ? x : x3) + (size_t)(r % 3) * stride + i;
            __m256 value = _mm256_broadcast_ss(from);
            acc[r][p][0] = _mm256_fmadd_ps(weights[0], value, acc[r][p][0]);
            acc[r][p][1] = _mm256_fmadd_ps(weights[1], value, acc[r][p][1]);
        }
    }
}

/* Multiplies R rows, the i-th of n parts, with P panels: R * P * 2 independent sums, at most 12. */
INLINE void float_rows(const struct cpu_tile *tile, int32_t row, int32_t panel, int32_t part,
                       int32_t n_parts, enum dtype dtype, const int R, const int P)
{
    enum { BLOCK = 4 };
    const size_t n_bytes = dtype == DTYPE_F32 ? 4 : 2;
    const int n_lines = BLOCK * CPU_PANEL * (int)n_bytes / 64;
    const unsigned char *w = tile->panels + (size_t)panel * tile->panel_bytes;
    const float *x = tile->x + (size_t)row * tile->x_stride;
    float *out = tile->out + (row * CPU_TILE_PANELS + panel) * CPU_PANEL;
    int32_t n_blocks = tile->n_columns / BLOCK;
    struct ahead ahead = ahead_of(tile, panel, (size_t)n_blocks * BLOCK * CPU_PANEL * n_bytes,
                                  max_i32(n_blocks, 1), part, n_parts);
    __m256 acc[R_MAX][4][2];
    EACH(int r = 0; r < R; r++)
        EACH(int p = 0; p < P; p++)
            float_start(tile, dtype, out + (r * CPU_TILE_PANELS + p) * CPU_PANEL, acc[r][p]);
    for (int32_t i = 0; i < n_blocks; i++, x += BLOCK, w += BLOCK * CPU_PANEL * n_bytes) {
        EACH(int p = 0; p < P; p++)
            EACH(int line = 0; line < n_lines; line++)
                _mm_prefetch(ahead.at + (size_t)p * tile->panel_bytes + (size_t)line * ahead.step,
                             _MM_HINT_T0);
        ahead.at += ahead.block_bytes;
        EACH(int j = 0; j < BLOCK; j++)
            float_step(tile, w, x, j, dtype, R, P, acc);
    }
    for (int32_t k = n_blocks * BLOCK; k < tile->n_columns; k++, x++, w += CPU_PANEL * n_bytes)
        float_step(tile, w, x, 0, dtype, R, P, acc);
    EACH(int r = 0; r < R; r++)
        EACH(int p = 0; p < P; p++)
            float_stop(dtype, acc[r][p], out + (r * CPU_TILE_PANELS + p) * CPU_PANEL);
}

/* Multiplies all panels of the tile with its R rows, P panels at a time. */
INLINE void float_panels(const struct cpu_tile *tile, enum dtype dtype, const int R, const int P)
{
    int32_t panel = 0;
    for (; panel + P <= tile->n_panels; panel += P)
        float_rows(tile, 0, panel, 0, 1, dtype, R, P);
    for (; panel < tile->n_panels; panel++)
        float_rows(tile, 0, panel, 0, 1, dtype, R, 1);
}

/* Splits rows into parts of nearly equal size. A panel stays in the first-level cache while all
 * parts use it. */
INLINE void float_parts(const struct cpu_tile *tile, enum dtype dtype)
{
    int32_t n_parts = (tile->n_rows + R_MAX - 1) / R_MAX;
    for (int32_t panel = 0; panel < tile->n_panels; panel++)
        for (int32_t i = 0; i < n_parts; i++) {
            int32_t row = tile->n_rows * i / n_parts;
            switch (tile->n_rows * (i + 1) / n_parts - row) {
            case 3:
                float_rows(tile, row, panel, i, n_parts, dtype, 3, 1);
                break;
            case 4:
                float_rows(tile, row, panel, i, n_parts, dtype, 4, 1);
                break;
            case 5:
                float_rows(tile, row, panel, i, n_parts, dtype, 5, 1);
                break;
            default:
                float_rows(tile, row, panel, i, n_parts, dtype, 6, 1);
            }
        }
}

INLINE void matmul_float(const struct cpu_tile *tile, enum dtype dtype)
{
    switch (tile->n_rows) {
    case 1:
        float_panels(tile, dtype, 1, 4);
        break;
    case 2:
        float_panels(tile, dtype, 2, 2);
        break;
    case 3:
        float_panels(tile, dtype, 3, 2);
        break;
    default:
        float_parts(tile, dtype);
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

/* Returns 8 values of F8_E4M3, divided by 256. A byte's sign goes to the top of its word, and the
 * other bits to the place of a half's exponent and mantissa. */
INLINE __m256 load_f8(const unsigned char *p)
{
    __m128i words = _mm_cvtepi8_epi16(_mm_loadl_epi64((const void *)p));
    words = _mm_and_si128(_mm_slli_epi16(words, 7), _mm_set1_epi16((short)0xBFFF));
    return _mm256_cvtph_ps(words);
}

/* Multiplies R rows with P panels of F8_E4M3. */
INLINE void f8_rows(const struct cpu_tile *tile, int32_t row, int32_t panel, const int R,
                    const int P)
{
    const size_t panel_bytes = tile->panel_bytes, stride = tile->x_stride;
    const unsigned char *w = tile->panels + (size_t)panel * panel_bytes;
    const float *x = tile->x + (size_t)row * stride;
    float *out = tile->out + (row * CPU_TILE_PANELS + panel) * CPU_PANEL;
    __m256 acc[R_MAX][4][2];
    EACH(int r = 0; r < R; r++)
        EACH(int p = 0; p < P; p++)
            start(tile, out + (r * CPU_TILE_PANELS + p) * CPU_PANEL, acc[r][p]);
    for (int32_t k = 0; k < tile->n_columns; k += CPU_F8_UNIT) {
        const float *scales = (const float *)(const void *)w;
        w += CPU_F8_HEAD;
        for (int i = 0; i < CPU_F8_UNIT; i++, w += CPU_PANEL, x++) {
            EACH(int p = 0; p < P; p++) {
                const unsigned char *from = w + (size_t)p * panel_bytes;
                const float *scale = scales + (size_t)p * (panel_bytes / sizeof(float));
                _mm_prefetch((const char *)from + PREFETCH_FEW_BYTES, _MM_HINT_T0);
                EACH(int half = 0; half < 2; half++) {
                    __m256 weights =
                        _mm256_mul_ps(load_f8(from + 8 * half), _mm256_loadu_ps(scale + 8 * half));
                    EACH(int r = 0; r < R; r++)
                        acc[r][p][half] = _mm256_fmadd_ps(
                            weights, _mm256_broadcast_ss(x + (size_t)r * stride), acc[r][p][half]);
                }
            }
        }
    }
    EACH(int r = 0; r < R; r++)
        EACH(int p = 0; p < P; p++)
            stop(acc[r][p], out + (r * CPU_TILE_PANELS + p) * CPU_PANEL);
}

/* Up to R_MAX rows; more than two take one panel at a time. */
static void matmul_f8(const struct cpu_tile *tile)
{
    int32_t n_parts = (tile->n_rows + R_MAX - 1) / R_MAX;
    int32_t panel = 0;
    for (; tile->n_rows <= 2 && panel + 2 <= tile->n_panels; panel += 2)
        if (tile->n_rows == 1)
            f8_rows(tile, 0, panel, 1, 2);
        else
            f8_rows(tile, 0, panel, 2, 2);
    for (; panel < tile->n_panels; panel++)
        for (int32_t i = 0; i < n_parts; i++) {
            int32_t row = tile->n_rows * i / n_parts;
            int32_t n = tile->n_rows * (i + 1) / n_parts - row;
            EACH(int r = 1; r <= R_MAX; r++)
                if (r == n)
                    f8_rows(tile, row, panel, r, 1);
        }
}

static void widen_f8(const unsigned char *panel, int32_t n_columns, unsigned char *wide)
{
    for (int32_t k = 0; k < n_columns; k += CPU_F8_UNIT, panel += CPU_F8_BYTES) {
        const float *scales = (const float *)(const void *)panel;
        const unsigned char *from = panel + CPU_F8_HEAD;
        for (int i = 0; i < 2 * CPU_F8_UNIT; i++, from += 8, wide += 32)
            _mm256_storeu_ps((float *)(void *)wide,
                             _mm256_mul_ps(load_f8(from), _mm256_loadu_ps(scales + 8 * (i % 2))));
    }
}

/* The floats of AVX2's table. Wide F8_E4M3 are floats. */
const struct cpu_kernels cpu_avx2_float = {
    .name = "cpu-avx2",
    .matmul = {
        [DTYPE_F32] = matmul_f32, [DTYPE_F16] = matmul_f16, [DTYPE_BF16] = matmul_bf16,
        [DTYPE_F8_E4M3] = matmul_f8,
    },
    .widen = { [DTYPE_F8_E4M3] = widen_f8 },
    .wide_rows_min = { [DTYPE_F8_E4M3] = CPU_MANY_ROWS },
    .matmul_wide = { [DTYPE_F8_E4M3] = matmul_f32 },
};
