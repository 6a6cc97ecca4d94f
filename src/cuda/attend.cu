/* Attention of few rows: a thread block computes one piece of 256 positions for the query heads of
 * one row that share a key-value head, so keys and values are read once for the group. A second
 * kernel merges the pieces upwards.
 *
 * Order of summation: a score is the fold (halves down to 1) over chunks of 8 dimensions, each
 * added up by fmaf; a piece's sum of weights and its values are folded over lanes, then over warps
 * upwards. Nothing depends on other rows, on the size of blocks or on the grid. */
#include "cuda/attend.cuh"

enum { WARPS = 4, THREADS = WARPS * 32, HEADS = 8 /* of a group, that a block computes at most */ };

__device__ __forceinline__ float warp_max(float x)
{
#pragma unroll
    for (int o = 16; o > 0; o >>= 1)
        x = fmaxf(x, __shfl_xor_sync(0xFFFFFFFFu, x, o));
    return x;
}

struct Lanes {               /* a row of a head is spread over 2^shift lanes, 8 dimensions each */
    int shift, chunk, first; /* this lane's chunk; its first position of the block's */
    bool is_in;
};
__device__ __forceinline__ Lanes lanes_of(int head_dim)
{
    Lanes lanes = {};
    while ((8 << lanes.shift) < head_dim)
        lanes.shift++;
    lanes.chunk = threadIdx.x & ((1 << lanes.shift) - 1);
    lanes.first = threadIdx.x >> lanes.shift;
    lanes.is_in = lanes.chunk * 8 < head_dim;
    return lanes;
}

/* Scores of the piece's positions into scores (Heads, CUDA_PIECE). */
template <int Type, int Heads>
__device__ void score_piece(const AttendView &v, const AttendItem &item, Lanes lanes, float *scores)
{
    int step = THREADS >> lanes.shift, n = attend_count(item);
    float q[Heads][8];
#pragma unroll
    for (int h = 0; h < Heads; h++)
#pragma unroll
        for (int i = 0; i < 8; i++)
            q[h][i] = lanes.is_in && h < item.n_heads
                          ? item.queries[h * v.cache.head_dim + lanes.chunk * 8 + i]
                          : 0.0f;
    for (int i = lanes.first; i - lanes.first < n; i += step) { /* the same for the whole block */
        int t = item.piece * CUDA_PIECE + i;
        float k[8] = {}, dots[Heads] = {};
        if (lanes.is_in && t >= item.first && t <= item.last)
            cache_load8<Type>(v.cache,
                              cache_rows(v.cache, v.batch, item.sequence, t / v.cache.block_tokens,
                                         v.layer, 0, item.kv_head),
                              t % v.cache.block_tokens, lanes.chunk, k);
#pragma unroll
        for (int h = 0; h < Heads; h++) {
#pragma unroll
            for (int d = 0; d < 8; d++)
                dots[h] = fmaf(q[h][d], k[d], dots[h]);
            for (int o = (1 << lanes.shift) / 2; o > 0; o >>= 1)
                dots[h] += __shfl_xor_sync(0xFFFFFFFFu, dots[h], o);
            if (lanes.chunk == 0)
                scores[h * CUDA_PIECE + i] =
                    t >= item.first && t <= item.last ? dots[h] * v.scale : -INFINITY;
        }
    }
}

/* A head's scores of the first n positions become weights; returns the highest score and the sum in
 * each lane. */
__device__ void weigh(float *scores, int n, float *highest, float *sum)
{
    float own[CUDA_PIECE / 32], max = -INFINITY, total = 0.0f;
#pragma unroll
    for (int i = 0; i < CUDA_PIECE / 32; i++) {
        int at = i * 32 + threadIdx.x % 32;
        own[i] = at < n ? scores[at] : -INFINITY;
        max = fmaxf(max, own[i]);
    }
    max = warp_max(max);
#pragma unroll
    for (int i = 0; i < CUDA_PIECE / 32; i++) {
        float weight = own[i] == -INFINITY ? 0.0f : math_exp(own[i] - max);
        scores[i * 32 + threadIdx.x % 32] = weight;
        total += weight;
    }
    *highest = max;
    *sum = math_warp_sum(total);
}

/* Values times weights: each lane adds up every step-th position of its chunk, then lanes of a warp
 * are folded and warps are added upwards by way of `mixed` (WARPS, Heads, head_dim). */
template <int Type, int Heads>
__device__ void mix_piece(const AttendView &v, const AttendItem &item, Lanes lanes,
                          const float *weights, float *mixed)
{
    int step = THREADS >> lanes.shift, n = attend_count(item);
    float sums[Heads][8] = {};
    for (int i = lanes.first; i < n; i += step) {
        int t = item.piece * CUDA_PIECE + i;
        float x[8];
        if (!lanes.is_in || t < item.first || t > item.last)
            continue;
        cache_load8<Type>(v.cache,
                          cache_rows(v.cache, v.batch, item.sequence, t / v.cache.block_tokens,
                                     v.layer, 1, item.kv_head),
                          t % v.cache.block_tokens, lanes.chunk, x);
#pragma unroll
        for (int h = 0; h < Heads; h++) {
            float weight = weights[h * CUDA_PIECE + i];
#pragma unroll
            for (int d = 0; d < 8; d++)
                sums[h][d] = fmaf(weight, x[d], sums[h][d]);
        }
    }
    int warp = threadIdx.x / 32;
#pragma unroll
    for (int h = 0; h < Heads; h++)
#pragma unroll
        for (int d = 0; d < 8; d++) {
            float sum = sums[h][d];
            for (int o = 16; o >= 1 << lanes.shift; o >>= 1)
                sum += __shfl_xor_sync(0xFFFFFFFFu, sum, o);
            if (threadIdx.x % 32 >> lanes.shift == 0 && lanes.is_in)
                mixed[(warp * Heads + h) * v.cache.head_dim + lanes.chunk * 8 + d] = sum;
        }
}

template <int Type, int Heads>
__global__ void __launch_bounds__(THREADS) attend_piece_kernel(AttendView v)
{
    SHARED_DYN(shared);
    __shared__ float maxima[Heads], totals[Heads];
    float *scores = reinterpret_cast<float *>(shared), *mixed = scores + Heads * CUDA_PIECE;
    Lanes lanes = lanes_of(v.cache.head_dim);
    if (attend_is_empty(v, blockIdx.z))
        return;
    AttendItem item = attend_item(v, blockIdx.z);
    int group = v.n_heads / v.cache.n_kv_heads, n_parts = (group + Heads - 1) / Heads;
    int warp = threadIdx.x / 32, head_dim = v.cache.head_dim;
    int first_head = blockIdx.y % n_parts * Heads;
    item.kv_head = blockIdx.y / n_parts;
    item.n_heads = min(Heads, group - first_head);
    first_head += item.kv_head * group;
    item.queries += static_cast<int64_t>(first_head) * head_dim;
    for (item.piece = item.first / CUDA_PIECE + blockIdx.x; item.piece <= item.last / CUDA_PIECE;
         item.piece += gridDim.x) {
        score_piece<Type, Heads>(v, item, lanes, scores);
        __syncthreads();
        for (int h = warp; h < item.n_heads; h += WARPS) {
            float max, total;
            weigh(scores + h * CUDA_PIECE, attend_count(item), &max, &total);
            if (threadIdx.x % 32 == 0)
                maxima[h] = max, totals[h] = total;
        }
        __syncthreads(); /* weights are there */
        mix_piece<Type, Heads>(v, item, lanes, scores, mixed);
        __syncthreads();
        int slot = item.piece - item.first / CUDA_PIECE;
        float *to = attend_part(v, blockIdx.z, first_head, slot);
        int64_t next_head = static_cast<int64_t>(v.n_pieces) * (head_dim + 2);
        for (int i = threadIdx.x; i < item.n_heads * head_dim; i += THREADS) {
            int h = i / head_dim, d = i % head_dim;
            float sum = mixed[h * head_dim + d];
            for (int w = 1; w < WARPS; w++)
                sum += mixed[(w * Heads + h) * head_dim + d];
            to[h * next_head + d] = sum;
            if (d < 2)
                to[h * next_head + head_dim + d] = d == 0 ? maxima[h] : totals[h];
        }
    }
}

/* One thread block a head of a row: pieces are merged upwards, then divided by the sum. */
__global__ void __launch_bounds__(THREADS) attend_merge_kernel(AttendView v)
{
    if (attend_is_empty(v, blockIdx.y))
        return;
    AttendItem item = attend_item(v, blockIdx.y);
    int head_dim = v.cache.head_dim, head = blockIdx.x;
    int n_pieces = item.last / CUDA_PIECE - item.first / CUDA_PIECE + 1;
    for (int d = threadIdx.x; d < head_dim; d += THREADS) {
        const float *part = attend_part(v, blockIdx.y, head, 0);
        float out = part[d], max = part[head_dim], sum = part[head_dim + 1];
        for (int i = 1; i < n_pieces; i++) {
            part += head_dim + 2;
            float max2 = part[head_dim], top = max > max2 ? max : max2;
            float a = math_exp(max - top), b = math_exp(max2 - top);
            out = fmaf(part[d], b, out * a);
            sum = fmaf(part[head_dim + 1], b, sum * a);
            max = top;
        }
        v.dst[item.row * v.dst_stride + static_cast<int64_t>(head) * head_dim + d] =
            out * (1.0f / sum);
    }
}

template <int Type, int Heads>
static bool launch_pieces(struct cuda_stream *stream, const AttendView &v, int n_splits)
{
    int group = v.n_heads / v.cache.n_kv_heads, n_parts = (group + Heads - 1) / Heads;
    size_t n_floats = static_cast<size_t>(Heads) * (CUDA_PIECE + WARPS * v.cache.head_dim);
    return LAUNCH((attend_piece_kernel<Type, Heads>),
                  dim3(n_splits, v.cache.n_kv_heads * n_parts, v.n_rows), THREADS,
                  n_floats * sizeof(float), stream, v);
}

template <int Type>
static bool launch_type(struct cuda_stream *stream, const AttendView &v, int n_splits)
{
    int group = v.n_heads / v.cache.n_kv_heads;
    if (group == 1)
        return launch_pieces<Type, 1>(stream, v, n_splits);
    if (group == 2)
        return launch_pieces<Type, 2>(stream, v, n_splits);
    if (group <= 4)
        return launch_pieces<Type, 4>(stream, v, n_splits);
    return launch_pieces<Type, HEADS>(stream, v, n_splits);
}

static int pieces_max(int32_t n_positions_max)
{
    return (n_positions_max + CUDA_PIECE - 2) / CUDA_PIECE + 1; /* a window begins anywhere */
}

size_t cuda_kernels_attend_bytes(int32_t n_rows, int32_t n_heads, int32_t head_dim,
                                 int32_t n_positions_max)
{
    return sizeof(float) * static_cast<size_t>(n_rows) * static_cast<size_t>(n_heads) *
           static_cast<size_t>(pieces_max(n_positions_max)) * (static_cast<size_t>(head_dim) + 2);
}

bool cuda_kernels_attend(struct cuda_stream *stream, const struct cuda_attend *a)
{
    AttendView v = attend_view(*a);
    if (!attend_is_valid(*a) || a->n_positions_max < 1 || a->n_rows > 65535 || a->n_processors < 1)
        return false;
    if (a->n_rows == 0)
        return true;
    v.n_pieces = pieces_max(a->n_positions_max);
    /* Enough blocks for each processor to have four; no block without a piece. */
    int64_t others = static_cast<int64_t>(a->n_rows) * a->cache.n_kv_heads;
    int64_t wanted = (4 * static_cast<int64_t>(a->n_processors) + others - 1) / others;
    int n_splits = static_cast<int>(min(wanted, static_cast<int64_t>(v.n_pieces)));
    bool is_launched = a->cache.type == CUDA_F32   ? launch_type<CUDA_F32>(stream, v, n_splits)
                       : a->cache.type == CUDA_F16 ? launch_type<CUDA_F16>(stream, v, n_splits)
                                                   : launch_type<CUDA_Q8_0>(stream, v, n_splits);
    return is_launched &&
           LAUNCH(attend_merge_kernel, dim3(a->n_heads, a->n_rows), THREADS, 0, stream, v);
}
