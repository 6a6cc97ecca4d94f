/* Matrix multiplication of integers for AMX: a tile is 16 rows against a panel's 16 outputs.
 *
 * One tdpbssd makes the products of a block of 32 columns, exactly, in 16 cycles. What turns its
 * sums into floats decides: convert, multiply two scales and add, for each row, and while tile
 * instructions are under way a core does such work in one port, not two, so 48 cycles a tile, under
 * which all else must hide. Floats stay in registers for a panel's columns; blocks pass in three
 * stages, each behind the one before: multiplied, stored, added. */
#include "cpu/amx_tiles.h"
#include "cpu/avx512_panels.h"

enum { R_MAX = CPU_GROUP_ROWS, STAGES = 3 };

struct group { /* a block of 16 rows */
    int8_t q[R_MAX][32];
    float scale[R_MAX], sum[R_MAX];
};

/* Tiles 0 and 1 hold sums, 2 and 3 rows, 4 and 5 weights. */
static void configure(int n_rows)
{
    struct cpu_tiles_shape shape = { .palette = 1,
                                     .row_bytes = { 64, 64, 32, 32, 64, 64 },
                                     .n_rows = { [4] = 8, [5] = 8 } };
    for (int i = 0; i < 4; i++)
        shape.n_rows[i] = (uint8_t)n_rows;
    cpu_tiles_configure(&shape);
}

INLINE const struct group *group_of(const struct cpu_tile *tile, int32_t row)
{
    const unsigned char *groups = tile->groups;
    return (const void *)(groups + (size_t)(row / R_MAX) * tile->group_stride);
}

static void group(const struct cpu_block *row, int32_t n_blocks, int32_t place,
                  unsigned char *groups)
{
    struct group *to = (struct group *)(void *)groups;
    for (int32_t b = 0; b < n_blocks; b++) {
        _mm256_storeu_si256((void *)to[b].q[place], _mm256_loadu_si256((const void *)row[b].q));
        to[b].scale[place] = row[b].scale;
        to[b].sum[place] = row[b].sum;
    }
}

/* What a block's sums add to those so far. */
INLINE void add_scaled(bool has_minimum, const unsigned char *wide, const struct group *x,
                       const int32_t *sums, const int R, __m512 acc[R_MAX])
{
    const __m512 scale = _mm512_loadu_ps(wide);
    const __m512 minimum = has_minimum ? _mm512_loadu_ps(wide + 64) : _mm512_setzero_ps();
    EACH(int r = 0; r < R; r++) {
        __m512 both = _mm512_mul_ps(scale, _mm512_set1_ps(x->scale[r]));
        __m512 sum = _mm512_cvtepi32_ps(_mm512_load_si512(sums + r * CPU_PANEL));
        acc[r] = _mm512_fmadd_ps(sum, both, acc[r]);
        if (has_minimum)
            acc[r] = _mm512_fmadd_ps(minimum, _mm512_set1_ps(x->sum[r]), acc[r]);
    }
}

/* What the tile of sums held goes out; then it is that of the next block, unless none is left. */
#define STAGE(is_left, tile_sums, tile_x, tile_w, x, w, out)                                       \
    do {                                                                                           \
        _tile_stored(tile_sums, out, 64);                                                          \
        if (!(is_left))                                                                            \
            break;                                                                                 \
        LOAD_TILE(tile_x, x, 32);                                                                  \
        LOAD_TILE(tile_w, w, 64);                                                                  \
        _tile_zero(tile_sums);                                                                     \
        _tile_dpbssd(tile_sums, tile_x, tile_w);                                                   \
    } while (0)

INLINE void start(const struct cpu_tile *tile, const float *out, const int R, __m512 acc[R_MAX])
{
    EACH(int r = 0; r < R; r++)
        acc[r] = tile->is_continued ? _mm512_loadu_ps(out + r * CPU_TILE_PANELS * CPU_PANEL)
                                    : _mm512_setzero_ps();
}

INLINE void stop(float *out, const int R, const __m512 acc[R_MAX])
{
    EACH(int r = 0; r < R; r++)
        _mm512_storeu_ps(out + r * CPU_TILE_PANELS * CPU_PANEL, acc[r]);
}

struct place { /* of a block in the tile's panels */
    const unsigned char *wide;
    int32_t i; /* in its panel */
};

INLINE void next(const struct cpu_tile *tile, size_t block_bytes, struct place *at)
{
    at->wide += block_bytes;
    if (++at->i < tile->n_columns / 32)
        return;
    at->wide += tile->panel_bytes - (size_t)at->i * block_bytes;
    at->i = 0;
}

/* R rows against all panels, without a pause between two. */
INLINE void group_panels(const struct cpu_tile *tile, bool has_minimum, int32_t row, const int R)
{
    const struct group *x = group_of(tile, row);
    float *out = tile->out + row * CPU_TILE_PANELS * CPU_PANEL;
    const char *ahead = NULL;
    int32_t panel = 0, n_ahead = 0;
    const size_t head = has_minimum ? 128 : 64, block_bytes = head + 512;
    const int32_t n = tile->n_columns / 32 * tile->n_panels;
    struct place multiplied = { tile->panels, 0 }, added = multiplied;
    _Alignas(64) int32_t sums[2][R_MAX * CPU_PANEL];
    __m512 acc[R_MAX];
    start(tile, out, R, acc);
    for (int32_t i = 0; i < n + STAGES; i++) {
        if (multiplied.i == 0)
            n_ahead = i < n ? fetch_ahead(tile, row, panel++, R, 1, &ahead) : 0;
        if (i % 2 == 0)
            STAGE(i < n, 0, 2, 4, x[multiplied.i].q, multiplied.wide + head, sums[0]);
        else
            STAGE(i < n, 1, 3, 5, x[multiplied.i].q, multiplied.wide + head, sums[1]);
        for (int32_t line = 0; line < n_ahead; line++, ahead += 64)
            _mm_prefetch(ahead, _MM_HINT_T1);
        next(tile, block_bytes, &multiplied);
        if (i < STAGES)
            continue;
        add_scaled(has_minimum, added.wide, x + added.i, sums[(i - STAGES) % 2], R, acc);
        next(tile, block_bytes, &added);
        if (added.i > 0)
            continue;
        stop(out, R, acc);
        out += CPU_PANEL;
        if (i + 1 < n + STAGES)
            start(tile, out, R, acc);
    }
}

INLINE void matmul_many(const struct cpu_tile *tile, bool has_minimum)
{
    int n_configured = 0;
    for (int32_t row = 0; row < tile->n_rows; row += R_MAX) {
        const int n = tile->n_rows - row < R_MAX ? tile->n_rows - row : R_MAX;
        if (n != n_configured)
            configure(n);
        n_configured = n;
        EACH(int r = 1; r <= R_MAX; r++)
            if (r == n)
                group_panels(tile, has_minimum, row, r);
    }
    _tile_release(); /* a thread that holds tiles is dear to switch */
}

static void wide(const struct cpu_tile *tile)
{
    matmul_many(tile, false);
}
static void wide_minimum(const struct cpu_tile *tile)
{
    matmul_many(tile, true);
}

#define WIDEN(type, form)                                                                          \
    static void widen_##type(const unsigned char *panel, int32_t n_columns, unsigned char *to)     \
    {                                                                                              \
        widen(form, 0, panel, n_columns, to);                                                      \
    }
WIDEN(q8_0, CPU_FORM_Q8_0)
WIDEN(q4_0, CPU_FORM_Q4_0)
WIDEN(q4_1, CPU_FORM_Q4_1)
WIDEN(q5_0, CPU_FORM_Q5_0)
WIDEN(q5_1, CPU_FORM_Q5_1)
WIDEN(q4_k, CPU_FORM_Q4_K)
WIDEN(q5_k, CPU_FORM_Q5_K)

/* Many rows of integers. Fewer are AVX-512's, and so are types with two scales a block: they would
 * have twice the floats. */
const struct cpu_kernels cpu_amx_matmul = {
    .name = "cpu-amx",
    .widen_many = {
        [DTYPE_Q8_0] = widen_q8_0, [DTYPE_Q4_0] = widen_q4_0, [DTYPE_Q4_1] = widen_q4_1,
        [DTYPE_Q5_0] = widen_q5_0, [DTYPE_Q5_1] = widen_q5_1, [DTYPE_Q4_K] = widen_q4_k,
        [DTYPE_Q5_K] = widen_q5_k,
    },
    .matmul_many = {
        [DTYPE_Q8_0] = wide, [DTYPE_Q4_0] = wide, [DTYPE_Q4_1] = wide_minimum,
        [DTYPE_Q5_0] = wide, [DTYPE_Q5_1] = wide_minimum, [DTYPE_Q4_K] = wide_minimum,
        [DTYPE_Q5_K] = wide_minimum,
    },
    .group_bytes = sizeof(struct group),
    .group = group,
};
