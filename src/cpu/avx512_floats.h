/* Matrix multiplication with weights of floats, for the AVX-512 files that share it: a panel's 16
 * outputs are one register.
 *
 * Few rows convert halves in registers, since memory is the limit then. Broadcasts of activations
 * come from memory, which costs only loads. */
#pragma once
#include "cpu/avx512.h"

enum { R_MAX = 12, P_MAX = 4, R_BY_FOUR = R_MAX * 2 / P_MAX };

/* Measured by bench/kernels. */
struct float_walk {
    int far, lone;    /* bytes ahead at which a line is fetched; for one or two rows */
    bool is_near;     /* into the first-level cache, else the second */
    int rows_by_four; /* up to this many rows meet four panels at a time, in groups of 6; more rows
                         two */
};

/* Prefetching by a group of rows. Every group fetches its part of the lines. */
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

/* Multiplies columns k..k + n - 1. The first of them starts a line. */
INLINE void float_steps(const struct cpu_tile *tile, const unsigned char *w, struct rows *rows,
                        int n, struct ahead *ahead, const struct float_walk walk, enum dtype dtype,
                        const int R, const int P, __m512 acc[R_MAX][P_MAX])
{
    const int n_bytes = dtype == DTYPE_F32 ? 64 : 32; /* of a column */
    EACH(int i = 0; i < n; i++) {
        __m512 weights[P_MAX];
        EACH(int p = 0; p < P; p++) {
            size_t from = (size_t)p * tile->panel_bytes;
            if (i * n_bytes % 64 == 0 && walk.is_near)
                _mm_prefetch((const char *)ahead->at + from, _MM_HINT_T0);
            else if (i * n_bytes % 64 == 0)
                _mm_prefetch((const char *)ahead->at + from, _MM_HINT_T1);
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
                       const struct float_walk walk, enum dtype dtype, const int R, const int P)
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
        float_steps(tile, w, &rows, 2, &ahead, walk, dtype, R, P, acc);
    if (k < tile->n_columns)
        float_steps(tile, w, &rows, 1, &ahead, walk, dtype, R, P, acc);
    EACH(int r = 0; r < R; r++)
        EACH(int p = 0; p < P; p++)
            _mm512_storeu_ps(out + (r * CPU_TILE_PANELS + p) * CPU_PANEL, acc[r][p]);
}

/* Multiplies P panels with all rows, in groups of nearly equal size. One group fetches ahead in its
 * panels. Many groups share in fetching the next panels of halves. (Floats are in a cache when many
 * rows use them.) */
INLINE void float_groups(const struct cpu_tile *tile, int32_t panel, const struct float_walk walk,
                         enum dtype dtype, const int P)
{
    const int r_max = P == P_MAX ? R_BY_FOUR : R_MAX;
    int32_t n_groups = (tile->n_rows + r_max - 1) / r_max;
    const unsigned char *w = tile->panels + (size_t)panel * tile->panel_bytes;
    struct ahead ahead = { w + (tile->n_rows <= 2 ? walk.lone : walk.far), 64 };
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
        EACH(int r = 1; r <= r_max; r++)
            if (r == n)
                float_rows(tile, row, panel, ahead, walk, dtype, r, P);
    }
}

/* Takes as many panels at a time as fit the registers. */
INLINE void matmul_float(const struct cpu_tile *tile, const struct float_walk walk,
                         enum dtype dtype)
{
    int32_t panel = 0;
    for (; tile->n_rows <= walk.rows_by_four && panel + 4 <= tile->n_panels; panel += 4)
        float_groups(tile, panel, walk, dtype, 4);
    for (; panel + 2 <= tile->n_panels; panel += 2)
        float_groups(tile, panel, walk, dtype, 2);
    for (; panel < tile->n_panels; panel++)
        float_groups(tile, panel, walk, dtype, 1);
}
