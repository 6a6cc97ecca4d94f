/* Matrix multiplication of integers for AVX-512 with VNNI: a panel's 16 outputs are one register.
 *
 * vpdpbusd multiplies unsigned bytes with signed q, four k at a time, exactly. It and what turns a
 * block's sum into floats share two ports, eight instructions and two for a row, a panel and a
 * block, so all else is left to loads: weights stand as value + 128, whatever their offset, whose
 * surplus a sum starts without (cpu_block's starts, repeated by the load), and rows go by six
 * against two panels, all sums in registers, 12 products for 8 loads. */
#include "compute/quant.h"
#include "compute/vmath.h"
#include "cpu/ahead.h"
#include "cpu/avx512_panels.h"

/* Rows against one panel, against two. */
enum {
    R_MAX = 12,
    TWO_R_MAX = 6,
    P_MAX = 2,
    OUT_STRIDE = CPU_TILE_PANELS * CPU_PANEL,
    CHUNK = 128, /* columns of two panels that both halves of the rows meet in turn */
};

/* Four bytes, the same in every output's lane. */
INLINE __m512i four(const void *p)
{
    int32_t bits;
    memcpy(&bits, p, 4);
    return _mm512_set1_epi32(bits);
}

struct rows { /* of blocks, three to a pointer, so that addresses have a factor of 2 at most */
    const struct cpu_block *x[R_MAX / 3];
    size_t stride;
};

INLINE struct rows rows_of(const struct cpu_tile *tile, int32_t row, const int R)
{
    struct rows rows = { .stride = tile->block_stride };
    EACH(int i = 0; i < (R + 2) / 3; i++)
        rows.x[i] = tile->blocks + (size_t)(row + 3 * i) * tile->block_stride;
    return rows;
}

INLINE const struct cpu_block *row_at(const struct rows *rows, int r)
{
    return &rows->x[r / 3][(size_t)(r % 3) * rows->stride];
}

INLINE void next_block(struct rows *rows, const int R)
{
    EACH(int i = 0; i < (R + 2) / 3; i++)
        rows->x[i]++;
}

/* The sums so far of R rows and P panels. */
INLINE void start(const struct cpu_tile *tile, const float *out, const int R, const int P,
                  __m512 acc[R_MAX][P_MAX])
{
    EACH(int r = 0; r < R; r++)
        EACH(int p = 0; p < P; p++)
            acc[r][p] = tile->is_continued
                            ? _mm512_loadu_ps(out + (r * CPU_TILE_PANELS + p) * CPU_PANEL)
                            : _mm512_setzero_ps();
}

INLINE void stop(float *out, size_t stride, const int R, const int P, __m512 acc[R_MAX][P_MAX])
{
    EACH(int r = 0; r < R; r++)
        EACH(int p = 0; p < P; p++)
            _mm512_storeu_ps(out + (size_t)r * stride + p * CPU_PANEL, acc[r][p]);
}

/* One sub-block: its scaled sums are added to acc. sums: as they start. */
INLINE void add_scaled(struct cpu_form form, const struct factors factors[P_MAX],
                       const struct rows *rows, int sub, const int R, const int P,
                       __m512i sums[R_MAX][P_MAX], __m512 acc[R_MAX][P_MAX])
{
    EACH(int r = 0; r < R; r++) {
        const struct cpu_block *x = row_at(rows, r);
        EACH(int p = 0; p < P; p++) {
            __m512 sum = scale_sum(sums[r][p], factors[p].scale);
            acc[r][p] = _mm512_fmadd_ps(sum, _mm512_set1_ps(x->scale), acc[r][p]);
            if (!form.has_minimum)
                continue;
            float x_sum = form.n_sub == 32 ? x->sum : x->scale * (float)cpu_block_sum(x, sub);
            acc[r][p] = _mm512_fmadd_ps(factors[p].minimum, _mm512_set1_ps(x_sum), acc[r][p]);
        }
    }
}

/* One sub-block of R rows and P panels, whose weights w are panel_bytes apart. */
INLINE void sub_block(struct cpu_form form, const unsigned char *w, size_t panel_bytes,
                      const struct rows *rows, int sub, const int R, const int P, bool is_wide,
                      const struct factors factors[P_MAX], __m512 acc[R_MAX][P_MAX])
{
    const int first = sub * form.n_sub;
    const int from = form.has_minimum ? 3 : form.n_sub == 32 ? 0 : 1 + sub;
    __m512i sums[R_MAX][P_MAX];
    EACH(int r = 0; r < R; r++)
        EACH(int p = 0; p < P; p++)
            sums[r][p] = four(&row_at(rows, r)->starts[from]);
    EACH(int k = first; k < first + form.n_sub; k += 4) {
        __m512i weights[P_MAX];
        EACH(int p = 0; p < P; p++) {
            const unsigned char *at = w + (size_t)p * panel_bytes;
            weights[p] =
                is_wide ? _mm512_loadu_si512(at + 16 * (k - first)) : load_four(form, at, k, 128);
        }
        EACH(int r = 0; r < R; r++) {
            __m512i q = four(row_at(rows, r)->q + k);
            EACH(int p = 0; p < P; p++)
                sums[r][p] = _mm512_dpbusd_epi32(sums[r][p], weights[p], q);
        }
    }
    add_scaled(form, factors, rows, sub, R, P, sums, acc);
}

struct columns { /* of panels */
    int32_t first, n;
    bool are_first; /* to be met: what comes behind is fetched */
};

/* All rows of the tile, R, against columns of P packed panels. What is fetched behind their end is
 * what comes after the last of them. */
INLINE void packed_rows(const struct cpu_tile *tile, int32_t panel, const struct columns columns,
                        struct cpu_form form, const int R, const int P)
{
    const size_t panel_bytes = tile->panel_bytes;
    const unsigned char *p = tile->panels + (size_t)panel * panel_bytes, *end = p + panel_bytes;
    float *out = tile->out + panel * CPU_PANEL;
    struct rows rows = rows_of(tile, 0, R);
    __m512 acc[R_MAX][P_MAX];
    start(tile, out, R, P, acc);
    p += columns.first / form.n_unit * cpu_form_unit_bytes(form);
    for (int32_t k = 0; k < columns.n; k += form.n_unit) {
        struct factors units[P_MAX];
        EACH(int j = 0; j < P; j++)
            units[j] = unit_factors(form, p + (size_t)j * panel_bytes);
        p += cpu_form_head(form);
        for (int32_t i = 0; i < form.n_unit; i += 32) {
            const unsigned char *w = p + cpu_form_scales(form);
            const unsigned char *far = w + FETCH_FAR, *near = w + FETCH_NEAR;
            far += far >= end ? (size_t)(P - 1) * panel_bytes : 0;
            near += near >= end ? (size_t)(P - 1) * panel_bytes : 0;
            if (columns.are_first)
                EACH(int j = 0; j < P; j++)
                    fetch_block(form, far + (size_t)j * panel_bytes,
                                near + (size_t)j * panel_bytes);
            EACH(int sub = 0; sub < 32 / form.n_sub; sub++) {
                struct factors factors[P_MAX];
                EACH(int j = 0; j < P; j++)
                    factors[j] = sub_factors(form, units[j], p + (size_t)j * panel_bytes, sub);
                sub_block(form, w, panel_bytes, &rows, sub, R, P, false, factors, acc);
            }
            p = w + cpu_form_weights(form);
            next_block(&rows, R);
        }
    }
    stop(out, OUT_STRIDE, R, P, acc);
}

/* Up to 12 rows against two panels, in halves: a few columns of both panels stay in the first-level
 * cache until the other half has met them too. */
INLINE void packed_halves(const struct cpu_tile *tile, int32_t panel, struct cpu_form form)
{
    const int32_t chunk = max_i32(CHUNK, form.n_unit), n_first = tile->n_rows / 2;
    struct cpu_tile half = *tile;
    for (int32_t k = 0; k < tile->n_columns; k += chunk) {
        int32_t n = min_i32(chunk, tile->n_columns - k);
        half.is_continued = tile->is_continued || k > 0;
        half.blocks = tile->blocks + k / 32;
        half.out = tile->out;
        EACH(int r = R_MAX / 4; r <= TWO_R_MAX; r++)
            if (r == n_first)
                packed_rows(&half, panel, (struct columns){ k, n, true }, form, r, P_MAX);
        half.blocks += (size_t)n_first * tile->block_stride;
        half.out += n_first * CPU_TILE_PANELS * CPU_PANEL;
        EACH(int r = R_MAX / 4; r <= TWO_R_MAX; r++)
            if (r == tile->n_rows - n_first)
                packed_rows(&half, panel, (struct columns){ k, n, false }, form, r, P_MAX);
    }
}

INLINE void matmul_packed(const struct cpu_tile *tile, struct cpu_form form)
{
    struct cpu_tile part = *tile;
    int32_t n_groups = (tile->n_rows + R_MAX - 1) / R_MAX;
    for (int32_t i = 0; i < n_groups; i++) {
        int32_t row = tile->n_rows * i / n_groups;
        part.n_rows = tile->n_rows * (i + 1) / n_groups - row;
        part.blocks = tile->blocks + (size_t)row * tile->block_stride;
        part.out = tile->out + row * CPU_TILE_PANELS * CPU_PANEL;
        const struct columns all = { 0, tile->n_columns, true };
        int32_t panel = 0;
        for (; part.n_rows <= TWO_R_MAX && panel + P_MAX <= tile->n_panels; panel += P_MAX)
            EACH(int r = 1; r <= TWO_R_MAX; r++)
                if (r == part.n_rows)
                    packed_rows(&part, panel, all, form, r, P_MAX);
        /* Bits would be taken out of their planes twice. */
        for (; form.n_bits == 8 && panel + P_MAX <= tile->n_panels; panel += P_MAX)
            packed_halves(&part, panel, form);
        for (; panel < tile->n_panels; panel++)
            EACH(int r = 1; r <= R_MAX; r++)
                if (r == part.n_rows)
                    packed_rows(&part, panel, all, form, r, 1);
    }
}

/* R rows against P wide panels. */
INLINE void wide_rows(const struct cpu_tile *tile, int32_t row, int32_t panel, struct cpu_form form,
                      const int R, const int P)
{
    const unsigned char *w = tile->panels + (size_t)panel * tile->panel_bytes;
    float *out = tile->out + (row * CPU_TILE_PANELS + panel) * CPU_PANEL;
    struct rows rows = rows_of(tile, row, R);
    __m512 acc[R_MAX][P_MAX];
    const char *ahead = NULL;
    int32_t n_ahead = cpu_fetch_ahead(tile, row, panel, R, P, &ahead);
    start(tile, out, R, P, acc);
    for (int32_t k = 0; k < tile->n_columns; k += 32) {
        for (int32_t i = 0; i < n_ahead; i++, ahead += 64)
            EACH(int p = 0; p < P; p++)
                _mm_prefetch(ahead + (size_t)p * tile->ahead_stride, _MM_HINT_T1);
        EACH(int r = 0; r < R && panel == 0; r++)
            _mm_prefetch((const char *)(row_at(&rows, r) + (size_t)R * rows.stride), _MM_HINT_T0);
        EACH(int sub = 0; sub < 32 / form.n_sub; sub++) {
            struct factors factors[P_MAX];
            EACH(int p = 0; p < P; p++) {
                const float *at = (const float *)(const void *)(w + (size_t)p * tile->panel_bytes);
                factors[p].scale = _mm512_loadu_ps(at);
                if (form.has_minimum)
                    factors[p].minimum = _mm512_loadu_ps(at + 16);
            }
            w += wide_head(form);
            sub_block(form, w, tile->panel_bytes, &rows, sub, R, P, true, factors, acc);
            w += 16 * form.n_sub;
        }
        next_block(&rows, R);
    }
    if (tile->is_direct)
        stop(tile->target + (size_t)row * tile->target_stride + panel * CPU_PANEL,
             tile->target_stride, R, P, acc);
    else
        stop(out, OUT_STRIDE, R, P, acc);
}

/* Rows go in groups as even as can be; two panels stay in the first-level cache while all pass. */
INLINE void matmul_wide(const struct cpu_tile *tile, struct cpu_form form)
{
    int32_t n_groups = (tile->n_rows + TWO_R_MAX - 1) / TWO_R_MAX;
    for (int32_t panel = 0; panel < tile->n_panels; panel += P_MAX)
        for (int32_t i = 0; i < n_groups; i++) {
            int32_t row = tile->n_rows * i / n_groups;
            int32_t n = tile->n_rows * (i + 1) / n_groups - row;
            EACH(int r = 1; r <= TWO_R_MAX; r++) {
                if (r != n)
                    continue;
                if (panel + P_MAX <= tile->n_panels)
                    wide_rows(tile, row, panel, form, r, P_MAX);
                else
                    wide_rows(tile, row, panel, form, r, 1);
            }
        }
}

#define MATMUL(type, form)                                                                         \
    static void matmul_##type(const struct cpu_tile *tile)                                         \
    {                                                                                              \
        matmul_packed(tile, form);                                                                 \
    }                                                                                              \
    static void widen_##type(const unsigned char *panel, int32_t n_columns, unsigned char *wide)   \
    {                                                                                              \
        widen(form, 128, panel, n_columns, wide);                                                  \
    }
MATMUL(q8_0, CPU_FORM_Q8_0)
MATMUL(q4_0, CPU_FORM_Q4_0)
MATMUL(q4_1, CPU_FORM_Q4_1)
MATMUL(q5_0, CPU_FORM_Q5_0)
MATMUL(q5_1, CPU_FORM_Q5_1)
MATMUL(q2_k, CPU_FORM_Q2_K)
MATMUL(q3_k, CPU_FORM_Q3_K)
MATMUL(q4_k, CPU_FORM_Q4_K)
MATMUL(q5_k, CPU_FORM_Q5_K)
MATMUL(q6_k, CPU_FORM_Q6_K)

/* Wide panels differ in the length of a sub-block and in minimums only. */
static void wide_32(const struct cpu_tile *tile)
{
    matmul_wide(tile, CPU_FORM_Q8_0);
}
static void wide_32_minimum(const struct cpu_tile *tile)
{
    matmul_wide(tile, CPU_FORM_Q4_1);
}
static void wide_16(const struct cpu_tile *tile)
{
    matmul_wide(tile, CPU_FORM_Q6_K);
}
static void wide_16_minimum(const struct cpu_tile *tile)
{
    matmul_wide(tile, CPU_FORM_Q2_K);
}

/* The integers of AVX-512's table. */
const struct cpu_kernels cpu_avx512_matmul = {
    .name = "cpu-avx512",
    .matmul = {
        [DTYPE_Q8_0] = matmul_q8_0, [DTYPE_Q4_0] = matmul_q4_0, [DTYPE_Q4_1] = matmul_q4_1,
        [DTYPE_Q5_0] = matmul_q5_0, [DTYPE_Q5_1] = matmul_q5_1, [DTYPE_Q2_K] = matmul_q2_k,
        [DTYPE_Q3_K] = matmul_q3_k, [DTYPE_Q4_K] = matmul_q4_k, [DTYPE_Q5_K] = matmul_q5_k,
        [DTYPE_Q6_K] = matmul_q6_k,
    },
    .widen = {
        [DTYPE_Q8_0] = widen_q8_0, [DTYPE_Q4_0] = widen_q4_0, [DTYPE_Q4_1] = widen_q4_1,
        [DTYPE_Q5_0] = widen_q5_0, [DTYPE_Q5_1] = widen_q5_1, [DTYPE_Q2_K] = widen_q2_k,
        [DTYPE_Q3_K] = widen_q3_k, [DTYPE_Q4_K] = widen_q4_k, [DTYPE_Q5_K] = widen_q5_k,
        [DTYPE_Q6_K] = widen_q6_k,
    },
    .matmul_wide = {
        [DTYPE_Q8_0] = wide_32, [DTYPE_Q4_0] = wide_32, [DTYPE_Q4_1] = wide_32_minimum,
        [DTYPE_Q5_0] = wide_32, [DTYPE_Q5_1] = wide_32_minimum, [DTYPE_Q2_K] = wide_16_minimum,
        [DTYPE_Q3_K] = wide_16, [DTYPE_Q4_K] = wide_32_minimum, [DTYPE_Q5_K] = wide_32_minimum,
        [DTYPE_Q6_K] = wide_16,
    },
};
