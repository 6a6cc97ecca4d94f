/* The launch functions of the CUDA kernels: plain C in front of the .cu files, which include it
 * inside extern "C".
 *
 * Each function enqueues its kernels on the stream and returns at once. It returns false when a
 * launch is refused by the driver, or when a shape lies outside the limits stated here; nothing was
 * enqueued then. Every pointer is a device pointer, except for structures, which are read before
 * the function returns. Functions allocate nothing and read no device memory, so they can be
 * captured into a graph.
 *
 * Registers are float32 rows: a row begins at a multiple of 16 bytes, and `stride` floats (a
 * multiple of 4) further the next one. Columns behind `width` are never read into a result.
 *
 * Equal bits: a row's results depend on that row, its sequence's cache and its class alone. They
 * depend neither on other rows, nor on n_rows, nor on the number of multiprocessors. FP contraction
 * is off, so kernels fuse exactly where they write fmaf.
 *
 *   CLASS_FEW (generated rows)  integers and F32: a sum over K is 32 partial sums: lane l takes the
 *       chunks l, l + 32 and so on (8 columns of F32, a block of 32 of integers), upwards, by fmaf.
 *       They are folded by halves: 16, 8, 4, 2, 1. F16 and BF16: an activation is the sum of two
 *       halves, and tensor cores add up as few_halves.cu says.
 *   CLASS_MANY (prompt rows)  integers: the arithmetic of compute.h, the same bits as the CPU's.
 *       F16 and BF16: activations are rounded to the weights' type (F16: after a division by a
 *       power of two that brings the row's largest magnitude into [2^14, 2^15)), and tensor cores
 *       add products of 16 columns at a time, upwards. F32: as CLASS_FEW. */
#pragma once
#include "cuda/form.h"
#include <stddef.h>

struct cuda_stream;

enum cuda_class { CUDA_CLASS_FEW, CUDA_CLASS_MANY };
enum cuda_limit {
    CUDA_HEAD_DIM_MAX = 256, /* of attention; a head_dim is a multiple of 8 */
    CUDA_PIECE = 256,        /* positions of one piece of attention */
};

struct cuda_rows { /* (n_rows, width) floats */
    float *at;
    int64_t stride;
    int32_t n_rows, width;
};
struct cuda_matrix { /* packed as form.h says; n_rows == 1: a vector */
    const unsigned char *packed;
    int32_t type, n_rows, n_columns; /* enum cuda_type */
};

/* dst row r = weight row ids[r] * scale, then + positional row (positions[r] + offset) where
 * positional.packed is there. Ids and positions must lie inside the matrices. */
struct cuda_embed {
    struct cuda_matrix tokens, positional;
    const int32_t *ids, *positions; /* (n_rows) */
    int32_t offset;
    float scale;
    struct cuda_rows dst;
};
bool cuda_kernels_embed(struct cuda_stream *stream, const struct cuda_embed *embed);

/* dst = norm(src) * weight + bias (bias may be NULL), or dst += that; src.at == dst.at is allowed.
 * Layer norm or RMS norm over width columns; epsilon is added to the mean square. */
struct cuda_norm {
    struct cuda_rows src, dst;
    const float *weight, *bias; /* (width) */
    float epsilon;
    bool is_layer, adds;
};
bool cuda_kernels_norm(struct cuda_stream *stream, const struct cuda_norm *norm);

/* dst = act(src) * src2; dst may be src. act: enum act_kind's numbers (core/model_spec.h). */
struct cuda_gate {
    struct cuda_rows src, src2, dst;
    int32_t act;
};
bool cuda_kernels_gate(struct cuda_stream *stream, const struct cuda_gate *gate);

/* dst row r = src row rows[r]. */
bool cuda_kernels_take_rows(struct cuda_stream *stream, const struct cuda_rows *src,
                            const int32_t *rows, const struct cuda_rows *dst);

/* ids[r] = drawn[-1 - ids[r]] where ids[r] < 0 (compute_drawn). */
bool cuda_kernels_resolve_ids(struct cuda_stream *stream, int32_t *ids, int32_t n_rows,
                              const int32_t *drawn);

/* ---- Heads and the cache. ---- */

/* table[row] = n_dims / 2 cosines, then as many sines, of positions[row] * inverse frequency; each
 * times scale. The same bits as the CPU's. */
struct cuda_angles {
    const int32_t *positions;         /* (n_rows) */
    const float *inverse_frequencies; /* (n_dims / 2) */
    float *table;                     /* (n_rows, n_dims) */
    int32_t n_rows, n_dims;
    float scale;
};
bool cuda_kernels_angles(struct cuda_stream *stream, const struct cuda_angles *angles);

/* compute_kv's fields (compute/pass.h): by head, or blocks of all layers. Block starts and
 * unit_bytes are multiples of 16. type: CUDA_F32, CUDA_F16 or CUDA_Q8_0. */
struct cuda_cache {
    unsigned char *base;
    uint64_t unit_bytes, block_bytes;
    uint32_t blocks_per_unit;
    int32_t block_tokens, type, n_kv_heads, head_dim;
    bool is_by_head;
};
/* A sequence of the pass. Its block table is blocks[at ...]: a row of blocks, or by head (n_layers,
 * n_kv_heads, stride) units. Row r of the pass has position n_before + r - first_row. */
struct cuda_sequence {
    uint64_t at;
    uint32_t stride;
    int32_t first_row, n_before;
};
struct cuda_batch {
    const struct cuda_sequence *sequences;
    /* (n_rows) index of each row's sequence. Negative: the row fills up a batch. Nothing is stored
     * for it, and its attention is left undefined. */
    const int32_t *sequence_of;
    const uint32_t *blocks;
};

/* In place on the heads of queries and keys: RMS norm of each head (weight (head_dim) or NULL),
 * then rotation (table NULL: none). Then keys and values go into the cache of `layer`, rounded as
 * compute.h says. queries.at, keys.at or values.at may be NULL: that part is left out. */
struct cuda_heads {
    struct cuda_rows queries, keys, values;
    const float *query_weight, *key_weight;
    float epsilon;
    const float *table; /* of cuda_kernels_angles */
    int32_t n_rope_dims;
    bool is_pairs; /* rotation of neighbours, else of halves */
    struct cuda_batch batch;
    struct cuda_cache cache;
    int32_t n_rows, head_dim, layer;
};
bool cuda_kernels_heads(struct cuda_stream *stream, const struct cuda_heads *heads);

/* dst = attention of queries over the cache of `layer`, each row over its last `window` positions
 * (0: all), itself included. Pieces are absolute multiples of CUDA_PIECE positions, each from
 * scratch, and are merged upwards. head_dim: a multiple of 8, at most CUDA_HEAD_DIM_MAX. */
struct cuda_attend {
    struct cuda_rows queries, dst; /* width: n_heads * head_dim */
    const int32_t *rows;           /* (n_rows) rows of the pass to be computed; NULL: all */
    int32_t n_rows, n_heads, layer, window;
    int32_t n_positions_max; /* at least the number of positions that any of the rows sees */
    float scale;
    struct cuda_batch batch;
    struct cuda_cache cache;
    float *scratch; /* cuda_kernels_attend_bytes, at a multiple of 16 */
    /* At least 1: the number of processors that the work is spread over. It changes no bit. */
    int32_t n_processors;
};
size_t cuda_kernels_attend_bytes(int32_t n_rows, int32_t n_heads, int32_t head_dim,
                                 int32_t n_positions_max);
bool cuda_kernels_attend(struct cuda_stream *stream, const struct cuda_attend *attend);

/* The same for prompt rows, by tensor cores. tiles: (n_tiles) in device memory, at most
 * CUDA_TILE_QUERIES consecutive rows of one sequence each, in ascending order of position, since
 * the last ones are begun first. rows, n_rows, n_positions_max, scratch and n_processors are not
 * used.
 *
 * The cache is F16 or Q8_0, whose values are rounded to halves. Queries and weights are rounded to
 * halves too. A value in the cache that is not finite makes every row not finite that sees it, or
 * that lies in a tile with a row that sees it. An F32 cache is refused: cuda_kernels_attend takes
 * its prompt rows too. Bits are other ones than those of cuda_kernels_attend, and depend as little
 * on other rows, on the choice of tiles and on the cache's layout. */
enum { CUDA_TILE_QUERIES = 64, CUDA_TILES_MAX = 65535 };
struct cuda_tile {
    int32_t first_row, n_rows; /* n_rows >= 1 */
};
bool cuda_kernels_attend_tiles(struct cuda_stream *stream, const struct cuda_attend *attend,
                               const struct cuda_tile *tiles, int32_t n_tiles);
