/* Numbers that drawing is made of, with the bits of compute/draw_loops.h, base/num.c and
 * base/rng.c: each operation is rounded once, and FP contraction is off. */
#pragma once
#include "cuda/math.cuh"

#define DRAW_NEGLIGIBLE 20.5f /* COMPUTE_DRAW_NEGLIGIBLE */

/* e^x for x in [-DRAW_NEGLIGIBLE, 0]. */
__device__ __forceinline__ float draw_exp(float x)
{
    const float shift = 12582912.0f; /* 1.5 * 2^23: adding it rounds to an integer */
    float t = x * 1.44269504f + shift;
    float n = t - shift;
    float r = (x - n * 0.693359375f) + n * 2.12194440e-4f;
    float p = 1.9875691500e-4f;
    p = p * r + 1.3981999507e-3f;
    p = p * r + 8.3334519073e-3f;
    p = p * r + 4.1665795894e-2f;
    p = p * r + 1.6666665459e-1f;
    p = p * r + 5.0000001201e-1f;
    p = (p * (r * r) + r) + 1.0f;
    return p * math_bits<float>((math_bits<uint32_t>(t) << 23) + 0x3F800000u);
}

/* num_log of a positive, finite, normal x. */
__device__ __forceinline__ double draw_log(double x)
{
    const double pairs[6][2] = {
        { 1.0 / 23, 1.0 / 25 }, { 1.0 / 19, 1.0 / 21 }, { 1.0 / 15, 1.0 / 17 },
        { 1.0 / 11, 1.0 / 13 }, { 1.0 / 7, 1.0 / 9 },   { 1.0 / 3, 1.0 / 5 },
    };
    uint64_t bits = math_bits<uint64_t>(x);
    int k = static_cast<int>(bits >> 52) - 1023;
    double m = math_bits<double>((bits & ((1ull << 52) - 1)) | 1023ull << 52);
    if (m > 0x1.6a09e667f3bcdp0) {
        m *= 0.5;
        k++;
    }
    double f = m - 1, s = f / (m + 1), z = s * s, square = z * z;
    double even = pairs[0][0], odd = pairs[0][1];
    for (int i = 1; i < 6; i++) {
        even = even * square + pairs[i][0];
        odd = odd * square + pairs[i][1];
    }
    double sum = z * (even + z * odd);
    double log_m = f - s * (f - 2 * sum);
    return k * 0x1.62e42fee00000p-1 + (log_m + k * 0x1.a39ef35793c76p-33);
}

/* rng_at: Philox4x32-10. */
__device__ __forceinline__ uint64_t draw_bits(uint64_t seed, uint64_t stream, uint64_t counter)
{
    uint32_t c0 = static_cast<uint32_t>(counter), c1 = static_cast<uint32_t>(counter >> 32);
    uint32_t c2 = static_cast<uint32_t>(stream), c3 = static_cast<uint32_t>(stream >> 32);
    uint32_t k0 = static_cast<uint32_t>(seed), k1 = static_cast<uint32_t>(seed >> 32);
    for (int round = 0; round < 10; round++) {
        uint64_t a = 0xD2511F53ull * c0, b = 0xCD9E8D57ull * c2;
        c0 = static_cast<uint32_t>(b >> 32) ^ c1 ^ k0;
        c1 = static_cast<uint32_t>(b);
        c2 = static_cast<uint32_t>(a >> 32) ^ c3 ^ k1;
        c3 = static_cast<uint32_t>(a);
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    return static_cast<uint64_t>(c1) << 32 | c0;
}
/* rng_unit_of: [0, 1). */
__device__ __forceinline__ double draw_unit(uint64_t bits)
{
    return static_cast<double>(bits >> 11) * 0x1.0p-53;
}
