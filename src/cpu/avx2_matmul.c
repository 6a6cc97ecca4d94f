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
#include "cpu/ahead.h"
#include "cpu/kernels.h"

#include <immintrin.h>
#include <string.h>

enum { WIDE_SIGNED_BYTES = 1216 };

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

/* What one part of the rows fetches: the only one a little ahead in its panel, one of several its
 * share of the panel that comes next, so that memory has all of their time. */
struct ahead {
    const char *at;
    size_t block_bytes, step; /* for a block of columns, for a line of its weights */
};

/* For the i-th of n parts; n_bytes: of the panel's columns, of n_blocks blocks. */
INLINE struct ahead ahead_of(const struct cpu_tile *tile, int32_t panel, size_t n_bytes,
                             int32_t n_blocks, int32_t i, int32_t n)
{
    const char *own = (const char *)tile->panels + (size_t)panel * tile->panel_bytes;
    if (n > 1)
        own += tile->panel_bytes + n_bytes * (size_t)i / (size_t)n;
    else
        own += tile->n_rows <= 2 ? PREFETCH_FEW_BYTES : PREFETCH_BYTES;
    return (struct ahead){ own, n_bytes / (size_t)(n_blocks * n), 64 / (size_t)n };
}

/* A column of a panel of any float type. BFloat16s become floats by a shift and a mask: even
 * outputs, then odd ones, which float_start and float_stop know. */
INLINE void load_floats(enum dtype dtype, const unsigned char *p, __m256 w[2])
{
    if (dtype == DTYPE_F32) {
        w[0] = _mm256_loadu_ps((const float *)(const void *)p);
        w[1] = _mm256_loadu_ps((const float *)(const void *)p + 8);
    } else if (dtype == DTYPE_F16) {
        w[0] = load_half(p);
        w[1] = load_half(p + 16);
    } else {
        __m256i pairs = _mm256_loadu_si256((const void *)p);
        w[0] = _mm256_castsi256_ps(_mm256_slli_epi32(pairs, 16));
        w[1] = _mm256_castsi256_ps(_mm256_and_si256(pairs, _mm256_set1_epi32(-65536)));
    }
}

INLINE void float_start(const struct cpu_tile *tile, enum dtype dtype, const float *out,
                        __m256 acc[2])
{
    start(tile, out, acc);
    if (dtype != DTYPE_BF16)
        return;
    __m256 low = _mm256_permute2f128_ps(acc[0], acc[1], 0x20);
    __m256 high = _mm256_permute2f128_ps(acc[0], acc[1], 0x31);
    acc[0] = _mm256_shuffle_ps(low, high, 0x88);
    acc[1] = _mm256_shuffle_ps(low, high, 0xDD);
}

INLINE void float_stop(enum dtype dtype, __m256 acc[2], float *out)
{
    if (dtype == DTYPE_BF16) {
        __m256 low = _mm256_unpacklo_ps(acc[0], acc[1]);
        __m256 high = _mm256_unpackhi_ps(acc[0], acc[1]);
        acc[0] = _mm256_permute2f128_ps(low, high, 0x20);
        acc[1] = _mm256_permute2f128_ps(low, high, 0x31);
    }
    stop(acc, out);
}

/* Column i behind w and x. */
INLINE void float_step(const struct cpu_tile *tile, const unsigned char *w, const float *x, int i,
                       enum dtype dtype, const int R, const int P, __m256 acc[R_MAX][4][2])
{
    const size_t n_bytes = dtype == DTYPE_F32 ? 4 : 2;
    const size_t stride = tile->x_stride;
    const float *x3 = x + 3 * stride; /* so that addresses have a factor of 2 at most */
    EACH(int p = 0; p < P; p++) {
        __m256 weights[2];
        load_floats(dtype, w + (size_t)p * tile->panel_bytes + (size_t)i * 16 * n_bytes, weights);
        EACH(int r = 0; r < R; r++) {
            const float *from = (r < 3 ? x : x3) + (size_t)(r % 3) * stride + i;
            __m256 value = _mm256_broadcast_ss(from);
            acc[r][p][0] = _mm256_fmadd_ps(weights[0], value, acc[r][p][0]);
            acc[r][p][1] = _mm256_fmadd_ps(weights[1], value, acc[r][p][1]);
        }
    }
}

/* R rows, the i-th of n parts, against P panels: R * P * 2 independent sums, at most 12. */
INLINE void float_rows(const struct cpu_tile *tile, int32_t row, int32_t panel, int32_t part,
                       int32_t n_parts, enum dtype dtype, const int R, const int P)
{
    enum { BLOCK = 4 };
    const size_t n_bytes = dtype == DTYPE_F32 ? 4 : 2;
    const int n_lines = BLOCK * CPU_PANEL * (int)n_bytes / 64;
    const unsigned char *w = tile->panels + (size_t)panel * tile->panel_bytes;
    const float *x = tile->x + (size_t)row * tile->x_stride;
    float *out = tile->out + (row * CPU_TILE_PANELS + panel) * CPU_PANEL;
    int32_t n_blocks = tile->n_columns / BLOCK;
    struct ahead ahead = ahead_of(tile, panel, (size_t)n_blocks * BLOCK * CPU_PANEL * n_bytes,
                                  max_i32(n_blocks, 1), part, n_parts);
    __m256 acc[R_MAX][4][2];
    EACH(int r = 0; r < R; r++)
        EACH(int p = 0; p < P; p++)
            float_start(tile, dtype, out + (r * CPU_TILE_PANELS + p) * CPU_PANEL, acc[r][p]);
    for (int32_t i = 0; i < n_blocks; i++, x += BLOCK, w += BLOCK * CPU_PANEL * n_bytes) {
        EACH(int p = 0; p < P; p++)
            EACH(int line = 0; line < n_lines; line++)
                _mm_prefetch(ahead.at + (size_t)p * tile->panel_bytes + (size_t)line * ahead.step,
                             _MM_HINT_T0);
        ahead.at += ahead.block_bytes;
        EACH(int j = 0; j < BLOCK; j++)
            float_step(tile, w, x, j, dtype, R, P, acc);
    }
    for (int32_t k = n_blocks * BLOCK; k < tile->n_columns; k++, x++, w += CPU_PANEL * n_bytes)
        float_step(tile, w, x, 0, dtype, R, P, acc);
    EACH(int r = 0; r < R; r++)
        EACH(int p = 0; p < P; p++)
            float_stop(dtype, acc[r][p], out + (r * CPU_TILE_PANELS + p) * CPU_PANEL);
}

/* All panels of the tile against its R rows, P panels at a time. */
INLINE void float_panels(const struct cpu_tile *tile, enum dtype dtype, const int R, const int P)
{
    int32_t panel = 0;
    for (; panel + P <= tile->n_panels; panel += P)
        float_rows(tile, 0, panel, 0, 1, dtype, R, P);
    for (; panel < tile->n_panels; panel++)
        float_rows(tile, 0, panel, 0, 1, dtype, R, 1);
}

/* Rows in parts as even as can be: a panel stays in the first-level cache while all pass. */
INLINE void float_parts(const struct cpu_tile *tile, enum dtype dtype)
{
    int32_t n_parts = (tile->n_rows + R_MAX - 1) / R_MAX;
    for (int32_t panel = 0; panel < tile->n_panels; panel++)
        for (int32_t i = 0; i < n_parts; i++) {
            int32_t row = tile->n_rows * i / n_parts;
            switch (tile->n_rows * (i + 1) / n_parts - row) {
            case 3:
                float_rows(tile, row, panel, i, n_parts, dtype, 3, 1);
                break;
            case 4:
                float_rows(tile, row, panel, i, n_parts, dtype, 4, 1);
                break;
            case 5:
                float_rows(tile, row, panel, i, n_parts, dtype, 5, 1);
                break;
            default:
                float_rows(tile, row, panel, i, n_parts, dtype, 6, 1);
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
        float_parts(tile, dtype);
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

/* sums[r][half]: of (stored - centre) * q over a sub-block, in pairs of int16. */
INLINE void dot_unsigned(struct cpu_form form, const unsigned char *w,
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
            weights[half] = load_four(form, w, k, half);
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
                      const struct cpu_block *const *x, int sub, const int R, __m256 acc[R_MAX][2])
{
    __m256i sums[R_MAX][2];
    if (form.n_bits == 8)
        dot_signed(w, x, R, sums);
    else
        dot_unsigned(form, w, x, sub, R, sums);
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

/* NaN of what is not finite, as scaled_sum has it. */
INLINE __m256 finite(__m256 scale)
{
    return _mm256_fmadd_ps(scale, _mm256_setzero_ps(), scale);
}

/* The halves of a unit; minimums that are subtracted come negated. */
INLINE struct factors unit_factors(struct cpu_form form, const unsigned char *p)
{
    struct factors f = { { finite(load_half(p)), finite(load_half(p + 16)) }, { { 0 } } };
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
                         struct cpu_form form, int32_t part, int32_t n_parts, const int R)
{
    const unsigned char *p = tile->panels + (size_t)panel * tile->panel_bytes;
    float *out = tile->out + (row * CPU_TILE_PANELS + panel) * CPU_PANEL;
    int32_t n_units = tile->n_columns / form.n_unit;
    struct ahead ahead = ahead_of(tile, panel, (size_t)(n_units * cpu_form_unit_bytes(form)),
                                  tile->n_columns / 32, part, n_parts);
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
            EACH(int line = 0; line < form.n_bits; line++)
                _mm_prefetch(ahead.at + (size_t)line * ahead.step, _MM_HINT_T0);
            ahead.at += ahead.block_bytes;
            EACH(int sub = 0; sub < 32 / form.n_sub; sub++) {
                struct factors factors = sub_factors(form, &unit, p, sub);
                sub_block(form, &factors, w, x, sub, R, acc);
            }
            p = w + cpu_form_weights(form);
            EACH(int r = 0; r < R; r++)
                x[r]++;
        }
    }
    EACH(int r = 0; r < R; r++)
        stop(acc[r], out + r * CPU_TILE_PANELS * CPU_PANEL);
}

/* A block of 16 rows, for wide panels: rows side by side, so that what a kernel reads of several
 * lies in few cache lines. */
struct group {
    uint8_t q[8][CPU_GROUP_ROWS][4]; /* q + 128, of four columns after four */
    float scale[CPU_GROUP_ROWS];
    float sum[3][CPU_GROUP_ROWS]; /* scale times the sum of all q, of the first 16, of the others */
    int32_t sum_16[CPU_GROUP_ROWS]; /* 16 times the sum of q, and CPU_SUM_BITS */
};

static void group(const struct cpu_block *row, int32_t n_blocks, int32_t place,
                  unsigned char *groups)
{
    struct group *to = (struct group *)(void *)groups;
    for (const struct cpu_block *b = row; b < row + n_blocks; b++, to++) {
        for (int i = 0; i < 8; i++) {
            uint32_t four_q;
            memcpy(&four_q, b->q + 4 * i, 4);
            four_q ^= 0x80808080u;
            memcpy(to->q[i][place], &four_q, 4);
        }
        int32_t first = cpu_block_sum(b, 0), second = cpu_block_sum(b, 1);
        to->scale[place] = b->scale;
        to->sum[0][place] = b->sum;
        to->sum[1][place] = (float)first * b->scale;
        to->sum[2][place] = (float)second * b->scale;
        to->sum_16[place] = 16 * (first + second) + CPU_SUM_BITS;
    }
}

/* The first group of a row's, at the row's place. */
INLINE const struct group *group_at(const struct cpu_tile *tile, int32_t row)
{
    const unsigned char *groups = tile->groups;
    groups += (size_t)(row / CPU_GROUP_ROWS) * tile->group_stride;
    return (const void *)(groups + sizeof(float) * (size_t)(row % CPU_GROUP_ROWS));
}

/* Where a row's sums go that a wide panel gives. */
INLINE float *wide_out(const struct cpu_tile *tile, int32_t row, int32_t panel)
{
    float *to = tile->is_direct ? tile->target + (size_t)row * tile->target_stride
                                : tile->out + row * CPU_TILE_PANELS * CPU_PANEL;
    return to + panel * CPU_PANEL;
}

INLINE __m256 load_8_floats(const unsigned char *p)
{
    return _mm256_loadu_ps((const float *)(const void *)p);
}

/* A sum that has CPU_SUM_BITS added times its scale (see there); p: of 8 outputs of put_scales. To
 * convert it and to multiply takes as many instructions, but Zen 3 does a quarter less with them.
 */
INLINE __m256 scaled_sum(__m256i sum, const unsigned char *p)
{
    return _mm256_fmadd_ps(_mm256_castsi256_ps(sum), load_8_floats(p), load_8_floats(p + 64));
}

/* Sums of (q + 128) * (stored - centre) over a (sub-)block in int16, from -128 times the sum of
 * what is stored on: they may wrap on the way, but end as those of q. */
INLINE void wide_dot(struct cpu_form form, const unsigned char *w, const struct group *x, int sub,
                     const int R, __m256i sums[R_MAX][2])
{
    const __m256i ones = _mm256_set1_epi16(1);
    EACH(int i = 0; i < form.n_sub / 4; i++) {
        __m256i weights[2] = { load_bytes(w + 64 + 64 * i), load_bytes(w + 96 + 64 * i) };
        EACH(int r = 0; r < R; r++) {
            __m256i q = four(x->q[sub * form.n_sub / 4 + i][r]);
            EACH(int half = 0; half < 2; half++) {
                __m256i before = i == 0 ? load_bytes(w + 32 * half) : sums[r][half];
                sums[r][half] = _mm256_add_epi16(_mm256_maddubs_epi16(q, weights[half]), before);
                NOW(sums[r][half]);
            }
        }
    }
    EACH(int r = 0; r < R; r++)
        EACH(int half = 0; half < 2; half++) {
            __m256i more = centre_of(form) != form.offset ? four(&x->sum_16[r])
                                                          : _mm256_set1_epi32(CPU_SUM_BITS);
            sums[r][half] = _mm256_add_epi32(_mm256_madd_epi16(sums[r][half], ones), more);
        }
}

/* R rows against a panel that is wide. */
INLINE void wide_rows(const struct cpu_tile *tile, int32_t row, int32_t panel, struct cpu_form form,
                      const int R)
{
    const unsigned char *p = tile->panels + (size_t)panel * tile->panel_bytes;
    float *out = tile->out + (row * CPU_TILE_PANELS + panel) * CPU_PANEL;
    const struct group *x = group_at(tile, row);
    const char *ahead = NULL;
    int32_t n_ahead = cpu_fetch_ahead(tile, row, panel, R, 1, &ahead);
    __m256 acc[R_MAX][2];
    EACH(int r = 0; r < R; r++)
        start(tile, out + r * CPU_TILE_PANELS * CPU_PANEL, acc[r]);
    for (int32_t k = 0; k < tile->n_columns; k += 32, x++) {
        for (int32_t i = 0; i < n_ahead; i++, ahead += 64)
            _mm_prefetch(ahead, _MM_HINT_T1);
        EACH(int sub = 0; sub < 32 / form.n_sub; sub++) {
            __m256i sums[R_MAX][2];
            const int head = form.has_minimum ? 192 : 128;
            wide_dot(form, p + head, x, sub, R, sums);
            EACH(int half = 0; half < 2; half++)
                EACH(int r = 0; r < R; r++) {
                    acc[r][half] = _mm256_fmadd_ps(scaled_sum(sums[r][half], p + 32 * half),
                                                   _mm256_broadcast_ss(&x->scale[r]), acc[r][half]);
                    if (!form.has_minimum)
                        continue;
                    const float *x_sum = &x->sum[form.n_sub == 32 ? 0 : sub + 1][r];
                    acc[r][half] = _mm256_fmadd_ps(load_8_floats(p + 128 + 32 * half),
                                                   _mm256_broadcast_ss(x_sum), acc[r][half]);
                }
            p += head + 64 + 16 * form.n_sub;
        }
    }
    EACH(int r = 0; r < R; r++)
        stop(acc[r], wide_out(tile, row + r, panel));
}

/* From memory: with four rows there are no registers for both sizes and both signs. */
INLINE __m256i flip(__m256i q, const unsigned char *sign)
{
    __m256i flipped;
    __asm__("vpxor %2, %1, %0" : "=x"(flipped) : "x"(q), "m"(*(const __m256i *)(const void *)sign));
    return flipped;
}

/* Q8_0's wide form: q * w = (q ^ s) * |w| + |w| where w is negative and s all ones, so that the
 * sign costs one vpxor with what lies in memory (which turns q + 128 into q too), and the sum of
 * those |w| starts the sum. A pair of products is -2 * 128 * 128 at least: it just fits. */
INLINE void wide_signed_rows(const struct cpu_tile *tile, int32_t row, int32_t panel, const int R)
{
    const unsigned char *p = tile->panels + (size_t)panel * tile->panel_bytes;
    float *out = tile->out + (row * CPU_TILE_PANELS + panel) * CPU_PANEL;
    const struct group *x = group_at(tile, row);
    const __m256i ones = _mm256_set1_epi16(1);
    const char *ahead = NULL;
    int32_t n_ahead = cpu_fetch_ahead(tile, row, panel, R, 1, &ahead);
    __m256 acc[R_MAX][2];
    EACH(int r = 0; r < R; r++)
        start(tile, out + r * CPU_TILE_PANELS * CPU_PANEL, acc[r]);
    for (int32_t k = 0; k < tile->n_columns; k += 32, p += WIDE_SIGNED_BYTES, x++) {
        for (int32_t i = 0; i < n_ahead; i++, ahead += 64)
            _mm_prefetch(ahead, _MM_HINT_T1);
        __m256i sums[R_MAX][2];
        EACH(int i = 0; i < 8; i++) {
            const unsigned char *w = p + 192 + 128 * i;
            __m256i size[2] = { load_bytes(w), load_bytes(w + 32) };
            EACH(int r = 0; r < R; r++) {
                __m256i q = four(x->q[i][r]);
                EACH(int half = 0; half < 2; half++) {
                    __m256i before = i == 0 ? load_bytes(p + 128 + 32 * half) : sums[r][half];
                    __m256i pairs = _mm256_maddubs_epi16(size[half], flip(q, w + 64 + 32 * half));
                    sums[r][half] = _mm256_add_epi32(_mm256_madd_epi16(pairs, ones), before);
                    NOW(sums[r][half]);
                }
            }
        }
        EACH(int half = 0; half < 2; half++)
            EACH(int r = 0; r < R; r++)
                acc[r][half] = _mm256_fmadd_ps(scaled_sum(sums[r][half], p + 32 * half),
                                               _mm256_broadcast_ss(&x->scale[r]), acc[r][half]);
    }
    EACH(int r = 0; r < R; r++)
        stop(acc[r], wide_out(tile, row + r, panel));
}

/* Scales, and what CPU_SUM_BITS give with them, to be taken away. */
INLINE void put_scales(const __m256 scale[2], unsigned char *to)
{
    EACH(int half = 0; half < 2; half++) {
        __m256 less = _mm256_mul_ps(scale[half], _mm256_set1_ps(-CPU_SUM_FLOAT));
        _mm256_storeu_ps((float *)(void *)to + 8 * half, scale[half]);
        _mm256_storeu_ps((float *)(void *)to + 16 + 8 * half, less);
    }
}

static void widen_q8_0(const unsigned char *p, int32_t n_columns, unsigned char *to)
{
    const __m256i ones = _mm256_set1_epi16(1), none = _mm256_setzero_si256();
    for (int32_t k = 0; k < n_columns; k += 32, p += 544, to += WIDE_SIGNED_BYTES) {
        __m256i before[2];
        before[0] = before[1] = _mm256_set1_epi32(CPU_SUM_BITS);
        EACH(int line = 0; line < 544; line += 64)
            _mm_prefetch((const char *)p + PREFETCH_BYTES + line, _MM_HINT_T0);
        EACH(int i = 0; i < 16; i++) {
            unsigned char *w = to + 192 + 128 * (i / 2) + 32 * (i % 2);
            __m256i bytes = load_bytes(p + 32 + 32 * i), size = _mm256_abs_epi8(bytes);
            __m256i sign = _mm256_cmpgt_epi8(none, bytes);
            _mm256_storeu_si256((void *)w, size);
            _mm256_storeu_si256((void *)(w + 64),
                                _mm256_xor_si256(sign, _mm256_set1_epi8((char)0x80)));
            __m256i pairs = _mm256_maddubs_epi16(_mm256_and_si256(size, sign), _mm256_set1_epi8(1));
            before[i % 2] = _mm256_add_epi32(before[i % 2], _mm256_madd_epi16(pairs, ones));
        }
        put_scales((__m256[2]){ load_half(p), load_half(p + 16) }, to);
        EACH(int half = 0; half < 2; half++)
            _mm256_storeu_si256((void *)(to + 128 + 32 * half), before[half]);
    }
}

/* The weights of a (sub-)block, at w as packed, and what their sums start from. */
INLINE void widen_weights(struct cpu_form form, const unsigned char *w, int sub, unsigned char *to)
{
    const __m256i centre = _mm256_set1_epi8((char)centre_of(form)), one = _mm256_set1_epi8(1);
    __m256i sums[2];
    sums[0] = sums[1] = _mm256_setzero_si256();
    EACH(int i = 0; i < form.n_sub / 4; i++)
        EACH(int half = 0; half < 2; half++) {
            __m256i bytes = load_four(form, w, sub * form.n_sub + 4 * i, half);
            bytes = _mm256_sub_epi8(bytes, centre);
            sums[half] = _mm256_sub_epi16(sums[half], _mm256_maddubs_epi16(one, bytes));
            _mm256_storeu_si256((void *)(to + 64 + 64 * i + 32 * half), bytes);
        }
    EACH(int half = 0; half < 2; half++)
        _mm256_storeu_si256((void *)(to + 32 * half), _mm256_slli_epi16(sums[half], 7));
}

INLINE void widen(struct cpu_form form, const unsigned char *p, int32_t n_columns,
                  unsigned char *to)
{
    const size_t head = form.has_minimum ? 192 : 128;
    for (int32_t k = 0; k < n_columns; k += form.n_unit) {
        struct factors unit = unit_factors(form, p);
        p += cpu_form_head(form);
        for (int32_t i = 0; i < form.n_unit; i += 32) {
            const unsigned char *w = p + cpu_form_scales(form);
            EACH(int line = 0; line < cpu_form_weights(form); line += 64)
                _mm_prefetch((const char *)w + PREFETCH_BYTES + line, _MM_HINT_T0);
            EACH(int sub = 0; sub < 32 / form.n_sub; sub++) {
                struct factors factors = sub_factors(form, &unit, p, sub);
                put_scales(factors.scale, to);
                memcpy(to + 128, factors.minimum, form.has_minimum ? 64 : 0);
                widen_weights(form, w, sub, to + head);
                to += head + 64 + 16 * (size_t)form.n_sub;
            }
            p = w + cpu_form_weights(form);
        }
    }
}

/* Rows go in parts as even as can be, of r_max at most: how many sums fit the registers. */
INLINE void matmul_integer(const struct cpu_tile *tile, struct cpu_form form, const int32_t r_max)
{
    int32_t n_parts = (tile->n_rows + r_max - 1) / r_max;
    for (int32_t panel = 0; panel < tile->n_panels; panel++)
        for (int32_t i = 0; i < n_parts; i++) {
            int32_t row = tile->n_rows * i / n_parts;
            int32_t n = tile->n_rows * (i + 1) / n_parts - row;
            EACH(int r = 1; r <= R_MAX; r++)
                if (r <= r_max && r == n)
                    integer_rows(tile, row, panel, form, i, n_parts, r);
        }
}

/* The same of every group of rows. */
INLINE void matmul_wide(const struct cpu_tile *tile, struct cpu_form form, const int32_t r_max)
{
    for (int32_t panel = 0; panel < tile->n_panels; panel++)
        for (int32_t first = 0; first < tile->n_rows; first += CPU_GROUP_ROWS) {
            int32_t n_rows = min_i32(CPU_GROUP_ROWS, tile->n_rows - first);
            int32_t n_parts = (n_rows + r_max - 1) / r_max;
            for (int32_t i = 0; i < n_parts; i++) {
                int32_t row = first + n_rows * i / n_parts;
                int32_t n = first + n_rows * (i + 1) / n_parts - row;
                EACH(int r = 1; r <= R_MAX; r++)
                    if (r <= r_max && r == n && form.n_bits == 8)
                        wide_signed_rows(tile, row, panel, r);
                    else if (r <= r_max && r == n)
                        wide_rows(tile, row, panel, form, r);
            }
        }
}

#define MATMUL(type, form, r_max)                                                                  \
    static void matmul_##type(const struct cpu_tile *tile)                                         \
    {                                                                                              \
        matmul_integer(tile, form, r_max);                                                         \
    }                                                                                              \
    static void widen_##type(const unsigned char *panel, int32_t n_columns, unsigned char *wide)   \
    {                                                                                              \
        widen(form, panel, n_columns, wide);                                                       \
    }
static void matmul_q8_0(const struct cpu_tile *tile)
{
    matmul_integer(tile, CPU_FORM_Q8_0, 4);
}
MATMUL(q4_0, CPU_FORM_Q4_0, 4)
MATMUL(q4_1, CPU_FORM_Q4_1, 4)
MATMUL(q5_0, CPU_FORM_Q5_0, 4)
MATMUL(q5_1, CPU_FORM_Q5_1, 4)
MATMUL(q2_k, CPU_FORM_Q2_K, 4)
MATMUL(q3_k, CPU_FORM_Q3_K, 4)
MATMUL(q4_k, CPU_FORM_Q4_K, 5)
MATMUL(q5_k, CPU_FORM_Q5_K, 4)
MATMUL(q6_k, CPU_FORM_Q6_K, 3)

/* Wide panels differ in the length of a sub-block, in minimums and in the centre only. */
static void wide_signed(const struct cpu_tile *tile)
{
    matmul_wide(tile, CPU_FORM_Q8_0, 4);
}
static void wide_32(const struct cpu_tile *tile)
{
    matmul_wide(tile, CPU_FORM_Q4_0, 6);
}
static void wide_32_minimum(const struct cpu_tile *tile)
{
    matmul_wide(tile, CPU_FORM_Q4_1, 6);
}
static void wide_32_minimum_centred(const struct cpu_tile *tile)
{
    matmul_wide(tile, CPU_FORM_Q5_1, 6);
}
static void wide_16(const struct cpu_tile *tile)
{
    matmul_wide(tile, CPU_FORM_Q6_K, 4);
}
static void wide_16_minimum(const struct cpu_tile *tile)
{
    matmul_wide(tile, CPU_FORM_Q2_K, 4);
}

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
        [DTYPE_Q8_0] = wide_signed, [DTYPE_Q4_0] = wide_32, [DTYPE_Q4_1] = wide_32_minimum,
        [DTYPE_Q5_0] = wide_32, [DTYPE_Q5_1] = wide_32_minimum_centred,
        [DTYPE_Q2_K] = wide_16_minimum, [DTYPE_Q3_K] = wide_16, [DTYPE_Q4_K] = wide_32_minimum,
        [DTYPE_Q5_K] = wide_32_minimum_centred, [DTYPE_Q6_K] = wide_16,
    },
    .wide_rows_min = { [DTYPE_Q8_0] = 24 }, /* more than twice as large as packed */
    .group_bytes = sizeof(struct group),
    .group = group,
    .quantize = quantize,
};
