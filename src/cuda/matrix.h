/* Launch functions of matrix products, and of the form that activations take before them. The rules
 * of kernels.h hold: streams, pointers, errors, and the order of summation of each class. */
#pragma once
#include "cuda/kernels.h"

enum cuda_prepared {
    CUDA_PREPARED_FLOATS, /* the register itself: nothing is prepared */
    CUDA_PREPARED_BLOCKS, /* (n_rows, n_columns) int8, then at a multiple of 64 bytes (n_rows,
                             n_columns / 32) struct cuda_block: the CPU's quant_activations */
    CUDA_PREPARED_F16,    /* (n_rows, n_columns rounded up to 8) 16 bits each, zeros behind
                             n_columns, then at a multiple of 64 bytes (n_rows) floats: what a row
                             was divided by */
    CUDA_PREPARED_BF16,   /* the same without the floats */
    /* The same, where an activation is the sum of two: behind the rows of the high ones, at a
     * multiple of 64 bytes, lie as many of the low ones. */
    CUDA_PREPARED_SPLIT_F16,
    CUDA_PREPARED_SPLIT_BF16,
    CUDA_PREPARED_KINDS,
};
struct cuda_block {
    float scale;
    int16_t sums[2]; /* of the first and the last 16 of the 32 values */
};
/* Returns the form of rows that a product with a matrix of this type reads. */
static inline enum cuda_prepared cuda_matrix_wants(int32_t type, enum cuda_class row_class)
{
    if (type > CUDA_BF16)
        return CUDA_PREPARED_BLOCKS;
    if (type == CUDA_F32)
        return CUDA_PREPARED_FLOATS;
    if (row_class == CUDA_CLASS_FEW)
        return type == CUDA_F16 ? CUDA_PREPARED_SPLIT_F16 : CUDA_PREPARED_SPLIT_BF16;
    return type == CUDA_F16 ? CUDA_PREPARED_F16 : CUDA_PREPARED_BF16;
}
static inline bool cuda_matrix_is_split(enum cuda_prepared kind)
{
    return kind == CUDA_PREPARED_SPLIT_F16 || kind == CUDA_PREPARED_SPLIT_BF16;
}
/* Bytes of the rows, or of the high ones alone. */
static inline size_t cuda_matrix_prepared_rows(enum cuda_prepared kind, int32_t n_rows,
                                               int32_t n_columns)
{
    size_t n_bytes = ((size_t)n_columns + 7) / 8 * 16;
    if (kind == CUDA_PREPARED_BLOCKS)
        n_bytes = (size_t)n_columns;
    return ((size_t)n_rows * n_bytes + 63) / 64 * 64;
}
/* Returns the place of the blocks or floats, and all bytes of n_rows prepared rows. */
static inline size_t cuda_matrix_prepared_at(enum cuda_prepared kind, int32_t n_rows,
                                             int32_t n_columns)
{
    size_t n = cuda_matrix_prepared_rows(kind, n_rows, n_columns);
    return cuda_matrix_is_split(kind) ? 2 * n : n;
}
static inline size_t cuda_matrix_prepared_bytes(enum cuda_prepared kind, int32_t n_rows,
                                                int32_t n_columns)
{
    size_t n = cuda_matrix_prepared_at(kind, n_rows, n_columns), rows = (size_t)n_rows;
    if (kind == CUDA_PREPARED_FLOATS)
        return 0;
    if (kind == CUDA_PREPARED_BLOCKS)
        return n + rows * ((size_t)n_columns / 32) * sizeof(struct cuda_block);
    bool is_f16 = kind == CUDA_PREPARED_F16 || kind == CUDA_PREPARED_SPLIT_F16;
    return is_f16 ? n + rows * sizeof(float) : n;
}
/* Prepares all rows of src. `to` has cuda_matrix_prepared_bytes, at a multiple of 64. BLOCKS: width
 * is a multiple of 32. */
bool cuda_matrix_prepare(struct cuda_stream *stream, const struct cuda_rows *src,
                         enum cuda_prepared kind, void *to);

/* dst = src . weight^T + bias, then act (has_act), then added to dst (adds). dst.width is
 * weight.n_rows, src.width is weight.n_columns, n_rows of the weight is at least 2. */
struct cuda_product {
    struct cuda_matrix weight;
    const float *bias; /* (weight.n_rows) or NULL */
    struct cuda_rows src, dst;
    const void *prepared; /* of src.n_rows rows: what cuda_matrix_wants says */
    const int32_t *rows;  /* (n_rows) the rows to be computed; NULL: all of src */
    int32_t n_rows;
    enum cuda_class row_class;
    int32_t act; /* enum act_kind */
    bool has_act, adds;
};
bool cuda_matrix_product(struct cuda_stream *stream, const struct cuda_product *product);
