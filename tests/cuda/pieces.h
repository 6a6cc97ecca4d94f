/* Pieces of emulated device memory for tests of kernels: exact sizes, filled from the host. */
#pragma once
#include "test.h"

#include "base/rng.h"
#include "core/tensor.h"
#include "cuda/pack.h"
#include "cuda/kernels.h"
#include "emulate/control.h"

static inline void *piece_copy(const void *from, size_t n_bytes)
{
    void *piece = emulate_take(n_bytes);
    memcpy(piece, from, n_bytes);
    return piece;
}
/* Rows whose columns behind `width` are NaN; the last row ends with its width. */
static inline struct cuda_rows piece_rows(int32_t n_rows, int32_t width)
{
    int64_t stride = (width + 3) / 4 * 4 + 4;
    size_t n = n_rows > 0 ? (size_t)((n_rows - 1) * stride + width) : 0;
    return (struct cuda_rows){ emulate_take(n * sizeof(float)), stride, n_rows, width };
}
static inline void piece_fill(struct cuda_rows rows, struct rng *rng)
{
    for (int32_t r = 0; r < rows.n_rows; r++)
        for (int32_t i = 0; i < rows.width; i++)
            rows.at[r * rows.stride + i] = (float)rng_normal(rng);
}
static inline struct cuda_rows piece_random(int32_t n_rows, int32_t width, struct rng *rng)
{
    struct cuda_rows rows = piece_rows(n_rows, width);
    piece_fill(rows, rng);
    return rows;
}
static inline struct cuda_matrix piece_matrix(const struct tensor *tensor)
{
    int64_t n = cuda_layout_of((int32_t)tensor->dtype, tensor->n_rows, tensor->n_columns).n_bytes;
    unsigned char *piece = emulate_take((size_t)n);
    cuda_pack_all(tensor, piece);
    return (struct cuda_matrix){ piece, (int32_t)tensor->dtype, tensor->n_rows, tensor->n_columns };
}
static inline void piece_give_matrix(struct cuda_matrix matrix)
{
    emulate_give((void *)(uintptr_t)matrix.packed);
}
