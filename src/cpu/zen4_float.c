/* Weights of floats with AVX-512 on AMD's processors from Zen 4 on.
 *
 * Lines are asked for once, into the second-level cache (zen4_matmul.c). Halves become floats in
 * registers however many rows meet them: it takes the units of products half a cycle, and six rows
 * by four panels want fewer loads for as many products than panels that were made floats. */
#include "cpu/avx512_floats.h"

enum { FAR = 2048, LONE = 1024 };

static void matmul_f16(const struct cpu_tile *tile)
{
    matmul_float(tile, (struct float_walk){ FAR, LONE, false, CPU_TILE_ROWS }, DTYPE_F16);
}
static void matmul_bf16(const struct cpu_tile *tile)
{
    matmul_float(tile, (struct float_walk){ FAR, LONE, false, CPU_TILE_ROWS }, DTYPE_BF16);
}
static void matmul_f32(const struct cpu_tile *tile)
{
    matmul_float(tile, (struct float_walk){ FAR, FAR, false, R_BY_FOUR }, DTYPE_F32);
}

/* The floats of zen4's table. */
const struct cpu_kernels cpu_zen4_float = {
    .matmul = {
        [DTYPE_F32] = matmul_f32, [DTYPE_F16] = matmul_f16, [DTYPE_BF16] = matmul_bf16,
    },
};
