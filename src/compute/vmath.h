/* The functions of activations, in float, by definition: the same operations in the same order on
 * every machine, so that every instruction set agrees bit for bit.
 *
 * They are polynomials by fused multiply-add, with selects instead of branches, so compilers turn
 * loops over them into vector code. The C library's exp and similar functions are not used. A NaN
 * argument gives NaN. */
#pragma once
#include "base/base.h"

static inline float vmath_of_bits(uint32_t bits)
{
    union {
        uint32_t u;
        float f;
    } x = { .u = bits };
    return x.f;
}
static inline uint32_t vmath_bits(float value)
{
    union {
        float f;
        uint32_t u;
    } x = { .f = value };
    return x.u;
}

/* Returns a * b + c, rounded once. */
static inline float vmath_fma(float a, float b, float c)
{
    return __builtin_fmaf(a, b, c);
}

/* Returns NaN for a number that is not finite. */
static inline float vmath_finite(float x)
{
    return vmath_fma(x, 0.0f, x);
}

/* Returns e^x, within 2 units in the last place; 0 below -87.3 (no subnormal results), infinity
 * above 88. x = n ln 2 + r with |r| <= ln 2 / 2; the polynomial of e^r is Cephes' expf. */
static inline float vmath_exp(float x)
{
    const float shift = 12582912.0f; /* 1.5 * 2^23: adding it rounds to an integer */
    float t = vmath_fma(x, 1.44269504f, shift);
    float n = t - shift;
    float r = vmath_fma(n, -0.693359375f, x);
    r = vmath_fma(n, 2.12194440e-4f, r);
    float p = 1.9875691500e-4f;
    p = vmath_fma(p, r, 1.3981999507e-3f);
    p = vmath_fma(p, r, 8.3334519073e-3f);
    p = vmath_fma(p, r, 4.1665795894e-2f);
    p = vmath_fma(p, r, 1.6666665459e-1f);
    p = vmath_fma(p, r, 5.0000001201e-1f);
    p = vmath_fma(p, r * r, r) + 1.0f;
    /* t has n in its low bits, which become the exponent of 2^n. */
    float y = p * vmath_of_bits((vmath_bits(t) << 23) + 0x3F800000u);
    y = x < -87.3f ? 0.0f : y;
    return x > 88.0f ? vmath_of_bits(0x7F800000u) : y;
}

static inline float vmath_silu(float x)
{
    return x / (1.0f + vmath_exp(-x));
}

/* Returns x (1 + tanh u) / 2 = x / (1 + e^(-2u)), u = sqrt(2 / pi) (x + 0.044715 x^3), without the
 * cancellation of 1 + tanh. */
static inline float vmath_gelu_tanh(float x)
{
    float u = vmath_fma(x * x, 0.044715f * 0.79788456f, 0.79788456f) * x;
    return x / (1.0f + vmath_exp(-2.0f * u));
}

/* Returns x Phi(x). Phi is by Abramowitz and Stegun 7.1.26, |error| < 1.5e-7 in erf. */
static inline float vmath_gelu_erf(float x)
{
    float a = vmath_of_bits(vmath_bits(x) & 0x7FFFFFFFu) * 0.70710678f;
    float t = 1.0f / vmath_fma(0.3275911f, a, 1.0f);
    float p = 1.061405429f;
    p = vmath_fma(p, t, -1.453152027f);
    p = vmath_fma(p, t, 1.421413741f);
    p = vmath_fma(p, t, -0.284496736f);
    p = vmath_fma(p, t, 0.254829592f);
    float tail = 0.5f * (p * t) * vmath_exp(-a * a); /* Phi(-|x|) */
    return x * (x < 0.0f ? tail : 1.0f - tail);
}

/* Returns tanh x = (1 - e) / (1 + e) with e = e^(-2 |x|), with the sign of x; near 0 the
 * polynomial of Cephes' tanhf. */
static inline float vmath_tanh(float x)
{
    float a = vmath_of_bits(vmath_bits(x) & 0x7FFFFFFFu), s = x * x;
    float e = vmath_exp(-2.0f * a), big = (1.0f - e) / (1.0f + e);
    float p = -5.70498872745e-3f;
    p = vmath_fma(p, s, 2.06390887954e-2f);
    p = vmath_fma(p, s, -5.37397155531e-2f);
    p = vmath_fma(p, s, 1.33314422036e-1f);
    p = vmath_fma(p, s, -3.33332819422e-1f);
    float small = vmath_fma(p * s, a, a);
    float y = a < 0.625f ? small : big;
    return x < 0.0f ? -y : y;
}

static inline float vmath_cap(float x, float cap)
{
    return vmath_tanh(x / cap) * cap;
}

/* Returns x sigmoid(1.702 x) (y + 1), with x at most the limit and y at most the limit from 0
 * (gpt-oss). */
static inline float vmath_swiglu_clamped(float x, float y, float limit)
{
    x = x > limit ? limit : x;
    y = y > limit ? limit : y;
    y = y < -limit ? -limit : y;
    return x / (1.0f + vmath_exp(-1.702f * x)) * (y + 1.0f);
}

static inline float vmath_relu(float x)
{
    return x < 0.0f ? 0.0f : x;
}

/* Returns the sum of 16 partial sums, folded by halves: 8, 4, 2, 1. */
static inline float vmath_fold16(const float partial[16])
{
    float s[8];
    for (int i = 0; i < 8; i++)
        s[i] = partial[i] + partial[i + 8];
    for (int i = 0; i < 4; i++)
        s[i] += s[i + 4];
    for (int i = 0; i < 2; i++)
        s[i] += s[i + 2];
    return s[0] + s[1];
}

/* Computes sine and cosine of an angle of at most 2^20 radians either way, rounded from a double
 * that is accurate to about 1e-13; both are NaN for other angles. Tables of the rotation are made
 * with it, once a pass. */
void vmath_sincos(double angle, float *sine, float *cosine);
