/* Kernels for AVX-512 (F, BW, VL, DQ, VBMI) with VNNI: rows. avx512_matmul.c and avx512_float.c
 * have the matrices, avx512_attend.c has attention; what is in none of them is AVX2's. */
#include "cpu/lanes.h"

#include <immintrin.h>

static void to_half(const float *x, int32_t n, uint16_t *out)
{
    for (int32_t i = 0; i < n; i += 16) {
        __mmask16 mask = (__mmask16)((1u << min_i32(n - i, 16)) - 1);
        __m256i halves =
            _mm512_cvtps_ph(_mm512_maskz_loadu_ps(mask, x + i), _MM_FROUND_TO_NEAREST_INT);
        _mm256_mask_storeu_epi16(out + i, mask, halves);
    }
}

const struct cpu_kernels cpu_avx512 = {
    .name = "cpu-avx512",
    .norm = lanes_norm,
    .rotate_halves = lanes_rotate_halves,
    .rotate_pairs = lanes_rotate_pairs,
    .act = lanes_act,
    .multiply = lanes_multiply,
    .add = lanes_add,
    .scale = lanes_scale,
    .to_half = to_half,
    .merge = lanes_merge,
    .draw = &cpu_avx512_draw,
};
