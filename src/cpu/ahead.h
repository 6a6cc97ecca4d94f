/* Prefetching by the kernels for wide panels while they compute. */
#pragma once
#include "cpu/kernels.h"

#include <immintrin.h>

#define CPU_AHEAD_INLINE static inline __attribute__((always_inline))

/* Fetches at once the place where the sums of R rows and P panels will go. */
CPU_AHEAD_INLINE void cpu_fetch_target(const struct cpu_tile *tile, int32_t row, int32_t panel,
                                       const int R, const int P)
{
    for (int r = 0; r < R; r++) {
        const float *to = tile->target + (size_t)(row + r) * tile->target_stride;
        for (int p = 0; p < P; p++)
            _mm_prefetch((const char *)(to + (panel + p) * CPU_PANEL), _MM_HINT_T0);
    }
}

/* Returns how many lines R rows and P panels of a wide tile fetch for each block: their part of the
 * panels ahead, from *ahead on. It also fetches at once the place where their sums will go. */
CPU_AHEAD_INLINE int32_t cpu_fetch_ahead(const struct cpu_tile *tile, int32_t row, int32_t panel,
                                         const int R, const int P, const char **ahead)
{
    if (tile->target != NULL)
        cpu_fetch_target(tile, row, panel, R, P);
    if (tile->ahead == NULL)
        return 0;
    size_t from = tile->ahead_bytes * (size_t)row / (size_t)tile->n_rows;
    *ahead = (const char *)tile->ahead + (size_t)panel * tile->ahead_stride + from;
    int32_t lines = tile->n_rows * (tile->n_columns / 32) * 64;
    return ((int32_t)tile->ahead_bytes * R + lines - 1) / lines;
}
