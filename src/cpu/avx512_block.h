/* A block of one or two panels against some rows with AVX-512: a panel's 16 outputs are one
 * register.
 *
 * vpdpbusd multiplies unsigned bytes with signed q, four k at a time, exactly. It shares two ports
 * with the instructions that turn a block's sum into floats: eight and two instructions for a row,
 * a panel and a block. So all other work is left to loads. Weights are stored as value + 128,
 * whatever their offset; a sum starts without that surplus (cpu_block's starts, repeated by the
 * load). Rows are taken by six against two panels, with all sums in registers: 12 products for 8
 * loads. */
#pragma once
#include "compute/quant.h"
#include "compute/vmath.h"
#include "cpu/avx512_panels.h"

/* Rows with one panel, with two. */
enum {
    R_MAX = 12,
    TWO_R_MAX = 6,
    P_MAX = 2,
    OUT_STRIDE = CPU_TILE_PANELS * CPU_PANEL,
};

/* The form of the weights. */
enum weights_as { AS_WIDE, AS_PACKED, AS_PACKED_SHIFTED };

INLINE __m512i weights_at(struct cpu_form form, const unsigned char *w, int k, const int first,
                          const enum weights_as as)
{
    if (as == AS_WIDE)
        return _mm512_loadu_si512(w + 16 * (k - first));
    return as == AS_PACKED_SHIFTED ? load_four_shifted(form, w, k, 128)
                                   : load_four(form, w, k, 128);
}

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

/* Adds the scaled sums of one sub-block to acc. sums holds their start values. */
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

/* Computes one sub-block of R rows and P panels. Their weights w are panel_bytes apart. */
INLINE void sub_block(struct cpu_form form, const unsigned char *w, size_t panel_bytes,
                      const struct rows *rows, int sub, const int R, const int P,
                      const enum weights_as as, const struct factors factors[P_MAX],
                      __m512 acc[R_MAX][P_MAX])
{
    const int first = sub * form.n_sub;
    const int from = form.has_minimum ? 3 : form.n_sub == 32 ? 0 : 1 + sub;
    __m512i sums[R_MAX][P_MAX];
    EACH(int r = 0; r < R; r++)
        EACH(int p = 0; p < P; p++)
            sums[r][p] = four(&row_at(rows, r)->starts[from]);
    EACH(int k = first; k < first + form.n_sub; k += 4) {
        __m512i weights[P_MAX];
        EACH(int p = 0; p < P; p++)
            weights[p] = weights_at(form, w + (size_t)p * panel_bytes, k, first, as);
        EACH(int r = 0; r < R; r++) {
            __m512i q = four(row_at(rows, r)->q + k);
            EACH(int p = 0; p < P; p++)
                sums[r][p] = _mm512_dpbusd_epi32(sums[r][p], weights[p], q);
        }
    }
    add_scaled(form, factors, rows, sub, R, P, sums, acc);
}
