/* Kernels in plain C over 16 lanes, compiled once per instruction set.
 *
 * The compiler's vectors are as wide as the including file permits, and the bits stay the same.
 * Nothing here may depend on an order that a vector changes: sums have 16 partial sums. */
#pragma once
#include "base/half.h"
#include "compute/quant.h"
#include "compute/vmath.h"
#include "cpu/kernels.h"
#include <string.h>

static inline void lanes_act(int act, float *x, int32_t n)
{
    switch (act) {
    case ACT_SILU:
        for (int32_t i = 0; i < n; i++)
            x[i] = vmath_silu(x[i]);
        return;
    case ACT_GELU_TANH:
        for (int32_t i = 0; i < n; i++)
            x[i] = vmath_gelu_tanh(x[i]);
        return;
    case ACT_GELU_ERF:
        for (int32_t i = 0; i < n; i++)
            x[i] = vmath_gelu_erf(x[i]);
        return;
    case ACT_TANH:
        for (int32_t i = 0; i < n; i++)
            x[i] = vmath_tanh(x[i]);
        return;
    default:
        for (int32_t i = 0; i < n; i++)
            x[i] = vmath_relu(x[i]);
    }
}

static inline void lanes_multiply(const float *x, float *out, int32_t n)
{
    for (int32_t i = 0; i < n; i++)
        out[i] *= x[i];
}

static inline void lanes_cap(float cap, float *x, int32_t n)
{
    for (int32_t i = 0; i < n; i++)
        x[i] = vmath_cap(x[i], cap);
}

static inline void lanes_swiglu_clamped(const float *up, float limit, float *x, int32_t n)
{
    for (int32_t i = 0; i < n; i++)
        x[i] = vmath_swiglu_clamped(x[i], up[i], limit);
}

static inline void lanes_add(const float *x, float *out, int32_t n)
{
    for (int32_t i = 0; i < n; i++)
        out[i] += x[i];
}

static inline void lanes_scale(const float *x, float by, float *out, int32_t n)
{
    for (int32_t i = 0; i < n; i++)
        out[i] = x[i] * by;
}

static inline void lanes_add_scaled(const float *x, float by, float *out, int32_t n)
{
    for (int32_t i = 0; i < n; i++)
        out[i] = vmath_fma(by, x[i], out[i]);
}

static inline void lanes_merge(const struct cpu_part *to, const struct cpu_part *from, int32_t n)
{
    float top = *to->max > *from->max ? *to->max : *from->max;
    float a = vmath_exp(*to->max - top), b = vmath_exp(*from->max - top);
    float *out = to->out;
    const float *other = from->out;
    for (int32_t i = 0; i < n; i++)
        out[i] = vmath_fma(other[i], b, out[i] * a);
    *to->sum = vmath_fma(*from->sum, b, *to->sum * a);
    *to->max = top;
}

static inline float lanes_sum(const float *x, int32_t n)
{
    float partial[16] = { 0 };
    int32_t i = 0;
    for (; i + 16 <= n; i += 16)
        for (int32_t j = 0; j < 16; j++)
            partial[j] += x[i + j];
    for (int32_t j = 0; i + j < n; j++)
        partial[j] += x[i + j];
    return vmath_fold16(partial);
}

/* The sum of (x - mean)^2. */
static inline float lanes_squares(const float *x, float mean, int32_t n)
{
    float partial[16] = { 0 };
    int32_t i = 0;
    for (; i + 16 <= n; i += 16)
        for (int32_t j = 0; j < 16; j++) {
            float t = x[i + j] - mean;
            partial[j] = vmath_fma(t, t, partial[j]);
        }
    for (int32_t j = 0; i + j < n; j++) {
        float t = x[i + j] - mean;
        partial[j] = vmath_fma(t, t, partial[j]);
    }
    return vmath_fold16(partial);
}

static inline void lanes_norm(const struct cpu_norm *norm, const float *x, float *out)
{
    int32_t n = norm->n;
    float mean = norm->is_layer ? lanes_sum(x, n) / (float)n : 0.0f; /* x - 0 is x */
    float square = lanes_squares(x, mean, n) / (float)n;
    float inverse = 1.0f / __builtin_sqrtf(square + norm->epsilon);
    const float *weight = norm->weight, *bias = norm->bias;
    if (bias == NULL)
        for (int32_t i = 0; i < n; i++)
            out[i] = (x[i] - mean) * inverse * weight[i];
    else
        for (int32_t i = 0; i < n; i++)
            out[i] = vmath_fma((x[i] - mean) * inverse, weight[i], bias[i]);
}

static inline void lanes_rotate_halves(float *x, const float *table, int32_t n_half)
{
    float *y = x + n_half;
    const float *sines = table + n_half;
    for (int32_t i = 0; i < n_half; i++) {
        float a = x[i], b = y[i];
        x[i] = vmath_fma(a, table[i], -(b * sines[i]));
        y[i] = vmath_fma(b, table[i], a * sines[i]);
    }
}

static inline void lanes_rotate_pairs(float *x, const float *table, int32_t n_half)
{
    const float *sines = table + n_half;
    for (int32_t i = 0; i < n_half; i++) {
        float a = x[2 * i], b = x[2 * i + 1];
        x[2 * i] = vmath_fma(a, table[i], -(b * sines[i]));
        x[2 * i + 1] = vmath_fma(b, table[i], a * sines[i]);
    }
}

static inline float lanes_softmax(float *s, int32_t first, int32_t last, float *max)
{
    const float none = vmath_of_bits(0xFF800000u); /* -infinity */
    float top = s[first], partial[16] = { 0 };
    int32_t from = first & ~15, to = last | 15;
    for (int32_t i = from; i < first; i++)
        s[i] = none;
    for (int32_t i = last + 1; i <= to; i++)
        s[i] = none;
    float tops[16];
    for (int32_t j = 0; j < 16; j++)
        tops[j] = s[from + j];
    for (int32_t i = from + 16; i <= to; i += 16)
        for (int32_t j = 0; j < 16; j++)
            tops[j] = s[i + j] > tops[j] ? s[i + j] : tops[j];
    for (int32_t j = 0; j < 16; j++)
        top = tops[j] > top ? tops[j] : top;
    for (int32_t i = from; i <= to; i += 16)
        for (int32_t j = 0; j < 16; j++) {
            s[i + j] = vmath_exp(s[i + j] - top);
            partial[j] += s[i + j];
        }
    *max = top;
    return vmath_fold16(partial);
}
