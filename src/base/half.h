/* Half precision and bfloat16 in software, exact and total (used where no instruction set may be
 * assumed). */
#pragma once
#include "base/base.h"

float half_to_float(uint16_t half);    /* IEEE binary16 */
uint16_t half_from_float(float value); /* round to nearest even */
static inline float bf16_to_float(uint16_t b)
{
    union {
        uint32_t u;
        float f;
    } x = { .u = (uint32_t)b << 16 };
    return x.f;
}
/* Returns an F8_E4M3 (a sign, 4 bits of exponent, 3 of mantissa, no infinities) divided by 256, as
 * a half: exactly, but for NaN. */
static inline uint16_t f8_to_half(unsigned char byte)
{
    return (uint16_t)((byte & 0x80) << 8 | (byte & 0x7F) << 7);
}
static inline bool f8_is_nan(unsigned char byte)
{
    return (byte & 0x7F) == 0x7F;
}
uint16_t bf16_from_float(float value); /* round to nearest even, NaN stays NaN */
