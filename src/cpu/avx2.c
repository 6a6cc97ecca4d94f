/* Kernels for AVX2 with FMA and F16C: rows. avx2_matmul.c and avx2_attend.c have the others. */
#include "cpu/lanes.h"

#include <immintrin.h>

static void to_half(const float *x, int32_t n, uint16_t *out)
{
    int32_t i = 0;
    for (; i + 8 <= n; i += 8)
        _mm_storeu_si128((void *)(out + i),
                         _mm256_cvtps_ph(_mm256_loadu_ps(x + i), _MM_FROUND_TO_NEAREST_INT));
    for (; i < n; i++)
        out[i] = half_from_float(x[i]);
}

const struct cpu_kernels cpu_avx2 = {
    .name = "cpu-avx2",
    .norm = lanes_norm,
    .rotate_halves = lanes_rotate_halves,
    .rotate_pairs = lanes_rotate_pairs,
    .act = lanes_act,
    .multiply = lanes_multiply,
    .cap = lanes_cap,
    .swiglu_clamped = lanes_swiglu_clamped,
    .add = lanes_add,
    .add_scaled = lanes_add_scaled,
    .scale = lanes_scale,
    .to_half = to_half,
    .merge = lanes_merge,
    .draw = &cpu_avx2_draw,
};
