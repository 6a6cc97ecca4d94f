/* Half precision and bfloat16 in software. */
#include "base/half.h"
#include <string.h>

static uint32_t bits_of(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof(bits));
    return bits;
}

static float of_bits(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof(value));
    return value;
}

float half_to_float(uint16_t half)
{
    uint32_t sign = (uint32_t)(half & 0x8000) << 16;
    uint32_t exponent = half >> 10 & 0x1F, fraction = half & 0x3FF;
    if (exponent == 0x1F) /* infinity and NaN, which becomes quiet as the hardware does it */
        return of_bits(sign | 0x7F800000u | fraction << 13 | (fraction != 0 ? 0x400000u : 0));
    if (exponent != 0)
        return of_bits(sign | (exponent + 112) << 23 | fraction << 13);
    float magnitude = (float)fraction * 0x1p-24f; /* zero and subnormals: exact */
    return of_bits(sign | bits_of(magnitude));
}

uint16_t half_from_float(float value)
{
    uint32_t bits = bits_of(value);
    uint16_t sign = (uint16_t)(bits >> 16 & 0x8000);
    uint32_t magnitude = bits & 0x7FFFFFFFu;
    if (magnitude > 0x7F800000u) /* NaN: quiet, with what fits of the payload */
        return (uint16_t)(sign | 0x7E00 | (magnitude >> 13 & 0x3FF));
    if (magnitude >= 0x477FF000u) /* 65520 and more round to infinity */
        return (uint16_t)(sign | 0x7C00);
    uint32_t rounded;
    if (magnitude >= 0x38800000u) { /* normal: 2^-14 and more */
        rounded = magnitude - (112u << 23);
        rounded = (rounded + 0xFFF + (rounded >> 13 & 1)) >> 13;
    } else if (magnitude > 0x33000000u) { /* subnormal, since it is more than 2^-25 */
        uint32_t fraction = (magnitude & 0x7FFFFFu) | 0x800000u;
        uint32_t shift = 126 - (magnitude >> 23); /* 14..24, in units of 2^-24 */
        uint32_t lost = fraction & ((1u << shift) - 1), tie = 1u << (shift - 1);
        rounded = fraction >> shift;
        rounded += lost > tie || (lost == tie && (rounded & 1));
    } else {
        rounded = 0; /* 2^-25 itself is a tie and goes to zero, which is even */
    }
    return (uint16_t)(sign | rounded);
}

uint16_t bf16_from_float(float value)
{
    uint32_t bits = bits_of(value);
    if ((bits & 0x7FFFFFFFu) > 0x7F800000u)
        return (uint16_t)(bits >> 16 | 0x40);
    return (uint16_t)((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
}
