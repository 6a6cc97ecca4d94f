/* The kernels of an instruction set: one table of functions each. A NULL is filled from the next
 * lower table.
 *
 * No kernel allocates or uses threads. Equal inputs give equal bits in every table, except for
 * halves as compute.h describes. */
#pragma once
#include "compute/draw.h"
#include "cpu/cpu.h"
#include "cpu/pack.h"

enum {
    CPU_TILE_ROWS = 48,  /* most activation rows of a matmul kernel */
    CPU_TILE_PANELS = 4, /* panels of weights */
    CPU_QUERIES = 16,    /* queries that share one read of keys and values */
    CPU_PIECE = 256,     /* positions of one piece of attention */
    CPU_RUN_ROWS = 16,   /* rows of a run that are floats at a time */
    CPU_FEW_ROWS = 12,   /* rows that walk whole packed panels: walks_whole, wide_rows_min */
    CPU_MANY_ROWS = 13,  /* from here on matmul_many is faster */
    CPU_GROUP_ROWS = 16, /* rows whose blocks, or parts, lie together */
    CPU_SPLIT_ROWS = 32, /* the best number for kernels with split rows */
};

/* 32 activations quantized: x = scale * q. A row's blocks follow each other, a cache line each. */
struct cpu_block {
    int8_t q[32];
    float scale, sum; /* sum = scale * (sum of q) */
    /* sums[h][j]: of the q in half h (16 of them) at places 4 i + 2 j and 4 i + 2 j + 1 */
    int16_t sums[2][2];
    /* The start values with which sums of q * (weight + 128) end as those of q * weight. They are
     * -128 times the sum of q in both halves, in the first, in the second; the last is 0, for
     * weights as they are. All have CPU_SUM_BITS added. */
    int32_t starts[4];
};
/* The bits of the float 3 * 2^22. With an integer between -2^22 and 2^22 added, they are the bits
 * of the sum of both. So fma(that, scale, -3 * 2^22 * scale) is the integer times the scale,
 * rounded once, when the scale has two bits less than a float. */
enum { CPU_SUM_BITS = 0x4B400000 };
#define CPU_SUM_FLOAT 12582912.0f
static inline int32_t cpu_block_sum(const struct cpu_block *block, int half)
{
    return block->sums[half][0] + block->sums[half][1];
}
/* Computes the fields that follow from scale and sums. */
static inline void cpu_block_finish(struct cpu_block *block)
{
    int32_t first = cpu_block_sum(block, 0), second = cpu_block_sum(block, 1);
    block->sum = block->scale * (float)(first + second);
    block->starts[0] = CPU_SUM_BITS - 128 * (first + second);
    block->starts[1] = CPU_SUM_BITS - 128 * first;
    block->starts[2] = CPU_SUM_BITS - 128 * second;
    block->starts[3] = CPU_SUM_BITS;
}

/* out = rows . panels^T over n_columns of K. Or out += that; then each sum continues from its
 * previous value. n_rows <= CPU_TILE_ROWS, n_panels <= CPU_TILE_PANELS. */
struct cpu_tile {
    const unsigned char *panels; /* at the first of the columns */
    size_t panel_bytes;          /* from one panel to the next */
    int32_t n_panels, n_rows, n_columns;
    bool is_continued;
    const float *x; /* float weights: (n_rows, x_stride) */
    size_t x_stride;
    const struct cpu_block *blocks; /* integer weights: (n_rows, block_stride) */
    size_t block_stride;
    /* The same for matmul_many and matmul_wide, or parts of split rows: those of 16 rows, block by
     * block, group_stride bytes before those of the next 16. */
    const unsigned char *groups;
    size_t group_stride;
    float *out; /* (n_rows, CPU_TILE_PANELS * 16) */
    /* Data that is needed soon, for kernels that have time to prefetch it; NULL: none. It is the
     * ahead_bytes that come next in each panel, ahead_stride apart, and the place where out goes in
     * the end. is_direct: the sums are complete after these columns and go there at once, not to
     * out (integers, wide or matmul_many; or packed, under the conditions of walks_whole). */
    const unsigned char *ahead;
    size_t ahead_bytes, ahead_stride;
    float *target; /* (n_rows, target_stride) */
    size_t target_stride;
    bool is_direct;
};

/* Columns of a panel in the form that is quickest to multiply, for tiles of many rows:
 *   F8_E4M3       as floats
 *   F16, BF16     as floats (AMX: per 32 k | 16 pairs of k, each 16 outputs of two bfloat16 | F16:
 *                 the same of what these lack)
 *   others        per (sub-)block | 16 float scales | 16 float minimums (types with minimums) | a
 *                 byte per value | bytes as in pack.h's weights of 8 bits (AVX-512: value + 128
 *                 in types without minimums); scales and minimums are multiplied out.
 *   of AVX2       behind the scales 16 floats: -3 * 2^22 times a scale; before the bytes, which
 *                 are those around the centre, 32 int16: -128 times what a lane adds up of them.
 *   Q8_0, IQ4     (AVX2) instead 16 int32: CPU_SUM_BITS and the sum of |w| over negative w | per 4
 * k: | 64 bytes |w| | 64 bytes, 0x7F where w is negative, else 0x80 At most: */
static inline size_t cpu_wide_bytes(enum dtype dtype, int32_t n_columns)
{
    if (dtype == DTYPE_Q8_0 || dtype == DTYPE_IQ4_NL || dtype == DTYPE_IQ4_XS)
        return (size_t)n_columns / 32 * 1216;
    if (!dtype_info(dtype)->is_integer)
        return (size_t)(n_columns + 31) / 32 * 2048;
    struct cpu_form form = cpu_pack_form(dtype);
    return (size_t)(n_columns / form.n_sub) *
           ((form.has_minimum ? 256u : 192u) + 16u * (size_t)form.n_sub);
}

struct cpu_norm {
    const float *weight, *bias; /* bias may be NULL */
    int32_t n;
    float epsilon;
    bool is_layer;
};

/* One run of adjacent positions of keys or values: (n, head_dim), F32, F16 or Q8_0. */
struct cpu_run {
    const unsigned char *rows;
    const uint16_t *scales; /* Q8_0: (head_dim / 32, scale_stride), the first n of each */
    size_t scale_stride;
    enum dtype dtype;
    int32_t n, head_dim, stride; /* n <= CPU_PIECE; stride: floats of a query or output row, a
                                    multiple of 16 */
    int32_t n_queries;           /* <= CPU_QUERIES */
    float *probabilities;        /* (n_queries, CPU_PIECE): scores or weights of these positions */
    float *scratch;              /* (CPU_RUN_ROWS, stride) */
    const unsigned char *ahead;  /* rows that are needed soon: only prefetched */
    size_t ahead_bytes;          /* for each row of this run */
};

/* Returns the blocks from one quantized query to the next. They take the place of floats. */
static inline int32_t cpu_run_blocks(const struct cpu_run *run)
{
    return run->stride / (int32_t)(sizeof(struct cpu_block) / sizeof(float));
}

/* The contribution of some positions to a query: the highest score, the sum of weights e^(score -
 * max), and the values times these weights. */
struct cpu_part {
    float *max, *sum, *out;
};

struct cpu_kernels {
    const char *name;
    void (*matmul[DTYPE_N])(const struct cpu_tile *tile);
    /* For types that gain by it, NULL for others: from packed to wide, and with wide panels. */
    void (*widen[DTYPE_N])(const unsigned char *panel, int32_t n_columns, unsigned char *wide);
    void (*matmul_wide[DTYPE_N])(const struct cpu_tile *tile);
    int32_t wide_rows_min[DTYPE_N]; /* 0: when those that walk packed panels whole are too many */
    /* True: up to CPU_TILE_ROWS rows walk packed panels of integers from end to end, and more than
     * CPU_FEW_ROWS rows obey is_direct. False: up to CPU_FEW_ROWS rows do, and more rows work in
     * chunks. */
    bool walks_whole;
    /* Types that need rows split into parts. `split` puts a row to `place` in its group,
     * split_bytes for every 32 columns begun; 0 and NULL when nothing is split. */
    bool is_split[DTYPE_N];
    size_t split_bytes;
    void (*split)(const float *x, int32_t n, int32_t place, unsigned char *groups);
    /* For CPU_MANY_ROWS and more, all rows at once, with packed panels, for types that gain by
     * groups of rows. K is cut into chunks inside. */
    void (*matmul_many[DTYPE_N])(const struct cpu_tile *tile);
    /* For matmul_many and matmul_wide: puts a row's blocks to `place` in its group, group_bytes
     * each; 0 and NULL when nothing is grouped. */
    size_t group_bytes;
    void (*group)(const struct cpu_block *row, int32_t n_blocks, int32_t place,
                  unsigned char *groups);
    /* n: a multiple of 32 */
    void (*quantize)(const float *x, int32_t n, struct cpu_block *blocks);
    void (*norm)(const struct cpu_norm *norm, const float *x, float *out); /* x == out is fine */
    /* table: (n_rope_dims / 2) cosines, then as many sines */
    void (*rotate_halves)(float *x, const float *table, int32_t n_half);
    void (*rotate_pairs)(float *x, const float *table, int32_t n_half);
    void (*act)(int act, float *x, int32_t n);               /* in place; enum act_kind */
    void (*multiply)(const float *x, float *out, int32_t n); /* out *= x */
    void (*cap)(float cap, float *x, int32_t n);             /* in place: vmath_cap */
    void (*swiglu_clamped)(const float *up, float limit, float *x, int32_t n); /* in place */
    void (*add)(const float *x, float *out, int32_t n);                        /* out += x */
    void (*scale)(const float *x, float by, float *out, int32_t n);            /* out = x * by */
    void (*add_scaled)(const float *x, float by, float *out, int32_t n); /* out += x * by, fused */
    void (*to_half)(const float *x, int32_t n, uint16_t *out);
    /* probabilities = queries . keys * scale; queries (n_queries, stride), 0 behind head_dim */
    void (*scores)(const struct cpu_run *run, const float *queries, float scale);
    /* The same for keys of Q8_0; queries (n_queries, cpu_run_blocks) */
    void (*scores_q8_0)(const struct cpu_run *run, const struct cpu_block *queries, float scale);
    /* Replaces s[first..last] of one piece (CPU_PIECE floats) by exp(s - max). The others of the
     * same 16 become 0. Returns the sum. */
    float (*softmax)(float *s, int32_t first, int32_t last, float *max);
    /* out (n_queries, stride) += probabilities . values */
    void (*mix)(const struct cpu_run *run, float *out);
    /* Merges two pieces, or one piece and all before it, into `to`; n: floats of out. */
    void (*merge)(const struct cpu_part *to, const struct cpu_part *from, int32_t n);
    const struct compute_draw *draw;
};

/* generic is complete. Tables that begin alike are parts of one table. */
extern const struct cpu_kernels cpu_generic;
extern const struct cpu_kernels cpu_avx2, cpu_avx2_attend, cpu_avx2_float, cpu_avx2_matmul;
extern const struct cpu_kernels cpu_avx2_wide;
extern const struct cpu_kernels cpu_avx512, cpu_avx512_attend, cpu_avx512_float, cpu_avx512_matmul;
extern const struct cpu_kernels cpu_zen4_float;
extern const struct cpu_kernels cpu_zen4_matmul; /* packed panels of cpu_avx512_matmul */
extern const struct cpu_kernels cpu_amx_half, cpu_amx_matmul;
extern const struct compute_draw cpu_avx2_draw, cpu_avx512_draw;
/* Sets the whole table for an instruction set. Missing kernels come from lower sets. */
void cpu_isa_kernels(enum cpu_isa isa, struct cpu_kernels *out);
