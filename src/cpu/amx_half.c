/* Matrix multiplication of halves for AMX: products of pairs of bfloat16, summed as floats.
 *
 * A tile instruction multiplies 16 rows with a panel's 16 outputs and 32 columns in 16 cycles, a
 * sixteenth of what fused multiply-add needs. A float is two bfloat16, high and low, of 16 bits
 * together. An F16 weight is exactly two, a BF16 weight one. So a block of 32 columns takes two or
 * three products (the product of both lows is left out), always in this order: low x with high w,
 * high x with high w, high x with low w. compute.h defines each product, bit for bit. A row's sums
 * are those of its own tile row, whatever is in the others.
 *
 * Few rows take packed panels a block at a time through a buffer, at the speed of memory. Many rows
 * use panels that were converted to tiles once. One row does without tiles, because the same sums
 * by fused multiply-add keep up with memory, and making pairs for tiles does not. */
#include "cpu/amx_tiles.h"
#include "cpu/avx512.h"

#include <string.h>

enum {
    BLOCK = 32, /* columns of a product */
    TILE_BYTES = 1024,
    GROUP_BYTES = 2 * TILE_BYTES, /* of a block of 16 rows: all high, all low, 64 bytes a row */
    PREFETCH_BYTES = 1408,
    OUT_BYTES =
        CPU_TILE_PANELS * CPU_PANEL * (int)sizeof(float), /* from a row's sums to the next */
};

/* Tiles 0 to 3 hold sums, 4 and 5 hold rows, 6 and 7 hold weights. */
static void configure(int n_rows)
{
    struct cpu_tiles_shape shape = { .palette = 1, .n_rows = { [6] = 16, [7] = 16 } };
    for (int i = 0; i < 8; i++)
        shape.row_bytes[i] = 64;
    for (int i = 0; i < 6; i++)
        shape.n_rows[i] = (uint8_t)n_rows;
    cpu_tiles_configure(&shape);
}

/* ---- Rows. ---- */

/* Splits 32 floats: one row's part of a group's tiles. */
INLINE void split_block(__m512 first, __m512 second, unsigned char *to)
{
    __m512i high = (__m512i)_mm512_cvtne2ps_pbh(second, first);
    __m512i evens = _mm512_cvtepu16_epi32(_mm512_castsi512_si256(high));
    __m512i odds = _mm512_cvtepu16_epi32(_mm512_extracti64x4_epi64(high, 1));
    first = _mm512_sub_ps(first, _mm512_castsi512_ps(_mm512_slli_epi32(evens, 16)));
    second = _mm512_sub_ps(second, _mm512_castsi512_ps(_mm512_slli_epi32(odds, 16)));
    _mm512_storeu_si512(to, high);
    _mm512_storeu_si512(to + TILE_BYTES, (__m512i)_mm512_cvtne2ps_pbh(second, first));
}

static void split(const float *x, int32_t n, int32_t place, unsigned char *groups)
{
    groups += 64 * place;
    for (; n >= BLOCK; n -= BLOCK, x += BLOCK, groups += GROUP_BYTES)
        split_block(_mm512_loadu_ps(x), _mm512_loadu_ps(x + 16), groups);
    if (n == 0)
        return;
    uint32_t mask = (UINT32_C(1) << n) - 1;
    split_block(_mm512_maskz_loadu_ps((__mmask16)mask, x),
                _mm512_maskz_loadu_ps((__mmask16)(mask >> 16), x + 16), groups);
}

/* ---- Panels. ---- */

/* Makes pairs of bfloat16 of a panel's columns k and k + 1: the upper 16 bits of the floats. */
INLINE __m512i pairs(__m512i even, __m512i odd)
{
    const __m512i evens =
        _mm512_set_epi32(31, 29, 27, 25, 23, 21, 19, 17, 15, 13, 11, 9, 7, 5, 3, 1);
    const __m512i order = _mm512_or_si512(
        evens, _mm512_slli_epi32(_mm512_add_epi32(evens, _mm512_set1_epi32(32)), 16));
    return _mm512_permutex2var_epi16(even, order, odd);
}

INLINE __m512 high_part(__m512 w)
{
    return _mm512_castsi512_ps(
        _mm512_and_si512(_mm512_castps_si512(w), _mm512_set1_epi32((int)0xFFFF0000u)));
}
INLINE __m512 low_part(__m512 w)
{
    return _mm512_sub_ps(w, high_part(w));
}

INLINE void pair_f16(__m256i even, __m256i odd, unsigned char *to)
{
    __m512 a = _mm512_cvtph_ps(even), b = _mm512_cvtph_ps(odd);
    _mm512_storeu_si512(to, pairs(_mm512_castps_si512(a), _mm512_castps_si512(b)));
    a = low_part(a);
    b = low_part(b);
    _mm512_storeu_si512(to + TILE_BYTES, pairs(_mm512_castps_si512(a), _mm512_castps_si512(b)));
}

INLINE void pair_bf16(__m512i columns, unsigned char *to)
{
    const __m512i evens = _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
    const __m512i order = _mm512_or_si512(
        evens, _mm512_slli_epi32(_mm512_add_epi32(evens, _mm512_set1_epi32(16)), 16));
    _mm512_storeu_si512(to, _mm512_permutexvar_epi16(order, columns));
}

/* Makes a row of a panel's tiles, of pairs, from columns k and k + 1. A last single column is
 * paired with 0. */
INLINE void make_pair(enum dtype dtype, const unsigned char *columns, bool has_odd,
                      unsigned char *to)
{
    const __m256i *both = (const void *)columns;
    const __m256i none = _mm256_setzero_si256();
    if (dtype == DTYPE_F16)
        pair_f16(_mm256_loadu_si256(both), has_odd ? _mm256_loadu_si256(both + 1) : none, to);
    else if (has_odd)
        pair_bf16(_mm512_loadu_si512(both), to);
    else
        pair_bf16(_mm512_zextsi256_si512(_mm256_loadu_si256(both)), to);
}

INLINE size_t tiles_bytes(enum dtype dtype)
{
    return dtype == DTYPE_F16 ? 2 * TILE_BYTES : TILE_BYTES;
}

/* Makes the tiles of a block of n columns. Missing columns up to 32 are 0. */
INLINE void make_tiles(enum dtype dtype, const unsigned char *columns, int32_t n, unsigned char *to)
{
    if (n >= BLOCK) {
        EACH(int i = 0; i < BLOCK / 2; i++) {
            _mm_prefetch((const char *)columns + PREFETCH_BYTES + 64 * i, _MM_HINT_T0);
            make_pair(dtype, columns + 64 * i, true, to + 64 * i);
        }
        return;
    }
    memset(to, 0, tiles_bytes(dtype));
    for (int32_t k = 0; k < n; k += 2)
        make_pair(dtype, columns + 32 * k, k + 1 < n, to + 32 * k);
}

INLINE void widen(enum dtype dtype, const unsigned char *panel, int32_t n_columns,
                  unsigned char *wide)
{
    for (int32_t k = 0; k < n_columns; k += BLOCK, wide += tiles_bytes(dtype))
        make_tiles(dtype, panel + 32 * k, n_columns - k, wide);
}

static void widen_f16(const unsigned char *panel, int32_t n_columns, unsigned char *wide)
{
    widen(DTYPE_F16, panel, n_columns, wide);
}
static void widen_bf16(const unsigned char *panel, int32_t n_columns, unsigned char *wide)
{
    widen(DTYPE_BF16, panel, n_columns, wide);
}

/* ---- Products. ---- */

struct block { /* of one or two groups of rows, and of two panels */
    const unsigned char *x[2], *w[2];
};

/* Multiplies one group with one or two panels. Their sums are tiles s0 and s1. */
#define GROUP_PRODUCTS(s0, s1)                                                                     \
    do {                                                                                           \
        LOAD_TILE(6, b->w[0], 64);                                                                 \
        if (P > 1)                                                                                 \
            LOAD_TILE(7, b->w[1], 64);                                                             \
        LOAD_TILE(4, b->x[0] + TILE_BYTES, 64);                                                    \
        _tile_dpbf16ps(s0, 4, 6);                                                                  \
        if (P > 1)                                                                                 \
            _tile_dpbf16ps(s1, 4, 7);                                                              \
        LOAD_TILE(5, b->x[0], 64);                                                                 \
        _tile_dpbf16ps(s0, 5, 6);                                                                  \
        if (P > 1)                                                                                 \
            _tile_dpbf16ps(s1, 5, 7);                                                              \
        if (has_low) {                                                                             \
            LOAD_TILE(6, b->w[0] + TILE_BYTES, 64);                                                \
            _tile_dpbf16ps(s0, 5, 6);                                                              \
        }                                                                                          \
        if (has_low && P > 1) {                                                                    \
            LOAD_TILE(7, b->w[1] + TILE_BYTES, 64);                                                \
            _tile_dpbf16ps(s1, 5, 7);                                                              \
        }                                                                                          \
    } while (0)

/* Multiplies with panels `pair` and pair + 1 of four. Their sums are the tiles of the same
 * numbers. */
INLINE void group_products(const struct block *b, bool has_low, int pair, const int P)
{
    if (pair == 0)
        GROUP_PRODUCTS(0, 1);
    else
        GROUP_PRODUCTS(2, 3);
}

/* Multiplies two groups with one or two panels. Sums are tiles 0 and 1, and 2 and 3 for the second
 * group. */
INLINE void groups_products(const struct block *b, bool has_low, const int P)
{
    LOAD_TILE(6, b->w[0], 64);
    LOAD_TILE(4, b->x[0] + TILE_BYTES, 64);
    _tile_dpbf16ps(0, 4, 6);
    LOAD_TILE(5, b->x[1] + TILE_BYTES, 64);
    _tile_dpbf16ps(2, 5, 6);
    if (P > 1) {
        LOAD_TILE(7, b->w[1], 64);
        _tile_dpbf16ps(1, 4, 7);
        _tile_dpbf16ps(3, 5, 7);
    }
    LOAD_TILE(4, b->x[0], 64);
    _tile_dpbf16ps(0, 4, 6);
    LOAD_TILE(5, b->x[1], 64);
    _tile_dpbf16ps(2, 5, 6);
    if (P > 1) {
        _tile_dpbf16ps(1, 4, 7);
        _tile_dpbf16ps(3, 5, 7);
    }
    if (!has_low)
        return;
    LOAD_TILE(6, b->w[0] + TILE_BYTES, 64);
    _tile_dpbf16ps(0, 4, 6);
    _tile_dpbf16ps(2, 5, 6);
    if (P > 1) {
        LOAD_TILE(7, b->w[1] + TILE_BYTES, 64);
        _tile_dpbf16ps(1, 4, 7);
        _tile_dpbf16ps(3, 5, 7);
    }
}

/* ---- Sums. ---- */

#define FOR_SUMS(what)                                                                             \
    switch (sum) {                                                                                 \
    case 0:                                                                                        \
        what(0);                                                                                   \
        break;                                                                                     \
    case 1:                                                                                        \
        what(1);                                                                                   \
        break;                                                                                     \
    case 2:                                                                                        \
        what(2);                                                                                   \
        break;                                                                                     \
    default:                                                                                       \
        what(3);                                                                                   \
    }
#define ZERO(sum)  _tile_zero(sum)
#define LOAD(sum)  LOAD_TILE(sum, from, stride)
#define STORE(sum) _tile_stored(sum, to, stride)

/* Begins a tile of sums, or continues it from n_rows rows of out. */
INLINE void start(const int sum, bool is_continued, const float *out, int32_t n_rows,
                  int32_t height)
{
    const float *from = out;
    size_t stride = OUT_BYTES;
    _Alignas(64) float rows[16 * CPU_PANEL];
    if (!is_continued) {
        FOR_SUMS(ZERO)
        return;
    }
    for (int32_t r = 0; r < n_rows && n_rows < height; r++)
        memcpy(rows + r * CPU_PANEL, out + r * (CPU_TILE_PANELS * CPU_PANEL), 64);
    from = n_rows < height ? rows : out;
    stride = n_rows < height ? 64 : OUT_BYTES;
    FOR_SUMS(LOAD)
}

INLINE void stop(const int sum, float *out, int32_t n_rows, int32_t height)
{
    _Alignas(64) float rows[16 * CPU_PANEL];
    float *to = n_rows < height ? rows : out;
    size_t stride = n_rows < height ? 64 : OUT_BYTES;
    FOR_SUMS(STORE)
    for (int32_t r = 0; r < n_rows && n_rows < height; r++)
        memcpy(out + r * (CPU_TILE_PANELS * CPU_PANEL), rows + r * CPU_PANEL, 64);
}

/* Multiplies G groups of rows from `row` on with P panels. A single group has tiles with as many
 * rows as it has. With two groups, the second may have fewer rows than its tiles. */
INLINE void multiply(const struct cpu_tile *tile, int32_t row, int32_t panel, enum dtype dtype,
                     bool is_wide, const int G, const int P)
{
    const bool has_low = dtype == DTYPE_F16;
    const int32_t n_rows = tile->n_rows - row < 16 * G ? tile->n_rows - row : 16 * G;
    const int32_t height = G == 1 ? n_rows : 16;
    const unsigned char *w = tile->panels + (size_t)panel * tile->panel_bytes;
    const unsigned char *x = tile->groups + (size_t)(row / 16) * tile->group_stride;
    float *out = tile->out + (row * CPU_TILE_PANELS + panel) * CPU_PANEL;
    _Alignas(64) unsigned char made[2][2][2 * TILE_BYTES];
    EACH(int g = 0; g < G; g++)
        EACH(int p = 0; p < P; p++)
            start(2 * g + p, tile->is_continued, out + (16 * g * CPU_TILE_PANELS + p) * CPU_PANEL,
                  n_rows - 16 * g, height);
    for (int32_t k = 0; k < tile->n_columns; k += BLOCK, x += GROUP_BYTES) {
        EACH(int pair = 0; pair < P; pair += 2) {
            struct block b = { .x = { x, x + tile->group_stride } };
            EACH(int p = 0; p < 2; p++) {
                const unsigned char *columns = w + (size_t)(pair + p) * tile->panel_bytes;
                b.w[p] = is_wide ? columns : made[pair / 2][p];
                if (!is_wide && pair + p < P)
                    make_tiles(dtype, columns, tile->n_columns - k, made[pair / 2][p]);
            }
            if (G > 1)
                groups_products(&b, has_low, P);
            else
                group_products(&b, has_low, pair, P - pair);
        }
        w += is_wide ? tiles_bytes(dtype) : 32 * BLOCK;
    }
    EACH(int g = 0; g < G; g++)
        EACH(int p = 0; p < P; p++)
            stop(2 * g + p, out + (16 * g * CPU_TILE_PANELS + p) * CPU_PANEL, n_rows - 16 * g,
                 height);
}

/* ---- One row. ---- */

/* A row's block as floats: for each part the even columns, then the odd ones. */
struct floats {
    float high[2][BLOCK / 2], low[2][BLOCK / 2];
};

INLINE void unpair(const unsigned char *from, float to[2][BLOCK / 2])
{
    __m512 both = _mm512_loadu_ps(from);
    _mm512_storeu_si512(to[0], _mm512_slli_epi32(_mm512_castps_si512(both), 16));
    _mm512_storeu_ps(to[1], high_part(both));
}

/* A block of a row and two panels, and the places behind them from which they prefetch. */
struct row_block {
    const struct floats *x;
    const unsigned char *w[2];
    size_t far, near;
};

/* Adds a tile's products of a block to P panels' sums. Two panels are twelve chains of sums; the
 * six of one panel do not keep the units busy. */
INLINE void row_products(const struct row_block *b, enum dtype dtype, bool is_first, float *out,
                         const int P)
{
    const struct floats *x = b->x;
    __m512 sums[2][3][2];
    EACH(int i = 0; i < 6 * P; i++)
        sums[i / 6][i / 2 % 3][i % 2] = _mm512_setzero_ps();
    for (int pair = 0; pair < BLOCK / 2; pair++) /* unrolled, gcc puts all fetches at the start */
        EACH(int i = 0; i < 2 * P; i++) {
            const int p = i / 2, odd = i % 2;
            const unsigned char *w = b->w[p] + 64 * pair + 32 * odd;
            __m512 x_high = _mm512_set1_ps(x->high[odd][pair]);
            __m512 weight = load_floats(dtype, w);
            if (odd)
                _mm_prefetch((const char *)w + b->far, _MM_HINT_T1);
            else
                _mm_prefetch((const char *)w + b->near, _MM_HINT_T0);
            sums[p][0][odd] = _mm512_fmadd_ps(high_part(weight), _mm512_set1_ps(x->low[odd][pair]),
                                              sums[p][0][odd]);
            sums[p][1][odd] = _mm512_fmadd_ps(high_part(weight), x_high, sums[p][1][odd]);
            if (dtype == DTYPE_F16)
                sums[p][2][odd] = _mm512_fmadd_ps(low_part(weight), x_high, sums[p][2][odd]);
        }
    EACH(int p = 0; p < P; p++) {
        __m512 acc = is_first ? _mm512_setzero_ps() : _mm512_loadu_ps(out + p * CPU_PANEL);
        acc = _mm512_add_ps(acc, _mm512_add_ps(sums[p][0][0], sums[p][0][1]));
        acc = _mm512_add_ps(acc, _mm512_add_ps(sums[p][1][0], sums[p][1][1]));
        if (dtype == DTYPE_F16)
            acc = _mm512_add_ps(acc, _mm512_add_ps(sums[p][2][0], sums[p][2][1]));
        _mm512_storeu_ps(out + p * CPU_PANEL, acc);
    }
}

/* Multiplies P panels with the row's block at column k. */
INLINE void multiply_block(const struct cpu_tile *tile, struct row_block *b, enum dtype dtype,
                           int32_t k, int32_t panel, const int P)
{
    _Alignas(64) unsigned char rest[2][32 * BLOCK];
    const size_t n_bytes = 32 * (size_t)(tile->n_columns - k);
    EACH(int p = 0; p < P; p++) {
        b->w[p] = tile->panels + (size_t)(panel + p) * tile->panel_bytes + 32 * (size_t)k;
        if (n_bytes >= sizeof(rest[p]))
            continue;
        memset(rest[p], 0, sizeof(rest[p]));
        b->w[p] = memcpy(rest[p], b->w[p], n_bytes);
    }
    row_products(b, dtype, k == 0 && !tile->is_continued, tile->out + panel * CPU_PANEL, P);
}

/* All panels advance together, so the data behind their ends belongs to the next tile. */
INLINE void multiply_row(const struct cpu_tile *tile, enum dtype dtype)
{
    const size_t skip = (size_t)(tile->n_panels - 1) * tile->panel_bytes;
    struct floats x;
    for (int32_t k = 0; k < tile->n_columns; k += BLOCK) {
        const unsigned char *parts = tile->groups + (size_t)(k / BLOCK) * GROUP_BYTES;
        const int32_t n_bytes = 32 * (tile->n_columns - k);
        struct row_block b = { .x = &x, .far = FETCH_FAR, .near = FETCH_NEAR };
        b.far += n_bytes <= FETCH_FAR ? skip : 0;
        b.near += n_bytes <= FETCH_NEAR ? skip : 0;
        unpair(parts, x.high);
        unpair(parts + TILE_BYTES, x.low);
        int32_t panel = 0;
        for (; panel + 2 <= tile->n_panels; panel += 2)
            multiply_block(tile, &b, dtype, k, panel, 2);
        if (panel < tile->n_panels)
            multiply_block(tile, &b, dtype, k, panel, 1);
    }
}

static void row_f16(const struct cpu_tile *tile)
{
    multiply_row(tile, DTYPE_F16);
}
static void row_bf16(const struct cpu_tile *tile)
{
    multiply_row(tile, DTYPE_BF16);
}

/* Runs row without subnormal floats, as tile instructions do. It is not inlined, so that no
 * arithmetic is moved across it. */
static __attribute__((noinline)) void without_small(void (*row)(const struct cpu_tile *),
                                                    const struct cpu_tile *tile)
{
    const uint32_t usual = _mm_getcsr();
    _mm_setcsr(usual | _MM_FLUSH_ZERO_ON | _MM_DENORMALS_ZERO_ON);
    row(tile);
    _mm_setcsr(usual);
}

INLINE void multiply_all(const struct cpu_tile *tile, enum dtype dtype, bool is_wide)
{
    if (!is_wide && tile->n_rows == 1) {
        without_small(dtype == DTYPE_F16 ? row_f16 : row_bf16, tile);
        return;
    }
    for (int32_t row = 0; row < tile->n_rows; row += 32) {
        const int32_t n = tile->n_rows - row;
        int32_t panel = 0;
        configure(n < 16 ? n : 16);
        for (; n <= 16 && panel + 4 <= tile->n_panels; panel += 4)
            multiply(tile, row, panel, dtype, is_wide, 1, 4);
        for (; n <= 16 && panel < tile->n_panels; panel++)
            multiply(tile, row, panel, dtype, is_wide, 1, 1);
        for (; panel + 2 <= tile->n_panels; panel += 2)
            multiply(tile, row, panel, dtype, is_wide, 2, 2);
        for (; panel < tile->n_panels; panel++)
            multiply(tile, row, panel, dtype, is_wide, 2, 1);
    }
    _tile_release(); /* switching a thread that holds tiles is slow */
}

static void packed_f16(const struct cpu_tile *tile)
{
    multiply_all(tile, DTYPE_F16, false);
}
static void packed_bf16(const struct cpu_tile *tile)
{
    multiply_all(tile, DTYPE_BF16, false);
}
static void wide_f16(const struct cpu_tile *tile)
{
    multiply_all(tile, DTYPE_F16, true);
}
static void wide_bf16(const struct cpu_tile *tile)
{
    multiply_all(tile, DTYPE_BF16, true);
}

/* The halves of AMX's table, of any number of rows. */
const struct cpu_kernels cpu_amx_half = {
    .name = "cpu-amx",
    .matmul = { [DTYPE_F16] = packed_f16, [DTYPE_BF16] = packed_bf16 },
    .widen = { [DTYPE_F16] = widen_f16, [DTYPE_BF16] = widen_bf16 },
    .matmul_wide = { [DTYPE_F16] = wide_f16, [DTYPE_BF16] = wide_bf16 },
    .wide_rows_min = { [DTYPE_F16] = CPU_SPLIT_ROWS + 1, [DTYPE_BF16] = CPU_SPLIT_ROWS + 1 },
    .is_split = { [DTYPE_F16] = true, [DTYPE_BF16] = true },
    .split_bytes = GROUP_BYTES,
    .split = split,
};
