/* Weights of floats with AVX-512 on AMD's processors from Zen 4 on.
 *
 * Lines are fetched once, into the second-level cache (zen4_matmul.c). Halves become floats in
 * registers for any number of rows. A conversion takes the product units half a cycle. With it, six
 * rows by four panels need fewer loads for the same number of products than panels that were
 * converted to floats. */
#include "cpu/avx512_floats.h"

enum { FAR = 2048, LONE = 1024 };

static const struct float_walk of_halves = { FAR, LONE, false, CPU_TILE_ROWS };
static const struct float_walk of_floats = { FAR, LONE, false, R_BY_FOUR };
static const struct float_walk of_many = { FAR, FAR, true, R_BY_FOUR };

static void matmul_f16(const struct cpu_tile *tile)
{
    matmul_float(tile, of_halves, DTYPE_F16);
}
static void matmul_bf16(const struct cpu_tile *tile)
{
    matmul_float(tile, of_halves, DTYPE_BF16);
}
/* With more rows floats are read slowly enough for the first-level cache. */
static void matmul_f32(const struct cpu_tile *tile)
{
    if (tile->n_rows <= R_BY_FOUR)
        matmul_float(tile, of_floats, DTYPE_F32);
    else
        matmul_float(tile, of_many, DTYPE_F32);
}

/* The floats of zen4's table. */
const struct cpu_kernels cpu_zen4_float = {
    .matmul = {
        [DTYPE_F32] = matmul_f32, [DTYPE_F16] = matmul_f16, [DTYPE_BF16] = matmul_bf16,
    },
};
