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
