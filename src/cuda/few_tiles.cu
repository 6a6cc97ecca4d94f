/* Products of 9 rows and more with integer weights in CUDA_CLASS_FEW: tensor cores multiply bytes,
 * with the bits of few.cu.
 *
 * The 32 partial sums of an output are those of few.cu: partial sum l has the blocks l, l + 32 and
 * so on. Warp w of eight adds up l = w, w + 16, w + 8 and w + 24, one after the other, and folds
 * them; the warps' sums are folded by way of shared memory. A thread block computes 16 outputs, and
 * 16 or 32 rows that share one read of the weights, which are decoded in registers. */
#include "cuda/product.cuh"

enum { WARPS = 8, THREADS = WARPS * 32, OUTPUTS = 16, TILES = OUTPUTS / 8 };

/* A thread's part of a block of one output: words lane % 4 and 4 more, and the scales. */
template <class Form>
__device__ __forceinline__ BlockRaw load_words(const BlockParts &w, int output, int block)
{
    int t = threadIdx.x % 4;
    int64_t at = static_cast<int64_t>(output) * (w.n_columns / 32) + block;
    const uint32_t *low = reinterpret_cast<const uint32_t *>(w.part[0] + at * Form::bytes0);
    const uint32_t *high = reinterpret_cast<const uint32_t *>(w.part[1] + at * Form::bytes1);
    BlockRaw raw = {};
    raw.low[0] = __ldg(low + t % (Form::bytes0 / 4));
    if (Form::bytes1 > 0)
        raw.high[0] = __ldg(high + t % (Form::bytes1 > 0 ? Form::bytes1 / 4 : 1));
    block_load_scales<Form>(raw, w, output, block);
    return raw;
}

/* Word t + 4 * i of the block as signed values. */
template <class Form> __device__ __forceinline__ uint32_t signed_word(const BlockRaw &raw, int i)
{
    int t = threadIdx.x % 4, g = t + 4 * i;
    uint32_t word = raw.low[0];
    if (Form::low == 8)
        return i == 0 ? raw.low[0] : raw.high[0];
    word = Form::low == 4 ? (word >> (4 * i)) & 0x0F0F0F0Fu : (word >> (g / 2 * 2)) & 0x03030303u;
    if (Form::high == 2)
        word |= ((raw.high[0] >> (g / 2 * 2)) & 0x03030303u) << Form::low;
    if (Form::high == 1)
        word |= ((raw.high[0] >> g) & 0x01010101u) << Form::low;
    return block_offset<Form>(word);
}

template <int Tiles> struct Rows { /* activations of one block, 16 rows a tile */
    uint32_t a[Tiles][4];
    float scales[Tiles][2];
    int sums[Tiles][2][2]; /* [row lane / 4, 8 further][half of the block] */
};

template <int Tiles>
__device__ __forceinline__ void load_rows(const ProductView &p, const int (&rows)[Tiles][2],
                                          int block, Rows<Tiles> &out)
{
#pragma unroll
    for (int i = 0; i < Tiles; i++)
#pragma unroll
        for (int h = 0; h < 2; h++) {
            int64_t at = static_cast<int64_t>(rows[i][h]) * (p.weight.n_columns / 32) + block;
            const uint32_t *q = reinterpret_cast<const uint32_t *>(p.prepared + at * 32);
            uint2 info = __ldg(reinterpret_cast<const uint2 *>(p.blocks + at));
            out.a[i][h] = __ldg(q + threadIdx.x % 4);
            out.a[i][2 + h] = __ldg(q + threadIdx.x % 4 + 4);
            out.scales[i][h] = math_bits<float>(info.x);
            out.sums[i][h][0] = static_cast<int16_t>(info.y);
            out.sums[i][h][1] = static_cast<int16_t>(info.y >> 16);
        }
}

/* The scale (or minimum) of the thread's outputs 2 (lane % 4) and + 1 of a tile of 8, from the
 * lanes that loaded them. */
__device__ __forceinline__ void spread(float own, float (&to)[2])
{
    int t = threadIdx.x % 4;
    to[0] = __shfl_sync(0xFFFFFFFFu, own, 8 * t);
    to[1] = __shfl_sync(0xFFFFFFFFu, own, 8 * t + 4);
}

/* Adds one (sub-)block of 16 rows and 8 outputs. */
template <class Form>
__device__ __forceinline__ void add_scaled(float (&sums)[4], const int (&d)[4],
                                           const float (&scales)[2], const float (&minimums)[2],
                                           const float (&x_scales)[2], const int (&x_sums)[2])
{
#pragma unroll
    for (int e = 0; e < 4; e++) {
        float x_scale = x_scales[e / 2];
        sums[e] = fmaf(static_cast<float>(d[e]) * scales[e % 2], x_scale, sums[e]);
        if (Form::has_minimum)
            sums[e] = fmaf(minimums[e % 2], x_scale * static_cast<float>(x_sums[e / 2]), sums[e]);
    }
}

template <class Form, int Tiles>
__device__ __forceinline__ void add_block(float (&sums)[Tiles][TILES][4], const BlockRaw &raw,
                                          const Rows<Tiles> &x, int j)
{
    const uint32_t b[2] = { signed_word<Form>(raw, 0), signed_word<Form>(raw, 1) };
#pragma unroll
    for (int s = 0; s < Form::n_subs; s++) {
        float scales[2], minimums[2] = { 0.0f, 0.0f };
        spread(math_finite(block_scale<Form>(raw, s)), scales);
        if (Form::has_minimum)
            spread(block_minimum<Form>(raw, s), minimums);
#pragma unroll
        for (int i = 0; i < Tiles; i++) {
            int d[4] = { 0, 0, 0, 0 };
            uint32_t a[4] = { x.a[i][0], x.a[i][1], x.a[i][2], x.a[i][3] };
            if (Form::n_subs == 2)
                a[2 - 2 * s] = a[3 - 2 * s] = 0; /* the other 16 columns */
            ptx_mma_s8(d, a, b);
            int x_sums[2];
#pragma unroll
            for (int h = 0; h < 2; h++)
                x_sums[h] = Form::n_subs == 2 ? x.sums[i][h][s] : x.sums[i][h][0] + x.sums[i][h][1];
            add_scaled<Form>(sums[i][j], d, scales, minimums, x.scales[i], x_sums);
        }
    }
}

/* Partial sum l of the warp's rows and outputs. */
template <class Form, int Tiles>
__device__ __forceinline__ void add_partial(const ProductView &p, const int (&rows)[Tiles][2],
                                            int l, float (&sums)[Tiles][TILES][4])
{
    int output = blockIdx.x * OUTPUTS + threadIdx.x % 32 / 4, n_blocks = p.weight.n_columns / 32;
    for (int b = l; b < n_blocks; b += 32) {
        BlockRaw raw[TILES];
        Rows<Tiles> x;
#pragma unroll
        for (int j = 0; j < TILES; j++)
            raw[j] = load_words<Form>(p.weight, min(output + j * 8, p.weight.n_rows - 1), b);
        load_rows(p, rows, b, x);
#pragma unroll
        for (int j = 0; j < TILES; j++)
            add_block<Form>(sums, raw[j], x, j);
    }
}

/* to += from, element by element. */
template <int Tiles>
__device__ __forceinline__ void fold(float (&to)[Tiles][TILES][4],
                                     const float (&from)[Tiles][TILES][4])
{
#pragma unroll
    for (int i = 0; i < Tiles * TILES * 4; i++)
        to[i / (TILES * 4)][i / 4 % TILES][i % 4] += from[i / (TILES * 4)][i / 4 % TILES][i % 4];
}

template <class Form, int Tiles>
__global__ void __launch_bounds__(THREADS, 2) few_tiles_kernel(ProductView p)
{
    SHARED_DYN(shared);
    enum { ROWS = Tiles * 16 };
    float *folded = reinterpret_cast<float *>(shared); /* (WARPS, ROWS, OUTPUTS) */
    int warp = threadIdx.x / 32, group = threadIdx.x % 32 / 4, pair = threadIdx.x % 4 * 2;
    int first_row = blockIdx.y * ROWS, rows[Tiles][2];
#pragma unroll
    for (int i = 0; i < Tiles * 2; i++)
        rows[i / 2][i % 2] = product_row(p, min(first_row + i * 8 + group, p.n_rows - 1));
    float sums[2][Tiles][TILES][4] = {};
#pragma unroll
    for (int half_of = 0; half_of < 2; half_of++) { /* w and w + 16, then w + 8 and w + 24 */
        float other[Tiles][TILES][4] = {};
        add_partial<Form>(p, rows, warp + 8 * half_of, sums[half_of]);
        add_partial<Form>(p, rows, warp + 8 * half_of + 16, other);
        fold(sums[half_of], other);
    }
    fold(sums[0], sums[1]);
#pragma unroll
    for (int i = 0; i < Tiles * 4 * TILES; i++) {
        int row = i / (4 * TILES) * 16 + i % 4 / 2 * 8 + group;
        int output = i / 4 % TILES * 8 + pair + i % 2;
        folded[(warp * ROWS + row) * OUTPUTS + output] =
            sums[0][i / (4 * TILES)][i / 4 % TILES][i % 4];
    }
    __syncthreads();
    for (int i = threadIdx.x; i < ROWS * OUTPUTS; i += THREADS) {
        float v[WARPS];
#pragma unroll
        for (int w = 0; w < WARPS; w++)
            v[w] = folded[w * ROWS * OUTPUTS + i];
        int row = first_row + i / OUTPUTS, output = blockIdx.x * OUTPUTS + i % OUTPUTS;
        float sum = ((v[0] + v[4]) + (v[2] + v[6])) + ((v[1] + v[5]) + (v[3] + v[7]));
        if (row < p.n_rows && output < p.weight.n_rows)
            product_store(p, product_row(p, row), output, sum);
    }
}

template <class Form, int Tiles>
static bool launch(struct cuda_stream *stream, const ProductView &p)
{
    enum { ROWS = Tiles * 16 };
    return LAUNCH((few_tiles_kernel<Form, Tiles>),
                  dim3((p.weight.n_rows + OUTPUTS - 1) / OUTPUTS, (p.n_rows + ROWS - 1) / ROWS),
                  THREADS, WARPS * ROWS * OUTPUTS * sizeof(float), stream, p);
}

bool cuda_few_tiles(struct cuda_stream *stream, int type, const ProductView &p)
{
    return block_dispatch(type, [&](auto form) {
        using Form = decltype(form);
        return p.n_rows <= 16 ? launch<Form, 1>(stream, p) : launch<Form, 2>(stream, p);
    });
}
