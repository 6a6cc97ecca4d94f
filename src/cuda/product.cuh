/* The common part of the kernels of matrix products: their view of a product, and the end of a
 * sum. */
#pragma once
#include "cuda/blocks.cuh"
extern "C" {
#include "cuda/matrix.h"
}

struct ProductView {
    BlockParts weight;
    const float *x; /* FLOATS: registers */
    int64_t x_stride;
    const unsigned char *prepared; /* BLOCKS: the int8 values; F16, BF16: the rows */
    int64_t low_at;                /* split rows: bytes from the high ones to the low ones */
    const struct cuda_block *blocks;
    const float *divisors; /* F16: (rows of src) */
    const int32_t *rows;
    int n_rows;
    const float *bias;
    float *dst;
    int64_t dst_stride;
    int act;
    bool has_act, adds;
};

/* The row of src and dst that the i-th row of the product is. */
__device__ __forceinline__ int product_row(const ProductView &p, int i)
{
    return p.rows != nullptr ? __ldg(p.rows + i) : i;
}

__device__ __forceinline__ void product_store(const ProductView &p, int row, int output, float sum)
{
    float *to = p.dst + row * p.dst_stride + output;
    if (p.bias != nullptr)
        sum += __ldg(p.bias + output);
    if (p.has_act)
        sum = math_act(p.act, sum);
    *to = p.adds ? *to + sum : sum;
}

/* A tile row of 64 bytes is four chunks of 16 bytes. They are swapped by row, so that eight rows of
 * one column of chunks lie in different banks. Returns the chunk's offset in the tile. */
__device__ __forceinline__ int product_chunk(int row, int chunk)
{
    return row * 64 + ((chunk ^ (row >> 1 & 3)) << 4);
}

/* few.cu and so on; weight types as their names say. */
bool cuda_few_floats(struct cuda_stream *stream, const ProductView &view); /* F32 */
bool cuda_few_halves(struct cuda_stream *stream, int type, const ProductView &view);
bool cuda_few_blocks(struct cuda_stream *stream, int type, const ProductView &view);
/* The same bits as cuda_few_blocks, quicker for more than 8 rows. */
bool cuda_few_tiles(struct cuda_stream *stream, int type, const ProductView &view);
bool cuda_tile_blocks(struct cuda_stream *stream, int type, const ProductView &view);
bool cuda_tile_halves(struct cuda_stream *stream, int type, const ProductView &view);
