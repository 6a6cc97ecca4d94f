/* Matrix multiplication of integers for AMX: a tile is 16 rows against a panel's 16 outputs.
 *
 * One tdpbssd computes the products of a block of 32 columns, exactly, in 16 cycles. The limit is
 * the work that turns its sums into floats: convert, multiply two scales and add, for each row.
 * While tile instructions are in flight a core does such work in one port, not two. So a tile takes
 * 48 cycles, and all other work must fit beside them. Packed panels are widened a chunk at a time
 * into the first-level cache, where all rows use the chunk. Floats stay in registers for a chunk's
 * columns. Blocks pass through three stages, each behind the one before: multiplied, stored,
 * added. */
#include "cpu/amx_tiles.h"
#include "cpu/avx512_panels.h"

enum {
    R_MAX = CPU_GROUP_ROWS,
    STAGES = 3,
    CHUNK_BLOCKS = 16, /* with those of 32 rows they stay in the first-level cache */
    WIDE_BYTES = 640,  /* of a block at most */
    TARGETS = 2,       /* lines for each block, so that half a chunk has time for all rows */
};

struct group { /* a block of 16 rows */
    int8_t q[R_MAX][32];
    float scale[R_MAX], sum[R_MAX];
};

/* Tiles 0 and 1 hold sums, 2 and 3 hold rows, 4 and 5 hold weights. */
static void configure(void)
{
    const struct cpu_tiles_shape shape = { .palette = 1,
                                           .row_bytes = { 64, 64, 32, 32, 64, 64 },
                                           .n_rows = { 16, 16, 16, 16, 8, 8 } };
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

/* Adds a block's scaled sums to the sums so far. */
INLINE void add_scaled(bool has_minimum, const unsigned char *wide, const struct group *x,
                       const int32_t *sums, const int R, __m512 acc[R_MAX])
{
    const __m512 scale = _mm512_loadu_ps(wide);
    const __m512 minimum = has_minimum ? _mm512_loadu_ps(wide + 64) : _mm512_setzero_ps();
    EACH(int r = 0; r < R; r++) {
        __m512 sum = _mm512_cvtepi32_ps(_mm512_load_si512(sums + r * CPU_PANEL));
        acc[r] = _mm512_fmadd_ps(_mm512_mul_ps(sum, scale), _mm512_set1_ps(x->scale[r]), acc[r]);
        if (has_minimum)
            acc[r] = _mm512_fmadd_ps(minimum, _mm512_set1_ps(x->sum[r]), acc[r]);
    }
}

/* Stores the sums of the tile, which then takes those of the next block, unless none is left. */
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

INLINE void start(const float *out, bool is_continued, const int R, __m512 acc[R_MAX])
{
    EACH(int r = 0; r < R; r++)
        acc[r] = is_continued ? _mm512_loadu_ps(out + r * CPU_TILE_PANELS * CPU_PANEL)
                              : _mm512_setzero_ps();
}

INLINE void stop(float *out, size_t stride, const int R, const __m512 acc[R_MAX])
{
    EACH(int r = 0; r < R; r++)
        _mm512_storeu_ps(out + (size_t)r * stride, acc[r]);
}

/* A chunk of a panel, widened, for groups of rows. */
struct chunk {
    const unsigned char *wide;
    const struct group *x; /* (n_groups, stride) */
    size_t stride;
    const float *out; /* the sums so far, (n_groups * R_MAX, CPU_TILE_PANELS * 16) */
    float *to;        /* and where they go, (n_groups * R_MAX, to_stride) */
    size_t to_stride;
    int32_t n_blocks, n_groups;
    bool is_continued;
    /* Packed chunks that are prefetched meanwhile, n_lines a block: the one that is widened next,
     * and the next of this panel, which is still in memory. */
    const unsigned char *near, *far;
    size_t n_fetched, n_bytes;
    int32_t n_lines;
    /* The place where the sums will go, a line a row. */
    const float *target, *target_end;
    size_t target_stride;
};

struct place { /* of a block in a chunk, with a group's */
    const unsigned char *wide;
    const struct group *x;
    int32_t i;
};

INLINE void next(const struct chunk *c, size_t block_bytes, struct place *at)
{
    at->wide += block_bytes;
    at->x++;
    if (++at->i < c->n_blocks)
        return;
    at->wide = c->wide;
    at->x += c->stride - (size_t)c->n_blocks;
    at->i = 0;
}

INLINE void fetch_lines(struct chunk *c)
{
    for (int32_t i = 0; i < c->n_lines && c->n_fetched < c->n_bytes; i++, c->n_fetched += 64) {
        _mm_prefetch(c->near + c->n_fetched, _MM_HINT_T0);
        _mm_prefetch(c->far + c->n_fetched, _MM_HINT_T1);
    }
    for (int i = 0; i < TARGETS && c->target < c->target_end; i++, c->target += c->target_stride)
        _mm_prefetch((const char *)c->target, _MM_HINT_T0);
}

/* Multiplies the first R rows of each group, without a pause between two groups. */
INLINE void chunk_rows(struct chunk *c, bool has_minimum, const int R)
{
    const size_t head = has_minimum ? 128 : 64, block_bytes = head + 512;
    const int32_t n = c->n_blocks * c->n_groups;
    struct place multiplied = { c->wide, c->x, 0 }, added = multiplied;
    _Alignas(64) int32_t sums[2][R_MAX * CPU_PANEL];
    __m512 acc[R_MAX];
    const float *out = c->out;
    float *to = c->to;
    start(out, c->is_continued, R, acc);
    for (int32_t i = 0; i < n + STAGES; i++) {
        if (i % 2 == 0)
            STAGE(i < n, 0, 2, 4, multiplied.x->q, multiplied.wide + head, sums[0]);
        else
            STAGE(i < n, 1, 3, 5, multiplied.x->q, multiplied.wide + head, sums[1]);
        next(c, block_bytes, &multiplied);
        fetch_lines(c);
        if (i < STAGES)
            continue;
        add_scaled(has_minimum, added.wide, added.x, sums[(i - STAGES) % 2], R, acc);
        next(c, block_bytes, &added);
        if (added.i > 0)
            continue;
        stop(to, c->to_stride, R, acc);
        out += R * CPU_TILE_PANELS * CPU_PANEL;
        to += (size_t)R * c->to_stride;
        if (i + 1 < n + STAGES)
            start(out, c->is_continued, R, acc);
    }
}

#define ROWS(name, has_minimum)                                                                    \
    static __attribute__((noinline)) void name(struct chunk *c, int32_t n_rows)                    \
    {                                                                                              \
        EACH(int r = 1; r <= R_MAX; r++)                                                           \
            if (r == n_rows)                                                                       \
                chunk_rows(c, has_minimum, r);                                                     \
    }
ROWS(rows_plain, false)
ROWS(rows_minimum, true)

/* Returns a panel's packed columns from k on. Behind the last come those that are next; NULL:
 * unknown. */
INLINE const unsigned char *columns_at(const struct cpu_tile *tile, struct cpu_form form,
                                       int32_t panel, int32_t k)
{
    if (k < tile->n_columns)
        return tile->panels + (size_t)panel * tile->panel_bytes +
               (size_t)(k / form.n_unit * cpu_form_unit_bytes(form));
    return tile->ahead == NULL ? NULL : tile->ahead + (size_t)panel * tile->ahead_stride;
}

/* Multiplies a panel's columns from k on with all rows. */
INLINE void multiply_chunk(const struct cpu_tile *tile, struct cpu_form form, int32_t panel,
                           int32_t k)
{
    _Alignas(64) unsigned char wide[CHUNK_BLOCKS * WIDE_BYTES];
    const int32_t n = min_i32(tile->n_columns - k, 32 * CHUNK_BLOCKS);
    const int32_t n_whole = tile->n_rows / R_MAX, n_left = tile->n_rows % R_MAX;
    const unsigned char *from = columns_at(tile, form, panel, k);
    struct chunk c = { .wide = wide,
                       .x = group_of(tile, 0) + k / 32,
                       .stride = tile->group_stride / sizeof(struct group),
                       .out = tile->out + panel * CPU_PANEL,
                       .to = tile->out + panel * CPU_PANEL,
                       .to_stride = CPU_TILE_PANELS * CPU_PANEL,
                       .n_blocks = n / 32,
                       .n_groups = n_whole,
                       .is_continued = tile->is_continued || k > 0,
                       .far = columns_at(tile, form, panel, k + n),
                       .n_bytes = (size_t)(n / form.n_unit * cpu_form_unit_bytes(form)) };
    c.near =
        panel + 1 < tile->n_panels ? from + tile->panel_bytes : columns_at(tile, form, 0, k + n);
    if (c.far == NULL)
        c.far = c.near;
    if (c.near != NULL)
        c.n_lines = (int32_t)c.n_bytes / 64 / ((n_whole + (n_left > 0)) * c.n_blocks) + 1;
    widen(form, 0, from, n, wide);
    bool is_last = k + n == tile->n_columns;
    if (tile->is_direct && is_last) {
        c.to = tile->target + panel * CPU_PANEL;
        c.to_stride = tile->target_stride;
    }
    if (tile->target != NULL && is_last) {
        c.target = tile->target + panel * CPU_PANEL;
        c.target_stride = tile->target_stride;
        c.target_end = c.target + (size_t)tile->n_rows * c.target_stride;
    }
    void (*rows)(struct chunk *, int32_t) = form.has_minimum ? rows_minimum : rows_plain;
    if (n_whole > 0)
        rows(&c, R_MAX);
    c.x += (size_t)n_whole * c.stride;
    c.out += n_whole * R_MAX * CPU_TILE_PANELS * CPU_PANEL;
    c.to += (size_t)(n_whole * R_MAX) * c.to_stride;
    c.n_groups = 1;
    if (n_left > 0)
        rows(&c, n_left);
}

INLINE void matmul_many(const struct cpu_tile *tile, struct cpu_form form)
{
    configure();
    for (int32_t k = 0; k < tile->n_columns; k += 32 * CHUNK_BLOCKS)
        for (int32_t panel = 0; panel < tile->n_panels; panel++)
            multiply_chunk(tile, form, panel, k);
    _tile_release(); /* switching a thread that holds tiles is slow */
}

#define MATMUL(type, form)                                                                         \
    static void matmul_##type(const struct cpu_tile *tile)                                         \
    {                                                                                              \
        matmul_many(tile, form);                                                                   \
    }
MATMUL(q8_0, CPU_FORM_Q8_0)
MATMUL(q4_0, CPU_FORM_Q4_0)
MATMUL(q4_1, CPU_FORM_Q4_1)
MATMUL(q5_0, CPU_FORM_Q5_0)
MATMUL(q5_1, CPU_FORM_Q5_1)
MATMUL(q4_k, CPU_FORM_Q4_K)
MATMUL(q5_k, CPU_FORM_Q5_K)
MATMUL(iq4_nl, CPU_FORM_IQ4_NL)
MATMUL(iq4_xs, CPU_FORM_IQ4_XS)
MATMUL(mxfp4, CPU_FORM_MXFP4)

/* For many rows of integers. Fewer rows use AVX-512's kernels, and so do types with two scales a
 * block, because they would have twice the floats. */
const struct cpu_kernels cpu_amx_matmul = {
    .name = "cpu-amx",
    .matmul_many = {
        [DTYPE_Q8_0] = matmul_q8_0, [DTYPE_Q4_0] = matmul_q4_0, [DTYPE_Q4_1] = matmul_q4_1,
        [DTYPE_Q5_0] = matmul_q5_0, [DTYPE_Q5_1] = matmul_q5_1, [DTYPE_Q4_K] = matmul_q4_k,
        [DTYPE_Q5_K] = matmul_q5_k, [DTYPE_IQ4_NL] = matmul_iq4_nl,
        [DTYPE_IQ4_XS] = matmul_iq4_xs, [DTYPE_MXFP4] = matmul_mxfp4,
    },
    .group_bytes = sizeof(struct group),
    .group = group,
};
