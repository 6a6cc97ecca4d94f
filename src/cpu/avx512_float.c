/* Matrix multiplication for AVX-512 with weights of floats: a panel's 16 outputs are one register.
 *
 * Two units multiply and add 16 floats each a cycle, and turn halves into floats as well. Few rows
 * take halves in registers, where memory is the limit; many rows meet panels that were made floats
 * once (wide). Broadcasts of activations come from memory, which costs loads alone. */
#include "cpu/avx512.h"

/* Bytes ahead, measured by bench/kernels. */
enum { PREFETCH_BYTES = 2048, R_MAX = 12, P_MAX = 4 };

/* Where a group of rows fetches what will be read soon: every group has its part of the lines. */
struct ahead {
    const unsigned char *at;
    size_t step; /* for each line of its own panel */
};

struct rows { /* of activations, three to a pointer, so that addresses have a factor of 2 at most */
    const float *x[R_MAX / 3];
    size_t stride;
};

INLINE struct rows rows_of(const struct cpu_tile *tile, int32_t row, const int R)
{
    struct rows rows = { .stride = tile->x_stride };
    EACH(int i = 0; i < (R + 2) / 3; i++)
        rows.x[i] = tile->x + (size_t)(row + 3 * i) * tile->x_stride;
    return rows;
}

/* Columns k..k + n - 1, the first of which starts a line. */
INLINE void float_steps(const struct cpu_tile *tile, const unsigned char *w, struct rows *rows,
                        int n, struct ahead *ahead, enum dtype dtype, const int R, const int P,
                        __m512 acc[R_MAX][P_MAX])
{
    const int n_bytes = dtype == DTYPE_F32 ? 64 : 32; /* of a column */
    EACH(int i = 0; i < n; i++) {
        __m512 weights[P_MAX];
        EACH(int p = 0; p < P; p++) {
            size_t from = (size_t)p * tile->panel_bytes;
            if (i * n_bytes % 64 == 0)
                _mm_prefetch((const char *)ahead->at + from, _MM_HINT_T0);
            weights[p] = load_floats(dtype, w + from + i * n_bytes);
        }
        if (i * n_bytes % 64 == 0)
            ahead->at += ahead->step;
        EACH(int r = 0; r < R; r++) {
            const float *x = rows->x[r / 3] + (size_t)(r % 3) * rows->stride;
            __m512 value = _mm512_set1_ps(x[i]);
            EACH(int p = 0; p < P; p++) {
                acc[r][p] = _mm512_fmadd_ps(weights[p], value, acc[r][p]);
                __asm__ volatile("" : "+v"(acc[r][p])); /* the sum stays in its register */
            }
        }
    }
    __asm__ volatile("" : "+r"(rows->stride)); /* and addresses are not kept in memory */
    EACH(int i = 0; i < (R + 2) / 3; i++)
        rows->x[i] += n;
}

/* R rows against P panels: R * P independent sums. */
INLINE void float_rows(const struct cpu_tile *tile, int32_t row, int32_t panel, struct ahead ahead,
                       enum dtype dtype, const int R, const int P)
{
    const size_t n_bytes = dtype == DTYPE_F32 ? 64 : 32;
    const unsigned char *w = tile->panels + (size_t)panel * tile->panel_bytes;
    struct rows rows = rows_of(tile, row, R);
    float *out = tile->out + (row * CPU_TILE_PANELS + panel) * CPU_PANEL;
    __m512 acc[R_MAX][P_MAX];
    EACH(int r = 0; r < R; r++)
        EACH(int p = 0; p < P; p++)
            acc[r][p] = tile->is_continued
                            ? _mm512_loadu_ps(out + (r * CPU_TILE_PANELS + p) * CPU_PANEL)
                            : _mm512_setzero_ps();
    int32_t k = 0;
    for (; k + 2 <= tile->n_columns; k += 2, w += 2 * n_bytes)
        float_steps(tile, w, &rows, 2, &ahead, dtype, R, P, acc);
    if (k < tile->n_columns)
        float_steps(tile, w, &rows, 1, &ahead, dtype, R, P, acc);
    EACH(int r = 0; r < R; r++)
        EACH(int p = 0; p < P; p++)
            _mm512_storeu_ps(out + (r * CPU_TILE_PANELS + p) * CPU_PANEL, acc[r][p]);
}

/* P panels with all rows, in groups as even as can be. One group fetches ahead in its panels, many
 * share in fetching the next panels of halves. (Floats are in a cache when many rows meet them.) */
INLINE void float_groups(const struct cpu_tile *tile, int32_t panel, enum dtype dtype, const int P)
{
    int32_t n_groups = (tile->n_rows + R_MAX - 1) / R_MAX;
    const unsigned char *w = tile->panels + (size_t)panel * tile->panel_bytes;
    struct ahead ahead = { w + PREFETCH_BYTES, 64 };
    for (int32_t i = 0; i < n_groups; i++) {
        int32_t row = tile->n_rows * i / n_groups;
        int32_t n = tile->n_rows * (i + 1) / n_groups - row;
        if (n_groups > 1 && dtype == DTYPE_F32) {
            ahead = i == 0 ? ahead : (struct ahead){ w, 0 };
        } else if (n_groups > 1) {
            ahead.at = w + (size_t)P * tile->panel_bytes +
                       tile->panel_bytes * (size_t)i / (size_t)n_groups;
            ahead.step = (size_t)(64 / n_groups);
        }
        EACH(int r = 1; r <= R_MAX; r++)
            if (r == n && (P < P_MAX || r <= R_MAX / 2))
                float_rows(tile, row, panel, ahead, dtype, r, P);
    }
}

/* As many panels at a time as have registers. */
INLINE void matmul_float(const struct cpu_tile *tile, enum dtype dtype)
{
    int32_t panel = 0;
    for (; tile->n_rows <= R_MAX / 2 && panel + 4 <= tile->n_panels; panel += 4)
        float_groups(tile, panel, dtype, 4);
    for (; panel + 2 <= tile->n_panels; panel += 2)
        float_groups(tile, panel, dtype, 2);
    for (; panel < tile->n_panels; panel++)
        float_groups(tile, panel, dtype, 1);
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

/* The floats of AVX-512's table. Wide halves are floats. */
const struct cpu_kernels cpu_avx512_float = {
    .name = "cpu-avx512",
    .matmul = {
        [DTYPE_F32] = matmul_f32, [DTYPE_F16] = matmul_f16, [DTYPE_BF16] = matmul_bf16,
    },
    .widen = { [DTYPE_F16] = widen_f16, [DTYPE_BF16] = widen_bf16 },
    .wide_rows_min = { [DTYPE_F16] = CPU_TILE_ROWS + 1, [DTYPE_BF16] = CPU_TILE_ROWS + 1 },
    .matmul_wide = { [DTYPE_F16] = matmul_f32, [DTYPE_BF16] = matmul_f32 },
};
