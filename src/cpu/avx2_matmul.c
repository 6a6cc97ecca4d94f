/* Matrix multiplication for AVX2 with FMA and F16C.
 *
 * Bytes are multiplied by vpmaddubsw: unsigned times signed, pairs added to int16 that saturate.
 * With q in -127..127 a pair of stored values up to 63 stays within 16,002, so no pair saturates.
 * The pairs of a (sub-)block are summed in int16 too, which may wrap on the way but not in the end:
 * centred values (stored - centre) times q over a lane's share, 16 products up to 8 or 16 away from
 * the centre or 8 products up to 32 away, stay within 32,512, and stored values up to 15 without a
 * centre within 30,480. One vpmaddwd then widens the whole sum. The centre's share is subtracted
 * through the sums of q, lane by lane.
 *
 * Signed bytes (Q8_0) go in as |w| and q with the sign of w: 128 * 127 * 2 = 32,512 just fits, each
 * pair is widened by itself. */
#include "compute/quant.h"
#include "compute/vmath.h"
#include "cpu/kernels.h"

#include <immintrin.h>
#include <string.h>

#define INLINE static inline __attribute__((always_inline))
/* A loop that leaves no loop, so that arrays become registers. */
#define EACH(...) _Pragma("GCC unroll 16") for (__VA_ARGS__)

/* Bytes ahead, measured by bench/kernels: one or two rows leave memory no time, more do. */
enum { PREFETCH_FEW_BYTES = 1536, PREFETCH_BYTES = 4096, R_MAX = 6 };

/* The compiler would first make all products and keep them in memory, and add them up later. */
#define NOW(value) __asm__ volatile("" : "+x"(value))

INLINE __m256 load_half(const void *p)
{
    return _mm256_cvtph_ps(_mm_loadu_si128(p));
}

/* 8 weights of any float type from element i on. */
INLINE __m256 load_floats(enum dtype dtype, const unsigned char *p, size_t i)
{
    if (dtype == DTYPE_F32)
        return _mm256_loadu_ps((const float *)(const void *)p + i);
    if (dtype == DTYPE_F16)
        return load_half(p + 2 * i);
    __m256i wide = _mm256_cvtepu16_epi32(_mm_loadu_si128((const void *)(p + 2 * i)));
    return _mm256_castsi256_ps(_mm256_slli_epi32(wide, 16));
}

/* The sums so far of one row and panel. */
INLINE void start(const struct cpu_tile *tile, const float *out, __m256 acc[2])
{
    acc[0] = tile->is_continued ? _mm256_loadu_ps(out) : _mm256_setzero_ps();
    acc[1] = tile->is_continued ? _mm256_loadu_ps(out + 8) : _mm256_setzero_ps();
}

INLINE void stop(const __m256 acc[2], float *out)
{
    _mm256_storeu_ps(out, acc[0]);
    _mm256_storeu_ps(out + 8, acc[1]);
}

/* Column i behind w and x. */
INLINE void float_step(const struct cpu_tile *tile, const unsigned char *w, const float *x, int i,
                       size_t ahead, enum dtype dtype, const int R, const int P,
                       __m256 acc[R_MAX][4][2])
{
    const size_t n_bytes = dtype == DTYPE_F32 ? 4 : 2;
    const size_t stride = tile->x_stride;
    const float *x3 = x + 3 * stride; /* so that addresses have a factor of 2 at most */
    EACH(int p = 0; p < P; p++) {
        const unsigned char *at = w + (size_t)p * tile->panel_bytes + (size_t)i * 16 * n_bytes;
        if (i % 2 == 0 || n_bytes == 4)
            _mm_prefetch((const char *)at + ahead, _MM_HINT_T0);
        __m256 low = load_floats(dtype, at, 0), high = load_floats(dtype, at, 8);
        EACH(int r = 0; r < R; r++) {
            const float *from = (r < 3 ? x : x3) + (size_t)(r % 3) * stride + i;
            __m256 value = _mm256_broadcast_ss(from);
            acc[r][p][0] = _mm256_fmadd_ps(low, value, acc[r][p][0]);
            acc[r][p][1] = _mm256_fmadd_ps(high, value, acc[r][p][1]);
        }
    }
}

/* R rows against P panels: R * P * 2 independent sums, at most 12. */
INLINE void float_rows(const struct cpu_tile *tile, int32_t row, int32_t panel, enum dtype dtype,
                       const int R, const int P)
{
    const size_t n_bytes = dtype == DTYPE_F32 ? 4 : 2;
    const unsigned char *w = tile->panels + (size_t)panel * tile->panel_bytes;
    const float *x = tile->x + (size_t)row * tile->x_stride;
    float *out = tile->out + (row * CPU_TILE_PANELS + panel) * CPU_PANEL;
    size_t ahead = row > 0 ? 0 : R <= 2 ? PREFETCH_FEW_BYTES : PREFETCH_BYTES;
    __m256 acc[R_MAX][4][2];
    EACH(int r = 0; r < R; r++)
        EACH(int p = 0; p < P; p++)
            start(tile, out + (r * CPU_TILE_PANELS + p) * CPU_PANEL, acc[r][p]);
    int32_t k = 0;
    for (; k + 4 <= tile->n_columns; k += 4, x += 4, w += 4 * CPU_PANEL * n_bytes) {
        EACH(int i = 0; i < 4; i++)
            float_step(tile, w, x, i, ahead, dtype, R, P, acc);
    }
    for (; k < tile->n_columns; k++, x++, w += CPU_PANEL * n_bytes)
        float_step(tile, w, x, 0, ahead, dtype, R, P, acc);
    EACH(int r = 0; r < R; r++)
        EACH(int p = 0; p < P; p++)
            stop(acc[r][p], out + (r * CPU_TILE_PANELS + p) * CPU_PANEL);
}

/* All panels of the tile against its R rows, P panels at a time. */
INLINE void float_panels(const struct cpu_tile *tile, enum dtype dtype, const int R, const int P)
{
    int32_t panel = 0;
    for (; panel + P <= tile->n_panels; panel += P)
        float_rows(tile, 0, panel, dtype, R, P);
    for (; panel < tile->n_panels; panel++)
        float_rows(tile, 0, panel, dtype, R, 1);
}

/* Rows in groups as even as can be: a panel stays in the first-level cache while all pass. */
INLINE void float_groups(const struct cpu_tile *tile, enum dtype dtype)
{
    int32_t n_groups = (tile->n_rows + R_MAX - 1) / R_MAX;
    for (int32_t panel = 0; panel < tile->n_panels; panel++)
        for (int32_t i = 0; i < n_groups; i++) {
            int32_t row = tile->n_rows * i / n_groups;
            switch (tile->n_rows * (i + 1) / n_groups - row) {
            case 3:
                float_rows(tile, row, panel, dtype, 3, 1);
                break;
            case 4:
                float_rows(tile, row, panel, dtype, 4, 1);
                break;
            case 5:
                float_rows(tile, row, panel, dtype, 5, 1);
                break;
            default:
                float_rows(tile, row, panel, dtype, 6, 1);
            }
        }
}

INLINE void matmul_float(const struct cpu_tile *tile, enum dtype dtype)
{
    switch (tile->n_rows) {
    case 1:
        float_panels(tile, dtype, 1, 4);
        break;
    case 2:
        float_panels(tile, dtype, 2, 2);
        break;
    case 3:
        float_panels(tile, dtype, 3, 2);
        break;
    default:
        float_groups(tile, dtype);
    }
}

static void matmul_f32(const struct cpu_tile *tile)
{
    matmul_float(tile, DTYPE_F32);
}
static void matmul_f16(const struct cpu_tile *tile)
{
    matmul_float(tile, DTYPE_F16);
}
static void matmul_bf16(const struct cpu_tile *tile)
{
    matmul_float(tile, DTYPE_BF16);
}

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

/* What is subtracted from stored values so that sums of products stay in int16. */
INLINE int centre_of(struct cpu_form form)
{
    return form.n_bits == 5 ? 16 : form.offset;
}

/* Bits [from, from + n) of each byte at bit `to`. */
INLINE __m256i move_bits(__m256i bytes, const int from, const int n, const int to)
{
    if (from > to)
        bytes = _mm256_srli_epi16(bytes, from - to);
    else if (from < to)
        bytes = _mm256_slli_epi16(bytes, to - from);
    return _mm256_and_si256(bytes, _mm256_set1_epi8((char)(((1 << n) - 1) << to)));
}

/* What is stored of outputs 8 half .. 8 half + 7 at k..k + 3 of a block, one byte each. */
INLINE __m256i load_four(struct cpu_form form, const unsigned char *w, int k, int half)
{
    const int g = k / 4, low = form.n_bits & 4 ? 4 : 2, high = form.n_bits - low;
    w += 32 * half;
    __m256i value = move_bits(load_bytes(w + 64 * (g % low)), g / low * low, low, 0);
    if (high == 0)
        return value;
    w += 64 * low;
    __m256i rest = move_bits(load_bytes(w + 64 * (g % high)), g / high * high, high, low);
    return _mm256_or_si256(value, rest);
}

/* sums[r][half]: of (stored - centre) * q over a sub-block, in pairs of int16. w: the block's, of
 * wide panels the sub-block's. */
INLINE void dot_unsigned(struct cpu_form form, const unsigned char *w, bool is_wide,
                         const struct cpu_block *const *x, int sub, const int R,
                         __m256i sums[R_MAX][2])
{
    const int centre = centre_of(form), first = sub * form.n_sub;
    EACH(int r = 0; r < R && centre != 0; r++) {
        __m256i q = four(x[r]->sums[sub]);
        if (form.n_sub == 32)
            q = _mm256_add_epi16(q, four(x[r]->sums[1]));
        q = _mm256_slli_epi16(q, __builtin_ctz((unsigned)centre | 64));
        sums[r][0] = sums[r][1] = q;
    }
    EACH(int k = first; k < first + form.n_sub; k += 4) {
        __m256i weights[2];
        EACH(int half = 0; half < 2; half++)
            weights[half] = is_wide ? load_bytes(w + 16 * (k - first) + 32 * half)
                                    : load_four(form, w, k, half);
        EACH(int r = 0; r < R; r++) {
            __m256i q = four(x[r]->q + k);
            EACH(int half = 0; half < 2; half++) {
                __m256i pairs = _mm256_maddubs_epi16(weights[half], q);
                if (k > first)
                    sums[r][half] = _mm256_add_epi16(sums[r][half], pairs);
                else if (centre != 0)
                    sums[r][half] = _mm256_sub_epi16(pairs, sums[r][half]);
                else
                    sums[r][half] = pairs;
                NOW(sums[r][half]);
            }
        }
    }
    const __m256i ones = _mm256_set1_epi16(1);
    const __m256i back = _mm256_set1_epi16((int16_t)(centre - form.offset));
    EACH(int r = 0; r < R; r++) {
        EACH(int half = 0; half < 2; half++)
            sums[r][half] = _mm256_madd_epi16(sums[r][half], ones);
        if (centre == form.offset)
            continue;
        __m256i q = _mm256_add_epi16(four(x[r]->sums[0]), four(x[r]->sums[1]));
        q = _mm256_madd_epi16(q, back);
        EACH(int half = 0; half < 2; half++)
            sums[r][half] = _mm256_add_epi32(sums[r][half], q);
    }
}

/* The same for signed bytes, a block of 32. */
INLINE void dot_signed(const unsigned char *w, const struct cpu_block *const *x, const int R,
                       __m256i sums[R_MAX][2])
{
    const __m256i ones = _mm256_set1_epi16(1);
    EACH(int k = 0; k < 32; k += 4) {
        EACH(int half = 0; half < 2; half++) {
            __m256i bytes = load_bytes(w + 16 * k + 32 * half), size = _mm256_abs_epi8(bytes);
            EACH(int r = 0; r < R; r++) {
                __m256i q = _mm256_sign_epi8(four(x[r]->q + k), bytes);
                __m256i fours = _mm256_madd_epi16(_mm256_maddubs_epi16(size, q), ones);
                sums[r][half] = k == 0 ? fours : _mm256_add_epi32(sums[r][half], fours);
                NOW(sums[r][half]);
            }
        }
    }
}

/* Scale times the sum of the 16 q that a sub-block meets. */
INLINE __m256 sum_of_half(const struct cpu_block *x, int sub)
{
    __m256i sum = _mm256_madd_epi16(four(x->sums[sub]), _mm256_set1_epi16(1));
    return _mm256_mul_ps(_mm256_cvtepi32_ps(sum), _mm256_set1_ps(x->scale));
}

struct factors { /* of a sub-block of 16 outputs */
    __m256 scale[2], minimum[2];
};

/* One sub-block: integer sums, then their scaled addition to acc. */
INLINE void sub_block(struct cpu_form form, const struct factors *factors, const unsigned char *w,
                      bool is_wide, const struct cpu_block *const *x, int sub, const int R,
                      __m256 acc[R_MAX][2])
{
    __m256i sums[R_MAX][2];
    if (form.n_bits == 8)
        dot_signed(w, x, R, sums);
    else
        dot_unsigned(form, w, is_wide, x, sub, R, sums);
    EACH(int half = 0; half < 2; half++)
        EACH(int r = 0; r < R; r++) {
            __m256 scale = _mm256_broadcast_ss(&x[r]->scale);
            __m256 sum = _mm256_mul_ps(_mm256_cvtepi32_ps(sums[r][half]), factors->scale[half]);
            acc[r][half] = _mm256_fmadd_ps(sum, scale, acc[r][half]);
            if (!form.has_minimum)
                continue;
            __m256 x_sum =
                form.n_sub == 32 ? _mm256_broadcast_ss(&x[r]->sum) : sum_of_half(x[r], sub);
            acc[r][half] = _mm256_fmadd_ps(factors->minimum[half], x_sum, acc[r][half]);
        }
}

INLINE __m256 scaled(__m256 factor, const unsigned char *bytes)
{
    __m256i wide = _mm256_cvtepi8_epi32(_mm_loadl_epi64((const void *)bytes));
    return _mm256_mul_ps(factor, _mm256_cvtepi32_ps(wide));
}

/* The halves of a unit; minimums that are subtracted come negated. */
INLINE struct factors unit_factors(struct cpu_form form, const unsigned char *p)
{
    struct factors f = { { load_half(p), load_half(p + 16) }, { { 0 } } };
    for (int half = 0; half < 2 && form.has_minimum; half++) {
        f.minimum[half] = load_half(p + 32 + 16 * half);
        if (form.n_unit == 256)
            f.minimum[half] = _mm256_xor_ps(f.minimum[half], _mm256_set1_ps(-0.0f));
    }
    return f;
}

/* Those of sub-block `sub` of the block at p. */
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

INLINE void integer_rows(const struct cpu_tile *tile, int32_t row, int32_t panel,
                         struct cpu_form form, const int R)
{
    const unsigned char *p = tile->panels + (size_t)panel * tile->panel_bytes;
    float *out = tile->out + (row * CPU_TILE_PANELS + panel) * CPU_PANEL;
    size_t ahead = row > 0 ? 0 : R <= 2 ? PREFETCH_FEW_BYTES : PREFETCH_BYTES;
    const struct cpu_block *x[R_MAX];
    __m256 acc[R_MAX][2];
    EACH(int r = 0; r < R; r++) {
        x[r] = tile->blocks + (size_t)(row + r) * tile->block_stride;
        start(tile, out + r * CPU_TILE_PANELS * CPU_PANEL, acc[r]);
    }
    for (int32_t k = 0; k < tile->n_columns; k += form.n_unit) {
        struct factors unit = unit_factors(form, p);
        p += cpu_form_head(form);
        for (int32_t i = 0; i < form.n_unit; i += 32) {
            const unsigned char *w = p + cpu_form_scales(form);
            EACH(int line = 0; line < cpu_form_weights(form); line += 64)
                _mm_prefetch((const char *)w + ahead + line, _MM_HINT_T0);
            EACH(int sub = 0; sub < 32 / form.n_sub; sub++) {
                struct factors factors = sub_factors(form, &unit, p, sub);
                sub_block(form, &factors, w, false, x, sub, R, acc);
            }
            p = w + cpu_form_weights(form);
            EACH(int r = 0; r < R; r++)
                x[r]++;
        }
    }
    EACH(int r = 0; r < R; r++)
        stop(acc[r], out + r * CPU_TILE_PANELS * CPU_PANEL);
}

/* Where a row's sums go that a wide panel gives. */
INLINE float *wide_out(const struct cpu_tile *tile, int32_t row, int32_t panel)
{
    float *to = tile->is_direct ? tile->target + (size_t)row * tile->target_stride
                                : tile->out + row * CPU_TILE_PANELS * CPU_PANEL;
    return to + panel * CPU_PANEL;
}

/* The same of a panel that is wide. */
INLINE void wide_rows(const struct cpu_tile *tile, int32_t row, int32_t panel, struct cpu_form form,
                      const int R)
{
    const unsigned char *p = tile->panels + (size_t)panel * tile->panel_bytes;
    float *out = tile->out + (row * CPU_TILE_PANELS + panel) * CPU_PANEL;
    const struct cpu_block *x[R_MAX];
    __m256 acc[R_MAX][2];
    EACH(int r = 0; r < R; r++) {
        x[r] = tile->blocks + (size_t)(row + r) * tile->block_stride;
        start(tile, out + r * CPU_TILE_PANELS * CPU_PANEL, acc[r]);
    }
    for (int32_t k = 0; k < tile->n_columns; k += 32) {
        EACH(int sub = 0; sub < 32 / form.n_sub; sub++) {
            struct factors factors;
            EACH(int half = 0; half < 2; half++) {
                factors.scale[half] = _mm256_loadu_ps((const float *)(const void *)p + 8 * half);
                if (form.has_minimum)
                    factors.minimum[half] =
                        _mm256_loadu_ps((const float *)(const void *)p + 16 + 8 * half);
            }
            p += form.has_minimum ? 128 : 64;
            sub_block(form, &factors, p, true, x, sub, R, acc);
            p += 16 * form.n_sub;
        }
        EACH(int r = 0; r < R; r++)
            x[r]++;
    }
    EACH(int r = 0; r < R; r++)
        stop(acc[r], wide_out(tile, row + r, panel));
}

/* Q8_0's wide form: q * w = (q ^ s) * |w| + |w| where w is negative and s all ones, so that the
 * sign costs one vpxor with what lies in memory, and the sum of those |w| starts the sum. A pair of
 * products is -2 * 128 * 128 at least: it just fits. */
INLINE void wide_signed_rows(const struct cpu_tile *tile, int32_t row, int32_t panel, const int R)
{
    const unsigned char *p = tile->panels + (size_t)panel * tile->panel_bytes;
    float *out = tile->out + (row * CPU_TILE_PANELS + panel) * CPU_PANEL;
    const size_t stride = tile->block_stride;
    const struct cpu_block *x = tile->blocks + (size_t)row * stride;
    const __m256i ones = _mm256_set1_epi16(1);
    __m256 acc[R_MAX][2];
    EACH(int r = 0; r < R; r++)
        start(tile, out + r * CPU_TILE_PANELS * CPU_PANEL, acc[r]);
    for (int32_t k = 0; k < tile->n_columns; k += 32, p += 1152, x++) {
        __m256i sums[R_MAX][2];
        EACH(int i = 0; i < 16; i++) {
            const int half = i % 2;
            __m256i size = load_bytes(p + 128 + 64 * i), sign = load_bytes(p + 160 + 64 * i);
            __m256i before = load_bytes(p + 64 + 32 * half);
            EACH(int r = 0; r < R; r++) {
                __m256i q = _mm256_xor_si256(sign, four(x[(size_t)r * stride].q + i / 2 * 4));
                __m256i fours = _mm256_madd_epi16(_mm256_maddubs_epi16(size, q), ones);
                sums[r][half] = _mm256_add_epi32(i < 2 ? before : sums[r][half], fours);
                NOW(sums[r][half]);
            }
        }
        EACH(int half = 0; half < 2; half++) {
            __m256 scale = _mm256_loadu_ps((const float *)(const void *)p + 8 * half);
            EACH(int r = 0; r < R; r++)
                acc[r][half] = _mm256_fmadd_ps(
                    _mm256_mul_ps(_mm256_cvtepi32_ps(sums[r][half]), scale),
                    _mm256_broadcast_ss(&x[(size_t)r * stride].scale), acc[r][half]);
        }
    }
    EACH(int r = 0; r < R; r++)
        stop(acc[r], wide_out(tile, row + r, panel));
}

static void widen_q8_0(const unsigned char *p, int32_t n_columns, unsigned char *to)
{
    const __m256i ones = _mm256_set1_epi16(1), none = _mm256_setzero_si256();
    for (int32_t k = 0; k < n_columns; k += 32, p += 544, to += 1152) {
        __m256i before[2] = { none, none };
        EACH(int line = 0; line < 544; line += 64)
            _mm_prefetch((const char *)p + PREFETCH_BYTES + line, _MM_HINT_T0);
        EACH(int i = 0; i < 16; i++) {
            __m256i bytes = load_bytes(p + 32 + 32 * i), size = _mm256_abs_epi8(bytes);
            __m256i sign = _mm256_cmpgt_epi8(none, bytes);
            _mm256_storeu_si256((void *)(to + 128 + 64 * i), size);
            _mm256_storeu_si256((void *)(to + 160 + 64 * i), sign);
            __m256i pairs = _mm256_maddubs_epi16(_mm256_and_si256(size, sign), _mm256_set1_epi8(1));
            before[i % 2] = _mm256_add_epi32(before[i % 2], _mm256_madd_epi16(pairs, ones));
        }
        EACH(int half = 0; half < 2; half++) {
            _mm256_storeu_ps((float *)(void *)to + 8 * half, load_half(p + 16 * half));
            _mm256_storeu_si256((void *)(to + 64 + 32 * half), before[half]);
        }
    }
}

INLINE void widen(struct cpu_form form, const unsigned char *p, int32_t n_columns,
                  unsigned char *to)
{
    for (int32_t k = 0; k < n_columns; k += form.n_unit) {
        struct factors unit = unit_factors(form, p);
        p += cpu_form_head(form);
        for (int32_t i = 0; i < form.n_unit; i += 32) {
            const unsigned char *w = p + cpu_form_scales(form);
            EACH(int line = 0; line < cpu_form_weights(form); line += 64)
                _mm_prefetch((const char *)w + PREFETCH_BYTES + line, _MM_HINT_T0);
            EACH(int sub = 0; sub < 32 / form.n_sub; sub++) {
                struct factors factors = sub_factors(form, &unit, p, sub);
                memcpy(to, factors.scale, 64);
                memcpy(to + 64, factors.minimum, form.has_minimum ? 64 : 0);
                to += form.has_minimum ? 128 : 64;
                EACH(int at = sub * form.n_sub; at < (sub + 1) * form.n_sub; at += 4)
                    EACH(int half = 0; half < 2; half++, to += 32)
                        _mm256_storeu_si256((void *)to, load_four(form, w, at, half));
            }
            p = w + cpu_form_weights(form);
        }
    }
}

/* Rows go in groups as even as can be, of r_max at most: how many sums fit the registers. */
INLINE void matmul_integer(const struct cpu_tile *tile, struct cpu_form form, const bool is_wide,
                           const int32_t r_max)
{
    int32_t n_groups = (tile->n_rows + r_max - 1) / r_max;
    for (int32_t panel = 0; panel < tile->n_panels; panel++)
        for (int32_t i = 0; i < n_groups; i++) {
            int32_t row = tile->n_rows * i / n_groups;
            int32_t n = tile->n_rows * (i + 1) / n_groups - row;
            EACH(int r = 1; r <= R_MAX; r++) {
                if (r > r_max || r != n)
                    continue;
                if (is_wide && form.n_bits == 8)
                    wide_signed_rows(tile, row, panel, r);
                else if (is_wide)
                    wide_rows(tile, row, panel, form, r);
                else
                    integer_rows(tile, row, panel, form, r);
            }
        }
}

#define MATMUL(type, form, r_max)                                                                  \
    static void matmul_##type(const struct cpu_tile *tile)                                         \
    {                                                                                              \
        matmul_integer(tile, form, false, r_max);                                                  \
    }
#define MATMUL_WIDE(type, form, r_max)                                                             \
    static void widen_##type(const unsigned char *panel, int32_t n_columns, unsigned char *wide)   \
    {                                                                                              \
        widen(form, panel, n_columns, wide);                                                       \
    }                                                                                              \
    static void wide_##type(const struct cpu_tile *tile)                                           \
    {                                                                                              \
        matmul_integer(tile, form, true, r_max);                                                   \
    }
MATMUL(q8_0, CPU_FORM_Q8_0, 4)
MATMUL(q4_0, CPU_FORM_Q4_0, 4)
MATMUL(q4_1, CPU_FORM_Q4_1, 4)
MATMUL(q5_0, CPU_FORM_Q5_0, 4)
MATMUL(q5_1, CPU_FORM_Q5_1, 4)
MATMUL(q2_k, CPU_FORM_Q2_K, 4)
MATMUL(q3_k, CPU_FORM_Q3_K, 4)
MATMUL(q4_k, CPU_FORM_Q4_K, 5)
MATMUL(q5_k, CPU_FORM_Q5_K, 4)
MATMUL(q6_k, CPU_FORM_Q6_K, 3)
static void wide_q8_0(const struct cpu_tile *tile)
{
    matmul_integer(tile, CPU_FORM_Q8_0, true, 4);
}
MATMUL_WIDE(q4_0, CPU_FORM_Q4_0, 4)
MATMUL_WIDE(q4_1, CPU_FORM_Q4_1, 4)
MATMUL_WIDE(q5_0, CPU_FORM_Q5_0, 4)
MATMUL_WIDE(q5_1, CPU_FORM_Q5_1, 4)
MATMUL_WIDE(q2_k, CPU_FORM_Q2_K, 4)
MATMUL_WIDE(q3_k, CPU_FORM_Q3_K, 4)
MATMUL_WIDE(q4_k, CPU_FORM_Q4_K, 4)
MATMUL_WIDE(q5_k, CPU_FORM_Q5_K, 4)
MATMUL_WIDE(q6_k, CPU_FORM_Q6_K, 4)

INLINE uint32_t biggest(__m256i x)
{
    __m128i m = _mm_max_epu32(_mm256_castsi256_si128(x), _mm256_extracti128_si256(x, 1));
    m = _mm_max_epu32(m, _mm_shuffle_epi32(m, 0x4E));
    m = _mm_max_epu32(m, _mm_shuffle_epi32(m, 0xB1));
    return (uint32_t)_mm_cvtsi128_si32(m);
}

static void quantize(const float *x, int32_t n, struct cpu_block *blocks)
{
    const __m256i magnitude = _mm256_set1_epi32(0x7FFFFFFF);
    const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
    for (struct cpu_block *b = blocks; b < blocks + n / 32; b++, x += 32) {
        __m256 v[4];
        __m256i max = _mm256_setzero_si256(), whole[4];
        for (int i = 0; i < 4; i++) {
            v[i] = _mm256_loadu_ps(x + 8 * i);
            max = _mm256_max_epu32(max, _mm256_and_si256(_mm256_castps_si256(v[i]), magnitude));
        }
        uint32_t bits = biggest(max);
        b->scale = vmath_of_bits(bits) / 127.0f;
        if (bits >= 0x7F800000u || b->scale < 0x1p-126f) { /* rare: the definition knows */
            memset(b->sums, 0, sizeof(b->sums));
            b->scale = quant_activations(x, b->q);
            cpu_block_finish(b);
            continue;
        }
        for (int i = 0; i < 4; i++)
            whole[i] = _mm256_cvtps_epi32(_mm256_div_ps(v[i], _mm256_set1_ps(b->scale)));
        __m256i low = _mm256_packs_epi32(whole[0], whole[1]);
        __m256i high = _mm256_packs_epi32(whole[2], whole[3]);
        __m256i bytes = _mm256_permutevar8x32_epi32(_mm256_packs_epi16(low, high), order);
        _mm256_storeu_si256((void *)b->q, bytes);
        __m256i pairs = _mm256_maddubs_epi16(_mm256_set1_epi8(1), bytes);
        pairs = _mm256_add_epi16(pairs, _mm256_shuffle_epi32(pairs, 0x4E));
        pairs = _mm256_add_epi16(pairs, _mm256_shuffle_epi32(pairs, 0xB1));
        uint32_t halves[2] = { (uint32_t)_mm256_extract_epi32(pairs, 0),
                               (uint32_t)_mm256_extract_epi32(pairs, 4) };
        memcpy(b->sums, halves, sizeof(halves));
        cpu_block_finish(b);
    }
}

/* The other half of AVX2's table. */
const struct cpu_kernels cpu_avx2_matmul = {
    .name = "cpu-avx2",
    .matmul = {
        [DTYPE_F32] = matmul_f32,   [DTYPE_F16] = matmul_f16,   [DTYPE_BF16] = matmul_bf16,
        [DTYPE_Q8_0] = matmul_q8_0, [DTYPE_Q4_0] = matmul_q4_0, [DTYPE_Q4_1] = matmul_q4_1,
        [DTYPE_Q5_0] = matmul_q5_0, [DTYPE_Q5_1] = matmul_q5_1, [DTYPE_Q2_K] = matmul_q2_k,
        [DTYPE_Q3_K] = matmul_q3_k, [DTYPE_Q4_K] = matmul_q4_k, [DTYPE_Q5_K] = matmul_q5_k,
        [DTYPE_Q6_K] = matmul_q6_k,
    },
    .widen = {
        [DTYPE_Q8_0] = widen_q8_0,
        [DTYPE_Q4_0] = widen_q4_0, [DTYPE_Q4_1] = widen_q4_1, [DTYPE_Q5_0] = widen_q5_0,
        [DTYPE_Q5_1] = widen_q5_1, [DTYPE_Q2_K] = widen_q2_k,
        [DTYPE_Q3_K] = widen_q3_k, [DTYPE_Q4_K] = widen_q4_k, [DTYPE_Q5_K] = widen_q5_k,
        [DTYPE_Q6_K] = widen_q6_k,
    },
    .matmul_wide = {
        [DTYPE_Q8_0] = wide_q8_0,
        [DTYPE_Q4_0] = wide_q4_0, [DTYPE_Q4_1] = wide_q4_1, [DTYPE_Q5_0] = wide_q5_0,
        [DTYPE_Q5_1] = wide_q5_1, [DTYPE_Q2_K] = wide_q2_k,
        [DTYPE_Q3_K] = wide_q3_k, [DTYPE_Q4_K] = wide_q4_k, [DTYPE_Q5_K] = wide_q5_k,
        [DTYPE_Q6_K] = wide_q6_k,
    },
    .wide_rows_min = { [DTYPE_Q8_0] = CPU_TILE_ROWS + 1 }, /* twice as large as packed */
    .quantize = quantize,
};
