/* Packed panels of integers read with AVX-512: what the kernels that multiply them share. */
#pragma once
#include "cpu/avx512.h"

#include <string.h>

INLINE __m512 load_half(const void *p)
{
    return _mm512_cvtph_ps(_mm256_loadu_si256(p));
}

/* Nibbles as bytes, or nibbles - 8 + centre. vgf2p8affineqb: bit i is the parity of what byte 7 - i
 * of a matrix leaves of the byte, flipped where the constant has a bit; n + 120 has n's lower three
 * bits, its bit 3 as bit 7 and the opposite of that between, n - 8 the opposite in bit 7 too. */
INLINE __m512i nibbles(__m512i bytes, bool is_high, bool is_centred, const int centre)
{
    const int shift = is_high ? 4 : 0;
    const __m512i plain = _mm512_set1_epi64((int64_t)(UINT64_C(0x0102040800000000) << shift));
    const __m512i signs = _mm512_set1_epi64((int64_t)(UINT64_C(0x0102040808080808) << shift));
    if (!is_centred)
        return _mm512_gf2p8affine_epi64_epi8(bytes, plain, 0);
    return centre == 128 ? _mm512_gf2p8affine_epi64_epi8(bytes, signs, 0x78)
                         : _mm512_gf2p8affine_epi64_epi8(bytes, signs, 0xF8);
}

/* Weights at k..k + 3 of a packed block, one byte each: value + centre, which is 128 where they
 * must be unsigned, else 0; or the value of types with a minimum, never negative. */
INLINE __m512i load_four(struct cpu_form form, const unsigned char *w, int k, const int centre)
{
    const bool is_centred = form.n_bits == 4 && form.offset == 8;
    __m512i bytes = _mm512_loadu_si512(w + 16 * (k % (4 * form.n_bits)));
    if (form.n_bits == 4)
        bytes = nibbles(bytes, k >= 16, is_centred, centre);
    return form.has_minimum || is_centred || form.offset == centre
               ? bytes
               : _mm512_add_epi8(bytes, _mm512_set1_epi8((char)(centre - form.offset)));
}

/* Into both caches as many lines as a block's weights touch, so that none is left out. */
INLINE void fetch_block(struct cpu_form form, const unsigned char *far, const unsigned char *near)
{
    EACH(int line = 0; line <= cpu_form_weights(form); line += 64) {
        _mm_prefetch((const char *)far + line, _MM_HINT_T1);
        _mm_prefetch((const char *)near + line, _MM_HINT_T0);
    }
}

struct factors { /* of a sub-block of 16 outputs */
    __m512 scale, minimum;
};

/* The halves of a unit; minimums that are subtracted come negated. */
INLINE struct factors unit_factors(struct cpu_form form, const unsigned char *p)
{
    struct factors f = { load_half(p), _mm512_setzero_ps() };
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

/* Those of sub-block `sub` of the block at p. */
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

/* The bytes of a wide sub-block: scales, minimums, weights. */
INLINE size_t wide_head(struct cpu_form form)
{
    return form.has_minimum ? 128 : 64;
}

/* From packed to wide, weights as load_four gives them. */
INLINE void widen(struct cpu_form form, const int centre, const unsigned char *p, int32_t n_columns,
                  unsigned char *to)
{
    for (int32_t k = 0; k < n_columns; k += form.n_unit) {
        struct factors unit = unit_factors(form, p);
        p += cpu_form_head(form);
        for (int32_t i = 0; i < form.n_unit; i += 32) {
            const unsigned char *w = p + cpu_form_scales(form);
            fetch_block(form, w + FETCH_FAR, w + FETCH_NEAR);
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

/* Lines that R rows of a wide tile fetch, so many a block: their part of the panels ahead, and at
 * once where their sums will go. */
INLINE int32_t fetch_ahead(const struct cpu_tile *tile, int32_t row, int32_t panel, const int R,
                           const int P, const char **ahead)
{
    if (tile->target != NULL)
        EACH(int r = 0; r < R; r++) {
            const float *to = tile->target + (size_t)(row + r) * tile->target_stride;
            EACH(int p = 0; p < P; p++)
                _mm_prefetch((const char *)(to + (panel + p) * CPU_PANEL), _MM_HINT_T0);
        }
    if (tile->ahead == NULL)
        return 0;
    size_t from = tile->ahead_bytes * (size_t)row / (size_t)tile->n_rows;
    *ahead = (const char *)tile->ahead + (size_t)panel * tile->ahead_stride + from;
    int32_t lines = tile->n_rows * (tile->n_columns / 32) * 64;
    return ((int32_t)tile->ahead_bytes * R + lines - 1) / lines;
}
