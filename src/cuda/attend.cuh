/* The common part of the kernels of attention: their view of it, and one row's part in it. */
#pragma once
#include "cuda/cache.cuh"

struct AttendView {
    const float *queries;
    float *dst, *scratch; /* scratch: (n_rows, n_heads, n_pieces, head_dim + 2) */
    int64_t queries_stride, dst_stride;
    const int32_t *rows;
    int n_rows, n_heads, layer, window, n_pieces;
    float scale;
    struct cuda_batch batch;
    struct cuda_cache cache;
};

struct AttendItem { /* one row */
    struct cuda_sequence sequence;
    const float *queries; /* the row's; of the block's first head later */
    int row, first, last; /* positions that it sees, both included */
    int kv_head, n_heads, piece;
};

__device__ __forceinline__ int attend_first(const AttendView &v, int last)
{
    return v.window > 0 && last - v.window + 1 > 0 ? last - v.window + 1 : 0;
}

/* Whether the row only fills up a batch. */
__device__ __forceinline__ bool attend_is_empty(const AttendView &v, int i)
{
    int row = v.rows != nullptr ? __ldg(v.rows + i) : i;
    return __ldg(v.batch.sequence_of + row) < 0;
}

__device__ __forceinline__ AttendItem attend_item(const AttendView &v, int i)
{
    AttendItem item = {};
    item.row = v.rows != nullptr ? __ldg(v.rows + i) : i;
    item.sequence = v.batch.sequences[__ldg(v.batch.sequence_of + item.row)];
    item.last = item.sequence.n_before + item.row - item.sequence.first_row;
    item.first = attend_first(v, item.last);
    item.queries = v.queries + item.row * v.queries_stride;
    return item;
}

/* How many of the piece's positions, from its first, reach to the last that the row sees. */
__device__ __forceinline__ int attend_count(const AttendItem &item)
{
    return min(CUDA_PIECE, item.last - item.piece * CUDA_PIECE + 1);
}

/* Values (head_dim), highest score and sum of one piece, the slot-th that the row sees. */
__device__ __forceinline__ float *attend_part(const AttendView &v, int i, int head, int slot)
{
    int64_t at = (static_cast<int64_t>(i) * v.n_heads + head) * v.n_pieces + slot;
    return v.scratch + at * (v.cache.head_dim + 2);
}

inline AttendView attend_view(const struct cuda_attend &a)
{
    AttendView v = {};
    v.queries = a.queries.at;
    v.queries_stride = a.queries.stride;
    v.dst = a.dst.at;
    v.dst_stride = a.dst.stride;
    v.scratch = a.scratch;
    v.rows = a.rows;
    v.n_rows = a.n_rows;
    v.n_heads = a.n_heads;
    v.layer = a.layer;
    v.window = a.window;
    v.scale = a.scale;
    v.batch = a.batch;
    v.cache = a.cache;
    return v;
}

inline bool attend_is_valid(const struct cuda_attend &a)
{
    const struct cuda_cache &c = a.cache;
    return c.n_kv_heads > 0 && a.n_heads % c.n_kv_heads == 0 && c.head_dim % 8 == 0 &&
           c.head_dim > 0 && c.head_dim <= CUDA_HEAD_DIM_MAX &&
           (c.type == CUDA_F32 || c.type == CUDA_F16 ||
            (c.type == CUDA_Q8_0 && c.head_dim % 32 == 0)) &&
           a.queries.width == a.n_heads * c.head_dim && a.dst.width == a.queries.width;
}
