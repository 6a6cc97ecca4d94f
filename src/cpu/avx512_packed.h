/* Few rows with packed panels, for AVX-512. */
#pragma once
#include "cpu/ahead.h"
#include "cpu/avx512_block.h"

enum { CHUNK = 128 }; /* columns of two panels that both halves of the rows use in turn */

/* The differences between processors: whether bits are extracted by shifts, and how many bytes
 * ahead of a walk are fetched. They are fetched from memory (lone: for one or two rows) and, unless
 * it is 0, from the second-level cache. */
struct walk {
    bool by_shifts;
    int far, lone, near;
};

struct columns { /* of panels */
    int32_t first, n;
    bool are_first; /* to be multiplied; those behind are prefetched */
};

INLINE void fetch_blocks(struct cpu_form form, const struct walk walk, const unsigned char *far,
                         const unsigned char *near, size_t panel_bytes, const int P)
{
    EACH(int j = 0; j < P; j++) {
        fetch_far(form, far + (size_t)j * panel_bytes);
        if (walk.near > 0)
            fetch_near(form, near + (size_t)j * panel_bytes);
    }
}

/* Multiplies all rows of the tile, R, with columns of P packed panels. Behind their end it
 * prefetches what comes after the last of them. */
INLINE void packed_rows(const struct cpu_tile *tile, int32_t panel, const struct columns columns,
                        struct cpu_form form, const struct walk walk, const int R, const int P)
{
    const size_t panel_bytes = tile->panel_bytes;
    const unsigned char *p = tile->panels + (size_t)panel * panel_bytes, *end = p + panel_bytes;
    float *out = tile->out + panel * CPU_PANEL;
    struct rows rows = rows_of(tile, 0, R);
    __m512 acc[R_MAX][P_MAX];
    if (tile->is_direct)
        cpu_fetch_target(tile, 0, panel, R, P);
    start(tile, out, R, P, acc);
    p += columns.first / form.n_unit * cpu_form_unit_bytes(form);
    for (int32_t k = 0; k < columns.n; k += form.n_unit) {
        struct factors units[P_MAX];
        EACH(int j = 0; j < P; j++)
            units[j] = unit_factors(form, p + (size_t)j * panel_bytes);
        p += cpu_form_head(form);
        for (int32_t i = 0; i < form.n_unit; i += 32) {
            const unsigned char *w = p + cpu_form_scales(form);
            const unsigned char *near = w + walk.near;
            const unsigned char *far = w + (form.n_bits == 8 && R <= 2 ? walk.lone : walk.far);
            far += far >= end ? (size_t)(P - 1) * panel_bytes : 0;
            near += near >= end ? (size_t)(P - 1) * panel_bytes : 0;
            if (columns.are_first)
                fetch_blocks(form, walk, far, near, panel_bytes, P);
            EACH(int sub = 0; sub < 32 / form.n_sub; sub++) {
                struct factors factors[P_MAX];
                EACH(int j = 0; j < P; j++)
                    factors[j] = sub_factors(form, units[j], p + (size_t)j * panel_bytes, sub);
                sub_block(form, w, panel_bytes, &rows, sub, R, P,
                          walk.by_shifts ? AS_PACKED_SHIFTED : AS_PACKED, factors, acc);
            }
            p = w + cpu_form_weights(form);
            next_block(&rows, R);
        }
    }
    if (tile->is_direct)
        stop(tile->target + panel * CPU_PANEL, tile->target_stride, R, P, acc);
    else
        stop(out, OUT_STRIDE, R, P, acc);
}

/* Multiplies up to 12 rows with two panels, in halves. A few columns of both panels stay in the
 * first-level cache until the other half has used them too. */
INLINE void packed_halves(const struct cpu_tile *tile, int32_t panel, struct cpu_form form,
                          const struct walk walk)
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
                packed_rows(&half, panel, (struct columns){ k, n, true }, form, walk, r, P_MAX);
        half.blocks += (size_t)n_first * tile->block_stride;
        half.out += n_first * CPU_TILE_PANELS * CPU_PANEL;
        EACH(int r = R_MAX / 4; r <= TWO_R_MAX; r++)
            if (r == tile->n_rows - n_first)
                packed_rows(&half, panel, (struct columns){ k, n, false }, form, walk, r, P_MAX);
    }
}

/* Multiplies groups of rows in turn. The first group prefetches for all. */
INLINE void matmul_packed(const struct cpu_tile *tile, struct cpu_form form, const struct walk walk)
{
    struct cpu_tile part = *tile;
    int32_t n_groups = (tile->n_rows + R_MAX - 1) / R_MAX;
    for (int32_t i = 0; i < n_groups; i++) {
        int32_t row = tile->n_rows * i / n_groups;
        part.n_rows = tile->n_rows * (i + 1) / n_groups - row;
        part.blocks = tile->blocks + (size_t)row * tile->block_stride;
        part.out = tile->out + row * CPU_TILE_PANELS * CPU_PANEL;
        part.target = tile->is_direct ? tile->target + (size_t)row * tile->target_stride : NULL;
        const struct columns all = { 0, tile->n_columns, i == 0 };
        int32_t panel = 0;
        for (; part.n_rows <= TWO_R_MAX && panel + P_MAX <= tile->n_panels; panel += P_MAX)
            EACH(int r = 1; r <= TWO_R_MAX; r++)
                if (r == part.n_rows)
                    packed_rows(&part, panel, all, form, walk, r, P_MAX);
        /* Later groups find the panels in a cache, and bits would be extracted from their planes
         * twice. */
        for (; n_groups == 1 && form.n_bits == 8 && panel + P_MAX <= tile->n_panels; panel += P_MAX)
            packed_halves(&part, panel, form, walk);
        for (; panel < tile->n_panels; panel++)
            EACH(int r = 1; r <= R_MAX; r++)
                if (r == part.n_rows)
                    packed_rows(&part, panel, all, form, walk, r, 1);
    }
}
