/* Packed panels of integers read with AVX2: the common part of the kernels that multiply them. */
#pragma once
#include "cpu/avx2.h"

#include <string.h>

INLINE __m256i load_bytes(const void *p)
{
    return _mm256_loadu_si256(p);
}

/* Four bytes, the same in every output's lane. */
INLINE __m256i four(const void *p)
{
    int32_t bits;
    memcpy(&bits, p, 4);
    return _mm256_set1_epi32(bits);
}

/* Returns the value that is subtracted from stored values so that sums of products stay in
 * int16. */
INLINE int centre_of(struct cpu_form form)
{
    return form.n_bits == 5 ? 16 : form.offset;
}

/* Moves bits [from, from + n) of each byte to bit `to`. */
INLINE __m256i move_bits(__m256i bytes, const int from, const int n, const int to)
{
    if (from > to)
        bytes = _mm256_srli_epi16(bytes, from - to);
    else if (from < to)
        bytes = _mm256_slli_epi16(bytes, to - from);
    return _mm256_and_si256(bytes, _mm256_set1_epi8((char)(((1 << n) - 1) << to)));
}

INLINE __m256 load_bf16(const void *p)
{
    __m256i bits = _mm256_cvtepu16_epi32(_mm_loadu_si128(p));
    return _mm256_castsi256_ps(_mm256_slli_epi32(bits, 16));
}

/* Returns whether weights are signed bytes: values of up to 127 either way. */
INLINE bool is_signed(struct cpu_form form)
{
    return form.n_bits == 8 || form.table == CPU_TABLE_IQ4;
}

/* Returns what nibbles stand for, plus the offset. */
INLINE __m256i from_table(struct cpu_form form, __m256i nibbles)
{
    const int8_t *values = form.table == CPU_TABLE_IQ4 ? quant_iq4_values : quant_mxfp4_values;
    __m128i table = _mm_loadu_si128((const void *)values);
    table = _mm_add_epi8(table, _mm_set1_epi8((char)form.offset));
    return _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(table), nibbles);
}

/* Returns the stored values of outputs 8 half .. 8 half + 7 at k..k + 3 of a block, one byte
 * each. */
INLINE __m256i load_four(struct cpu_form form, const unsigned char *w, int k, int half)
{
    const int g = k / 4, low = form.n_bits & 4 ? 4 : 2, high = form.n_bits - low;
    w += 32 * half;
    if (form.n_bits == 8)
        return load_bytes(w + 64 * g);
    __m256i value = move_bits(load_bytes(w + 64 * (g % low)), g / low * low, low, 0);
    if (form.table != CPU_TABLE_NONE)
        return from_table(form, value);
    if (high == 0)
        return value;
    w += 64 * low;
    __m256i rest = move_bits(load_bytes(w + 64 * (g % high)), g / high * high, high, low);
    return _mm256_or_si256(value, rest);
}

struct factors { /* of a sub-block of 16 outputs */
    __m256 scale[2], minimum[2];
};

INLINE __m256 scaled(__m256 factor, const unsigned char *bytes)
{
    __m256i wide = _mm256_cvtepi8_epi32(_mm_loadl_epi64((const void *)bytes));
    return _mm256_mul_ps(factor, _mm256_cvtepi32_ps(wide));
}

/* Returns NaN for a scale that is not finite, as scaled_sum does. */
INLINE __m256 finite(__m256 scale)
{
    return _mm256_fmadd_ps(scale, _mm256_setzero_ps(), scale);
}

/* Loads the halves of a unit. Minimums that are subtracted come negated. */
INLINE struct factors unit_factors(struct cpu_form form, const unsigned char *p)
{
    struct factors f = { { finite(load_half(p)), finite(load_half(p + 16)) }, { { 0 } } };
    for (int half = 0; half < 2 && form.has_bf16; half++)
        f.scale[half] = finite(load_bf16(p + 16 * half));
    for (int half = 0; half < 2 && form.has_minimum; half++) {
        f.minimum[half] = load_half(p + 32 + 16 * half);
        if (form.n_unit == 256)
            f.minimum[half] = _mm256_xor_ps(f.minimum[half], _mm256_set1_ps(-0.0f));
    }
    return f;
}

/* Returns the factors of sub-block `sub` of the block at p. */
INLINE struct factors sub_factors(struct cpu_form form, const struct factors *unit,
                                  const unsigned char *p, int sub)
{
    struct factors f = *unit;
    p += sub * (form.has_minimum ? 32 : 16);
    for (int half = 0; half < 2 && form.n_unit == 256; half++) {
        f.scale[half] = scaled(unit->scale[half], p + 8 * half);
        if (form.has_minimum)
            f.minimum[half] = scaled(unit->minimum[half], p + 16 + 8 * half);
    }
    return f;
}
