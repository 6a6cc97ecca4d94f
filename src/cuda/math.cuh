/* Device functions that give the same bits as compute/vmath.h, and conversions. FP contraction is
 * off in every .cu file, so products and sums are rounded where they stand and fmaf once. */
#pragma once
#include "cuda/ptx.cuh"
#include <cstdint>
#include <cstring>

template <class To, class From> __device__ __forceinline__ To math_bits(From from)
{
    static_assert(sizeof(To) == sizeof(From), "the same bits");
    To to;
    memcpy(&to, &from, sizeof(to));
    return to;
}

__device__ __forceinline__ float math_of_half(uint16_t bits)
{
    return __half2float(*reinterpret_cast<const __half *>(&bits));
}
__device__ __forceinline__ uint16_t math_to_half(float x)
{
    __half rounded = __float2half_rn(x);
    return *reinterpret_cast<const uint16_t *>(&rounded);
}
__device__ __forceinline__ float math_of_bf16(uint16_t bits)
{
    return math_bits<float>(static_cast<uint32_t>(bits) << 16);
}
__device__ __forceinline__ uint16_t math_to_bf16(float x)
{
    __nv_bfloat16 rounded = __float2bfloat16_rn(x);
    return *reinterpret_cast<const uint16_t *>(&rounded);
}

/* Returns x, or NaN if x is not finite. */
__device__ __forceinline__ float math_finite(float x)
{
    return fmaf(x, 0.0f, x);
}

__device__ __forceinline__ float math_exp(float x)
{
    const float shift = 12582912.0f; /* 1.5 * 2^23: adding it rounds to an integer */
    float t = fmaf(x, 1.44269504f, shift);
    float n = t - shift;
    float r = fmaf(n, -0.693359375f, x);
    r = fmaf(n, 2.12194440e-4f, r);
    float p = 1.9875691500e-4f;
    p = fmaf(p, r, 1.3981999507e-3f);
    p = fmaf(p, r, 8.3334519073e-3f);
    p = fmaf(p, r, 4.1665795894e-2f);
    p = fmaf(p, r, 1.6666665459e-1f);
    p = fmaf(p, r, 5.0000001201e-1f);
    p = fmaf(p, r * r, r) + 1.0f;
    float y = p * math_bits<float>((math_bits<uint32_t>(t) << 23) + 0x3F800000u);
    y = x < -87.3f ? 0.0f : y;
    return x > 88.0f ? math_bits<float>(0x7F800000u) : y;
}

__device__ __forceinline__ float math_gelu_erf(float x)
{
    float a = fabsf(x) * 0.70710678f;
    float t = 1.0f / fmaf(0.3275911f, a, 1.0f);
    float p = 1.061405429f;
    p = fmaf(p, t, -1.453152027f);
    p = fmaf(p, t, 1.421413741f);
    p = fmaf(p, t, -0.284496736f);
    p = fmaf(p, t, 0.254829592f);
    float tail = 0.5f * (p * t) * math_exp(-a * a);
    return x * (x < 0.0f ? tail : 1.0f - tail);
}

/* act: enum act_kind's numbers. */
__device__ __forceinline__ float math_act(int act, float x)
{
    if (act == 0)
        return x / (1.0f + math_exp(-x));
    if (act == 1) {
        float u = fmaf(x * x, 0.044715f * 0.79788456f, 0.79788456f) * x;
        return x / (1.0f + math_exp(-2.0f * u));
    }
    if (act == 2)
        return math_gelu_erf(x);
    return x < 0.0f ? 0.0f : x;
}

/* The sum over a warp, the same in each lane: folded by halves 16, 8, 4, 2, 1. */
__device__ __forceinline__ float math_warp_sum(float x)
{
#pragma unroll
    for (int o = 16; o > 0; o >>= 1)
        x += __shfl_xor_sync(0xFFFFFFFFu, x, o);
    return x;
}

__device__ __forceinline__ uint32_t math_warp_max(uint32_t x)
{
#pragma unroll
    for (int o = 16; o > 0; o >>= 1) {
        uint32_t other = __shfl_xor_sync(0xFFFFFFFFu, x, o);
        x = other > x ? other : x;
    }
    return x;
}

/* The scale of a block of 32 activations by its largest magnitude as bits: quant_activations. A
 * scale of 0 or NaN means that all values are 0. */
__device__ __forceinline__ float math_block_scale(uint32_t magnitude)
{
    if (magnitude >= 0x7F800000u)
        return math_bits<float>(0x7FC00000u);
    float scale = math_bits<float>(magnitude) / 127.0f;
    return scale < 1.17549435e-38f ? 0.0f : scale;
}
__device__ __forceinline__ int math_block_value(float x, float scale)
{
    const float shift = 12582912.0f;
    return scale > 0.0f ? static_cast<int>((x / scale + shift) - shift) : 0;
}

/* The power of two that brings a magnitude (as bits) into [2^14, 2^15), where halves have room on
 * both sides; 0 for zero and for what is not finite. */
__device__ __forceinline__ int math_half_power(uint32_t magnitude)
{
    if (magnitude >= 0x7F800000u || magnitude == 0)
        return 0;
    return min(14 - (static_cast<int>(magnitude >> 23) - 127), 126);
}
__device__ __forceinline__ float math_two_to(int power) /* -126 to 127 */
{
    return math_bits<float>(static_cast<uint32_t>(power + 127) << 23);
}
