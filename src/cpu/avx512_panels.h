/* Packed panels of integers read with AVX-512: the common part of the kernels that multiply
 * them. */
#pragma once
#include "cpu/avx512.h"

#include <string.h>

INLINE __m512 load_half(const void *p)
{
    return _mm512_cvtph_ps(_mm256_loadu_si256(p));
}

INLINE __m512 load_bf16(const void *p)
{
    __m512i bits = _mm512_cvtepu16_epi32(_mm256_loadu_si256(p));
    return _mm512_castsi512_ps(_mm512_slli_epi32(bits, 16));
}

/* Returns a matrix for vgf2p8affineqb. It moves bits [from, from + n) of each byte to bit `to`,
 * with 0 elsewhere, or, with spread, with the last of them in all bits above. Bit i of a result is
 * the parity of the byte masked by byte 7 - i of the matrix. */
INLINE __m512i mover(const int from, const int n, const int to, bool spread)
{
    const uint64_t above = (UINT64_C(1) << (8 * (8 - to - n))) - 1; /* rows of the matrix */
    const uint64_t same = UINT64_C(0x0102040810204080) & ~above & (UINT64_MAX >> (8 * to));
    uint64_t matrix = from < to ? same >> (to - from) : same << (from - to);
    if (spread)
        matrix |= (UINT64_C(0x0101010101010101) & above) << (from + n - 1);
    return _mm512_set1_epi64((int64_t)matrix);
}

/* Returns what nibbles stand for, plus the centre. */
INLINE __m512i from_table(struct cpu_form form, __m512i nibbles, const int centre)
{
    const int8_t *values = form.table == CPU_TABLE_IQ4 ? quant_iq4_values : quant_mxfp4_values;
    __m128i table = _mm_loadu_si128((const void *)values);
    table = _mm_add_epi8(table, _mm_set1_epi8((char)centre));
    return _mm512_shuffle_epi8(_mm512_broadcast_i32x4(table), nibbles);
}

/* Moves bits [from, from + n) of each byte to bit `to`, with 0 elsewhere. */
INLINE __m512i shifted(__m512i bytes, const int from, const int n, const int to)
{
    if (from > to)
        bytes = _mm512_srli_epi32(bytes, (unsigned)(from - to));
    if (from < to)
        bytes = _mm512_slli_epi32(bytes, (unsigned)(to - from));
    return _mm512_and_si512(bytes, _mm512_set1_epi8((char)(((1 << n) - 1) << to)));
}

/* Returns weights at k..k + 3 of a packed block, one byte each: value + centre, where centre is 128
 * for unsigned bytes, else 0. For types with a minimum it returns the value, which is never
 * negative. Otherwise a value is the stored one less half of its range. So its top bit determines
 * the sign, and all bits above are its opposite, except bit 7 when 128 is added. Ternary values
 * are less one instead. */
INLINE __m512i load_four(struct cpu_form form, const unsigned char *w, int k, const int centre)
{
    const int g = k / 4, low = form.n_bits & 4 ? 4 : 2, high = form.n_bits - low;
    const bool has_sign = !form.has_minimum;
    const int flip = (0xFF << (form.n_bits - 1) & 0xFF) ^ centre;
    if (form.n_bits == 8) {
        __m512i bytes = _mm512_loadu_si512(w + 64 * g);
        return centre == 0 ? bytes : _mm512_xor_si512(bytes, _mm512_set1_epi8((char)centre));
    }
    __m512i value = _mm512_loadu_si512(w + 64 * (g % low));
    if (form.table != CPU_TABLE_NONE)
        return from_table(form, shifted(value, g / low * low, low, 0), centre);
    if (has_sign && form.n_bits == 2)
        return _mm512_add_epi8(shifted(value, g / low * low, low, 0),
                               _mm512_set1_epi8((char)(centre - form.offset)));
    __m512i move = mover(g / low * low, low, 0, has_sign && high == 0);
    if (high == 0 && has_sign) /* nibbles: the bits to flip must be known when compiled */
        return centre == 128 ? _mm512_gf2p8affine_epi64_epi8(value, move, 0x78)
                             : _mm512_gf2p8affine_epi64_epi8(value, move, 0xF8);
    value = _mm512_gf2p8affine_epi64_epi8(value, move, 0);
    if (high == 0)
        return value;
    __m512i rest = _mm512_loadu_si512(w + 64 * low + 64 * (g % high));
    move = mover(g / high * high, high, low, has_sign);
    rest = _mm512_gf2p8affine_epi64_epi8(rest, move, 0);
    enum { XOR = 0x96 };
    return has_sign ? _mm512_ternarylogic_epi64(value, rest, _mm512_set1_epi8((char)flip), XOR)
                    : _mm512_or_si512(value, rest);
}

/* Computes the same as load_four, by shifts, logic and additions. */
INLINE __m512i load_four_shifted(struct cpu_form form, const unsigned char *w, int k,
                                 const int centre)
{
    const int g = k / 4, low = form.n_bits & 4 ? 4 : 2, high = form.n_bits - low;
    if (form.n_bits == 8 || form.table != CPU_TABLE_NONE)
        return load_four(form, w, k, centre);
    __m512i value = shifted(_mm512_loadu_si512(w + 64 * (g % low)), g / low * low, low, 0);
    if (high > 0) {
        __m512i rest = _mm512_loadu_si512(w + 64 * low + 64 * (g % high));
        value = _mm512_or_si512(value, shifted(rest, g / high * high, high, low));
    }
    if (form.has_minimum)
        return value;
    return _mm512_add_epi8(value, _mm512_set1_epi8((char)(centre - form.offset)));
}

/* Fetches as many lines as a block's weights touch, so that none is left out. */
INLINE void fetch_far(struct cpu_form form, const unsigned char *p)
{
    EACH(int line = 0; line <= cpu_form_weights(form); line += 64)
        _mm_prefetch((const char *)p + line, _MM_HINT_T1);
}

INLINE void fetch_near(struct cpu_form form, const unsigned char *p)
{
    EACH(int line = 0; line <= cpu_form_weights(form); line += 64)
        _mm_prefetch((const char *)p + line, _MM_HINT_T0);
}

struct factors { /* of a sub-block of 16 outputs */
    __m512 scale, minimum;
};

/* Loads the halves of a unit. Minimums that are subtracted come negated. */
INLINE struct factors unit_factors(struct cpu_form form, const unsigned char *p)
{
    struct factors f = { form.has_bf16 ? load_bf16(p) : load_half(p), _mm512_setzero_ps() };
    if (form.has_minimum)
        f.minimum = load_half(p + 32);
    if (form.has_minimum && form.n_unit == 256)
        f.minimum = _mm512_xor_ps(f.minimum, _mm512_set1_ps(-0.0f));
    return f;
}

INLINE __m512 scaled(__m512 factor, const unsigned char *bytes)
{
    __m512i wide = _mm512_cvtepi8_epi32(_mm_loadu_si128((const void *)bytes));
    return _mm512_mul_ps(factor, _mm512_cvtepi32_ps(wide));
}

/* Returns the factors of sub-block `sub` of the block at p. */
INLINE struct factors sub_factors(struct cpu_form form, struct factors unit, const unsigned char *p,
                                  int sub)
{
    if (form.n_unit == 32)
        return unit;
    p += sub * (form.has_minimum ? 32 : 16);
    unit.scale = scaled(unit.scale, p);
    if (form.has_minimum)
        unit.minimum = scaled(unit.minimum, p + 16);
    return unit;
}

/* Returns the bytes of a wide sub-block: scales, minimums, weights. */
INLINE size_t wide_head(struct cpu_form form)
{
    return form.has_minimum ? 128 : 64;
}

/* Converts from packed to wide, with weights as load_four returns them. */
INLINE void widen(struct cpu_form form, const int centre, const unsigned char *p, int32_t n_columns,
                  unsigned char *to)
{
    for (int32_t k = 0; k < n_columns; k += form.n_unit) {
        struct factors unit = unit_factors(form, p);
        unit.scale =
            _mm512_fmadd_ps(unit.scale, _mm512_setzero_ps(), unit.scale); /* finite, or NaN */
        p += cpu_form_head(form);
        for (int32_t i = 0; i < form.n_unit; i += 32) {
            const unsigned char *w = p + cpu_form_scales(form);
            fetch_far(form, w + FETCH_FAR);
            fetch_near(form, w + FETCH_NEAR);
            EACH(int sub = 0; sub < 32 / form.n_sub; sub++) {
                struct factors factors = sub_factors(form, unit, p, sub);
                memcpy(to, &factors, wide_head(form));
                to += wide_head(form);
                EACH(int at = sub * form.n_sub; at < (sub + 1) * form.n_sub; at += 4, to += 64)
                    _mm512_storeu_si512(to, load_four(form, w, at, centre));
            }
            p = w + cpu_form_weights(form);
        }
    }
}
