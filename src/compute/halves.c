/* Products of bfloat16, block by block. */
#include "compute/halves.h"

#include "base/half.h"
#include "compute/vmath.h"

enum { BLOCK = 32 };

/* Returns x, or 0 below 2^-126, since matrix units have no smaller floats. */
static float usual(float x)
{
    return __builtin_fabsf(x) < 0x1p-126f ? __builtin_copysignf(0.0f, x) : x;
}

/* Returns a weight of 16 bits cut off to a bfloat16. */
static float cut(float w)
{
    return vmath_of_bits(vmath_bits(w) & 0xFFFF0000u);
}

static float rounded(float x)
{
    return bf16_to_float(bf16_from_float(usual(x)));
}

static float add_block(float acc, const float *w, const float *x, int32_t n)
{
    float sums[2] = { 0, 0 };
    for (int32_t k = 0; k < n; k++)
        sums[k % 2] = usual(vmath_fma(usual(w[k]), usual(x[k]), sums[k % 2]));
    return usual(usual(acc) + usual(sums[0] + sums[1]));
}

float halves_add(float acc, const float *w, bool is_f16, const float *x, int32_t n)
{
    for (int32_t k = 0; k < n; k += BLOCK) {
        float w_high[BLOCK], w_low[BLOCK], x_high[BLOCK], x_low[BLOCK];
        int32_t n_block = n - k < BLOCK ? n - k : BLOCK;
        for (int32_t i = 0; i < n_block; i++) {
            w_high[i] = cut(w[k + i]);
            w_low[i] = w[k + i] - w_high[i];
            x_high[i] = rounded(x[k + i]);
            x_low[i] = rounded(x[k + i] - x_high[i]);
        }
        acc = add_block(acc, w_high, x_low, n_block);
        acc = add_block(acc, w_high, x_high, n_block);
        if (is_f16)
            acc = add_block(acc, w_low, x_high, n_block);
    }
    return acc;
}
