/* Attention of prompt rows by tensor cores: a thread block computes one head of up to 64
 * consecutive rows of a sequence, 16 rows a warp, over tiles of 64 positions at absolute multiples
 * of 64.
 *
 * Queries, keys, weights and values are halves, sums are floats. A query is divided by a power of
 * two first, so that it fits. A tile that a row does not see changes nothing: the highest score
 * stays, the factor is 1 and the weights are 0. So a row's bits do not depend on the rows beside
 * it.
 *
 * A tile's way: keys arrive | scores | barrier, next keys are fetched | weights | values arrive |
 * values times weights | barrier, next values are fetched. */
#include "cuda/attend.cuh"

enum { WARPS = 4, THREADS = WARPS * 32, ROWS = CUDA_TILE_QUERIES, KEYS = 64 };

template <int Dims> struct Tile { /* shared memory */
    unsigned char q[ROWS * Dims * 2], k[KEYS * Dims * 2], v[KEYS * Dims * 2];
    const unsigned char *rows[2][2][KEYS]; /* of tile j: [j % 2][part], NULL: not seen */
    int places[2][KEYS];                   /* their row in the block, for types with scales */
    float factors[ROWS];                   /* from a product to a score */
};

/* Offset of 16 bytes in a tile of rows of Dims halves. Eight rows have one column of chunks in
 * different banks. */
template <int Dims> __device__ __forceinline__ int chunk_at(int row, int chunk)
{
    return row * Dims * 2 + ((chunk ^ (row & 7)) << 4);
}

__device__ __forceinline__ uint32_t pack_halves(float low, float high)
{
    return math_to_half(low) | static_cast<uint32_t>(math_to_half(high)) << 16;
}

/* The 16 query rows of the warp, divided by a power of two each. */
template <int Dims>
__device__ void load_queries(const AttendView &v, const struct cuda_tile &tile, Tile<Dims> *s)
{
    int lane = threadIdx.x % 32, first = threadIdx.x / 32 * 16, n = v.cache.head_dim;
    for (int i = first; i < first + 16; i++) {
        float x[8] = {};
        uint32_t magnitude = 0;
        if (i < tile.n_rows && lane * 8 < n) {
            const float *from = v.queries + (tile.first_row + i) * v.queries_stride;
            from += static_cast<int64_t>(blockIdx.x) * n + lane * 8;
#pragma unroll
            for (int d = 0; d < 8; d++) {
                x[d] = from[d];
                magnitude = max(magnitude, math_bits<uint32_t>(x[d]) & 0x7FFFFFFFu);
            }
        }
        int power = math_half_power(math_warp_max(magnitude));
        float factor = math_two_to(power);
        if (lane == 0)
            s->factors[i] = v.scale * math_two_to(-power);
        if (lane * 8 < Dims)
            *reinterpret_cast<uint4 *>(s->q + chunk_at<Dims>(i, lane)) =
                make_uint4(pack_halves(x[0] * factor, x[1] * factor),
                           pack_halves(x[2] * factor, x[3] * factor),
                           pack_halves(x[4] * factor, x[5] * factor),
                           pack_halves(x[6] * factor, x[7] * factor));
    }
}

struct Seen { /* positions that any row of the tile sees, both included */
    int first, last, kv_head;
};

/* Finds the places of the keys and values of tile j. */
template <int Dims>
__device__ void find_rows(const AttendView &v, const struct cuda_sequence &sequence, Seen seen,
                          int j, Tile<Dims> *s)
{
    int part = threadIdx.x / KEYS, i = threadIdx.x % KEYS, t = j * KEYS + i;
    const unsigned char *row = nullptr;
    if (t >= seen.first && t <= seen.last) {
        int k = t / v.cache.block_tokens, at = t - k * v.cache.block_tokens;
        row = cache_rows(v.cache, v.batch, sequence, k, v.layer, part, seen.kv_head);
        row += static_cast<int64_t>(at) * v.cache.head_dim * (v.cache.type == CUDA_F16 ? 2 : 1);
        if (part == 0)
            s->places[j % 2][i] = at;
    }
    s->rows[j % 2][part][i] = row;
}

/* Starts the copies of keys (part 0) or values of tile j; positions that are not seen become 0. */
template <int Type, int Dims>
__device__ void load_rows(const AttendView &v, int j, int part, Tile<Dims> *s)
{
    unsigned char *to = part == 0 ? s->k : s->v;
    int n = v.cache.head_dim;
    for (int i = threadIdx.x; i < KEYS * Dims / 8; i += THREADS) {
        int row = i / (Dims / 8), chunk = i % (Dims / 8);
        const unsigned char *from = s->rows[j % 2][part][row];
        bool is_in = from != nullptr && chunk * 8 < n;
        unsigned char *at = to + chunk_at<Dims>(row, chunk);
        if (Type == CUDA_F16) {
            ptx_copy16(at, is_in ? from + chunk * 16 : v.cache.base, is_in ? 16 : 0);
            continue;
        }
        float x[8] = {};
        int place = s->places[j % 2][row];
        if (is_in)
            cache_load8<Type>(v.cache, from - static_cast<int64_t>(place) * n, place, chunk, x);
        *reinterpret_cast<uint4 *>(at) =
            make_uint4(pack_halves(x[0], x[1]), pack_halves(x[2], x[3]), pack_halves(x[4], x[5]),
                       pack_halves(x[6], x[7]));
    }
    ptx_copy_commit();
}

/* scores (16, KEYS) of the warp = queries . keys. */
template <int Dims>
__device__ __forceinline__ void multiply_keys(const Tile<Dims> *s, float (&scores)[KEYS / 8][4])
{
    int lane = threadIdx.x % 32, row = threadIdx.x / 32 * 16;
#pragma unroll
    for (int n = 0; n < KEYS / 8; n++)
#pragma unroll
        for (int e = 0; e < 4; e++)
            scores[n][e] = 0.0f;
#pragma unroll
    for (int k = 0; k < Dims / 16; k++) {
        uint32_t a[4];
        ptx_load_matrices(a, s->q + chunk_at<Dims>(row + lane % 16, 2 * k + lane / 16));
#pragma unroll
        for (int n = 0; n < KEYS / 16; n++) {
            uint32_t four[4];
            ptx_load_matrices(four, s->k + chunk_at<Dims>(n * 16 + lane % 8 + lane / 16 * 8,
                                                          2 * k + lane / 8 % 2));
            const uint32_t b0[2] = { four[0], four[1] }, b1[2] = { four[2], four[3] };
            ptx_mma_f16(scores[2 * n], a, b0);
            ptx_mma_f16(scores[2 * n + 1], a, b1);
        }
    }
}

/* sums (16, Dims) += weights . values. */
template <int Dims>
__device__ __forceinline__ void multiply_values(const Tile<Dims> *s,
                                                const float (&weights)[KEYS / 8][4],
                                                float (&sums)[Dims / 8][4])
{
    int lane = threadIdx.x % 32;
#pragma unroll
    for (int k = 0; k < KEYS / 16; k++) {
        const float(&low)[4] = weights[2 * k], (&high)[4] = weights[2 * k + 1];
        const uint32_t a[4] = { pack_halves(low[0], low[1]), pack_halves(low[2], low[3]),
                                pack_halves(high[0], high[1]), pack_halves(high[2], high[3]) };
#pragma unroll
        for (int n = 0; n < Dims / 16; n++) {
            uint32_t four[4];
            ptx_load_matrices_transposed(
                four, s->v + chunk_at<Dims>(k * 16 + lane % 16, 2 * n + lane / 16));
            const uint32_t b0[2] = { four[0], four[1] }, b1[2] = { four[2], four[3] };
            ptx_mma_f16(sums[2 * n], a, b0);
            ptx_mma_f16(sums[2 * n + 1], a, b1);
        }
    }
}

struct RowState { /* of the two rows whose parts a thread holds: lane / 4, and 8 further */
    int last[2];  /* position of the row; -1: there is none */
    float factor[2], max[2], sum[2];
};

/* Scores become weights; what was added up is scaled to the new highest score. */
template <int Dims>
__device__ __forceinline__ void weigh(const AttendView &v, int j, RowState &state,
                                      float (&scores)[KEYS / 8][4], float (&sums)[Dims / 8][4])
{
    int pair = threadIdx.x % 4 * 2;
#pragma unroll
    for (int h = 0; h < 2; h++) {
        int first = attend_first(v, state.last[h]);
        float top = state.max[h], sum = 0.0f;
#pragma unroll
        for (int i = 0; i < KEYS / 4; i++) {
            int t = j * KEYS + i / 2 * 8 + pair + i % 2;
            float &score = scores[i / 2][2 * h + i % 2];
            score = t >= first && t <= state.last[h] ? score * state.factor[h] : -INFINITY;
            top = score > top ? score : top;
        }
        top = fmaxf(top, __shfl_xor_sync(0xFFFFFFFFu, top, 1));
        top = fmaxf(top, __shfl_xor_sync(0xFFFFFFFFu, top, 2));
        float base = top == -INFINITY ? 0.0f : top; /* nothing was seen yet */
        float factor = __expf(state.max[h] - base);
#pragma unroll
        for (int i = 0; i < KEYS / 4; i++) {
            float &score = scores[i / 2][2 * h + i % 2];
            score = __expf(score - base);
            sum += score;
        }
        state.sum[h] = fmaf(state.sum[h], factor, sum);
        state.max[h] = top;
#pragma unroll
        for (int n = 0; n < Dims / 8; n++) {
            sums[n][2 * h] *= factor;
            sums[n][2 * h + 1] *= factor;
        }
    }
}

template <int Dims>
__device__ void store_rows(const AttendView &v, const struct cuda_tile &tile, const RowState &state,
                           const float (&sums)[Dims / 8][4])
{
    int group = threadIdx.x % 32 / 4, pair = threadIdx.x % 4 * 2, n = v.cache.head_dim;
#pragma unroll
    for (int h = 0; h < 2; h++) {
        float sum = state.sum[h];
        sum += __shfl_xor_sync(0xFFFFFFFFu, sum, 1);
        sum += __shfl_xor_sync(0xFFFFFFFFu, sum, 2);
        int row = threadIdx.x / 32 * 16 + h * 8 + group;
        if (row >= tile.n_rows)
            continue;
        float inverse = 1.0f / sum;
        float *to =
            v.dst + (tile.first_row + row) * v.dst_stride + static_cast<int64_t>(blockIdx.x) * n;
#pragma unroll
        for (int i = 0; i < Dims / 4; i++) {
            int d = i / 2 * 8 + pair + i % 2;
            if (d < n)
                to[d] = sums[i / 2][2 * h + i % 2] * inverse;
        }
    }
}

template <int Type, int Dims>
__global__ void __launch_bounds__(THREADS)
    attend_tiles_kernel(AttendView v, const struct cuda_tile *tiles)
{
    SHARED_DYN(shared);
    Tile<Dims> *s = reinterpret_cast<Tile<Dims> *>(shared);
    const struct cuda_tile tile = tiles[gridDim.y - 1 - blockIdx.y]; /* the longest ones first */
    const struct cuda_sequence sequence = v.batch.sequences[v.batch.sequence_of[tile.first_row]];
    int position = sequence.n_before + tile.first_row - sequence.first_row;
    Seen seen = { attend_first(v, position), position + tile.n_rows - 1,
                  static_cast<int>(blockIdx.x) / (v.n_heads / v.cache.n_kv_heads) };
    int warp_row = threadIdx.x / 32 * 16, first_row = warp_row + threadIdx.x % 32 / 4;
    load_queries(v, tile, s);
    __syncwarp();
    RowState state;
#pragma unroll
    for (int h = 0; h < 2; h++) {
        int row = first_row + h * 8;
        state.last[h] = row < tile.n_rows ? position + row : -1;
        state.factor[h] = s->factors[row];
        state.max[h] = -INFINITY;
        state.sum[h] = 0.0f;
    }
    /* Tiles that a row of this warp sees; the others change nothing. */
    int warp_first = attend_first(v, position + warp_row) / KEYS;
    int warp_last = (position + min(warp_row + 15, tile.n_rows - 1)) / KEYS;
    warp_last = warp_row < tile.n_rows ? warp_last : -1;
    float sums[Dims / 8][4] = {};
    int j = seen.first / KEYS, last = seen.last / KEYS;
    find_rows(v, sequence, seen, j, s);
    __syncthreads();
    load_rows<Type>(v, j, 0, s);
    load_rows<Type>(v, j, 1, s);
    for (; j <= last; j++) {
        bool is_seen = j >= warp_first && j <= warp_last; /* the same for the warp */
        float scores[KEYS / 8][4];
        ptx_copy_wait<1>(); /* the keys; the values may be on their way */
        __syncthreads();
        if (is_seen)
            multiply_keys(s, scores);
        if (j < last)
            find_rows(v, sequence, seen, j + 1, s);
        __syncthreads(); /* all are done with the keys */
        if (j < last)
            load_rows<Type>(v, j + 1, 0, s);
        else
            ptx_copy_commit();
        if (is_seen)
            weigh<Dims>(v, j, state, scores, sums);
        ptx_copy_wait<1>(); /* the values */
        __syncthreads();
        if (is_seen)
            multiply_values(s, scores, sums);
        __syncthreads(); /* all are done with the values */
        if (j < last)
            load_rows<Type>(v, j + 1, 1, s);
    }
    store_rows<Dims>(v, tile, state, sums);
}

template <int Type, int Dims>
static bool launch(struct cuda_stream *stream, const AttendView &v, const struct cuda_tile *tiles,
                   int n_tiles)
{
    return LAUNCH((attend_tiles_kernel<Type, Dims>), dim3(v.n_heads, n_tiles), THREADS,
                  sizeof(Tile<Dims>), stream, v, tiles);
}

template <int Type>
static bool launch_type(struct cuda_stream *stream, const AttendView &v,
                        const struct cuda_tile *tiles, int n_tiles)
{
    if (v.cache.head_dim <= 64)
        return launch<Type, 64>(stream, v, tiles, n_tiles);
    if (v.cache.head_dim <= 128)
        return launch<Type, 128>(stream, v, tiles, n_tiles);
    return launch<Type, 256>(stream, v, tiles, n_tiles);
}

bool cuda_kernels_attend_tiles(struct cuda_stream *stream, const struct cuda_attend *a,
                               const struct cuda_tile *tiles, int32_t n_tiles)
{
    if (!attend_is_valid(*a) || a->cache.type == CUDA_F32 || n_tiles < 0 || n_tiles > 65535)
        return false;
    if (n_tiles == 0)
        return true;
    AttendView v = attend_view(*a);
    return a->cache.type == CUDA_F16 ? launch_type<CUDA_F16>(stream, v, tiles, n_tiles)
                                     : launch_type<CUDA_Q8_0>(stream, v, tiles, n_tiles);
}
