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
uint16_t bf16_from_float(float value); /* round to nearest even, NaN stays NaN */
