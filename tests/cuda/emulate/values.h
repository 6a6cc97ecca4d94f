/* Types and functions of CUDA that need no other thread: vectors, halves, numbers. */
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>

#define EMULATE_VECTORS(T, name)                                                                   \
    struct name##1                                                                                 \
    {                                                                                              \
        T x;                                                                                       \
    };                                                                                             \
    struct alignas(2 * sizeof(T)) name##2                                                          \
    {                                                                                              \
        T x, y;                                                                                    \
    };                                                                                             \
    struct name##3                                                                                 \
    {                                                                                              \
        T x, y, z;                                                                                 \
    };                                                                                             \
    struct alignas(4 * sizeof(T) > 16 ? 16 : 4 * sizeof(T)) name##4                                \
    {                                                                                              \
        T x, y, z, w;                                                                              \
    };                                                                                             \
    inline name##2 make_##name##2(T x, T y)                                                        \
    {                                                                                              \
        return { x, y };                                                                           \
    }                                                                                              \
    inline name##3 make_##name##3(T x, T y, T z)                                                   \
    {                                                                                              \
        return { x, y, z };                                                                        \
    }                                                                                              \
    inline name##4 make_##name##4(T x, T y, T z, T w)                                              \
    {                                                                                              \
        return { x, y, z, w };                                                                     \
    }
EMULATE_VECTORS(float, float)
EMULATE_VECTORS(int, int)
EMULATE_VECTORS(unsigned, uint)
EMULATE_VECTORS(short, short)
EMULATE_VECTORS(unsigned short, ushort)
EMULATE_VECTORS(signed char, char)
EMULATE_VECTORS(unsigned char, uchar)
EMULATE_VECTORS(long long, longlong)
EMULATE_VECTORS(unsigned long long, ulonglong)
EMULATE_VECTORS(double, double)

template <class A, class B> constexpr std::common_type_t<A, B> min(A a, B b)
{
    using T = std::common_type_t<A, B>;
    return (T)b < (T)a ? (T)b : (T)a;
}
template <class A, class B> constexpr std::common_type_t<A, B> max(A a, B b)
{
    using T = std::common_type_t<A, B>;
    return (T)a < (T)b ? (T)b : (T)a;
}
template <class T> T __ldg(const T *p)
{
    return *p;
}
template <class T> T __ldcs(const T *p)
{
    return *p;
}
template <class T> T __ldcg(const T *p)
{
    return *p;
}
template <class T> void __stcs(T *p, T value)
{
    *p = value;
}

/* ---- Numbers. The functions below that are approximations on a GPU are exact here, so results
 * differ in the last bits. ---- */
inline float rsqrtf(float x)
{
    return 1.0f / std::sqrt(x);
}
#define __expf expf
#define __logf logf
inline float __fdividef(float a, float b)
{
    return a / b;
}
inline float __fmaf_rn(float a, float b, float c)
{
    return __builtin_fmaf(a, b, c);
}
inline float __fadd_rn(float a, float b)
{
    return a + b;
}
inline float __fsub_rn(float a, float b)
{
    return a - b;
}
inline float __fmul_rn(float a, float b)
{
    return a * b;
}
inline float __fdiv_rn(float a, float b)
{
    return a / b;
}
inline float __fsqrt_rn(float a)
{
    return std::sqrt(a);
}
/* To integers as the GPU does it: NaN becomes 0, and what does not fit the nearest that does. */
inline int __float2int_rn(float x)
{
    if (!(x == x))
        return 0;
    double r = std::nearbyint((double)x);
    return r >= 2147483647.0 ? 2147483647 : r <= -2147483648.0 ? INT32_MIN : (int)r;
}
inline float __int2float_rn(int i)
{
    return (float)i;
}
template <class T, class F> T __emulate_as(F from)
{
    static_assert(sizeof(T) == sizeof(F), "the same bits");
    T to;
    memcpy(&to, &from, sizeof to);
    return to;
}
inline float __int_as_float(int i)
{
    return __emulate_as<float>(i);
}
inline float __uint_as_float(unsigned i)
{
    return __emulate_as<float>(i);
}
inline int __float_as_int(float x)
{
    return __emulate_as<int>(x);
}
inline unsigned __float_as_uint(float x)
{
    return __emulate_as<unsigned>(x);
}
inline int __popc(unsigned x)
{
    return __builtin_popcount(x);
}
inline int __ffs(int x)
{
    return __builtin_ffs(x);
}
inline int __clz(int x)
{
    return x != 0 ? __builtin_clz((unsigned)x) : 32;
}
inline unsigned __brev(unsigned x)
{
    unsigned out = 0;
    for (int i = 0; i < 32; i++)
        out |= (x >> i & 1) << (31 - i);
    return out;
}
inline unsigned __umulhi(unsigned a, unsigned b)
{
    return (unsigned)((uint64_t)a * b >> 32);
}
inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b)
{
    return (unsigned long long)((unsigned __int128)a * b >> 64);
}
inline unsigned __funnelshift_r(unsigned low, unsigned high, unsigned n)
{
    return (unsigned)(((uint64_t)high << 32 | low) >> (n & 31));
}
/* Byte i of the result is byte (selector >> 4 i & 7) of (b, a); bit 3 spreads that byte's sign. */
inline unsigned __byte_perm(unsigned a, unsigned b, unsigned selector)
{
    uint64_t bytes = (uint64_t)b << 32 | a;
    unsigned out = 0;
    for (int i = 0; i < 4; i++) {
        unsigned s = selector >> 4 * i & 15, byte = (unsigned)(bytes >> 8 * (s & 7) & 255);
        out |= (s & 8 ? (byte & 128 ? 255u : 0u) : byte) << 8 * i;
    }
    return out;
}
/* Four bytes at a time, without saturation. */
inline unsigned __vsub4(unsigned a, unsigned b)
{
    unsigned out = 0;
    for (int i = 0; i < 32; i += 8)
        out |= (((a >> i & 255) - (b >> i & 255)) & 255) << i;
    return out;
}
inline unsigned __vadd4(unsigned a, unsigned b)
{
    unsigned out = 0;
    for (int i = 0; i < 32; i += 8)
        out |= (((a >> i & 255) + (b >> i & 255)) & 255) << i;
    return out;
}

/* ---- Halves. ---- */
struct __half {
    uint16_t bits;
};
struct __nv_bfloat16 {
    uint16_t bits;
};
struct alignas(4) __half2 {
    __half x, y;
};
struct alignas(4) __nv_bfloat162 {
    __nv_bfloat16 x, y;
};
using half = __half;
using half2 = __half2;
using nv_bfloat16 = __nv_bfloat16;
using nv_bfloat162 = __nv_bfloat162;

inline float __half2float(__half h)
{
    unsigned sign = (unsigned)(h.bits & 0x8000) << 16, exponent = h.bits >> 10 & 31;
    unsigned fraction = h.bits & 1023;
    if (exponent == 31)
        return __uint_as_float(sign | 0x7F800000u | fraction << 13);
    if (exponent != 0)
        return __uint_as_float(sign | (exponent + 112) << 23 | fraction << 13);
    float magnitude = (float)fraction * 0x1p-24f;
    return sign != 0 ? -magnitude : magnitude;
}
inline __half __float2half_rn(float x)
{
    unsigned bits = __float_as_uint(x), sign = bits >> 16 & 0x8000, rest = bits & 0x7FFFFFFFu;
    if (rest > 0x7F800000u)
        return { 0x7FFF };
    if (rest >= 0x47800000u) /* 2^16 and more */
        return { (uint16_t)(sign | 0x7C00) };
    if (rest < 0x38800000u) /* below 2^-14: a multiple of 2^-24 */
        return { (uint16_t)(sign | (unsigned)std::nearbyint(std::fabs(x) * 0x1p24f)) };
    rest += 0xFFF + (rest >> 13 & 1); /* ties to even; a carry moves the exponent up */
    return { (uint16_t)(sign | ((rest >> 13) - (112 << 10))) };
}
inline float __bfloat162float(__nv_bfloat16 h)
{
    return __uint_as_float((unsigned)h.bits << 16);
}
inline __nv_bfloat16 __float2bfloat16_rn(float x)
{
    unsigned bits = __float_as_uint(x);
    if ((bits & 0x7FFFFFFFu) > 0x7F800000u)
        return { 0x7FFF };
    return { (uint16_t)((bits + 0x7FFF + (bits >> 16 & 1)) >> 16) };
}
inline __half __float2half(float x)
{
    return __float2half_rn(x);
}
inline __nv_bfloat16 __float2bfloat16(float x)
{
    return __float2bfloat16_rn(x);
}
inline __half __ushort_as_half(unsigned short bits)
{
    return { bits };
}
inline unsigned short __half_as_ushort(__half h)
{
    return h.bits;
}
inline __nv_bfloat16 __ushort_as_bfloat16(unsigned short bits)
{
    return { bits };
}
inline unsigned short __bfloat16_as_ushort(__nv_bfloat16 h)
{
    return h.bits;
}
inline __half2 __halves2half2(__half x, __half y)
{
    return { x, y };
}
inline __nv_bfloat162 __halves2bfloat162(__nv_bfloat16 x, __nv_bfloat16 y)
{
    return { x, y };
}
inline __half2 __floats2half2_rn(float x, float y)
{
    return { __float2half_rn(x), __float2half_rn(y) };
}
inline __half2 __float22half2_rn(float2 f)
{
    return __floats2half2_rn(f.x, f.y);
}
inline __nv_bfloat162 __floats2bfloat162_rn(float x, float y)
{
    return { __float2bfloat16_rn(x), __float2bfloat16_rn(y) };
}
inline float2 __half22float2(__half2 h)
{
    return { __half2float(h.x), __half2float(h.y) };
}
inline float2 __bfloat1622float2(__nv_bfloat162 h)
{
    return { __bfloat162float(h.x), __bfloat162float(h.y) };
}
inline float __low2float(__half2 h)
{
    return __half2float(h.x);
}
inline float __high2float(__half2 h)
{
    return __half2float(h.y);
}
