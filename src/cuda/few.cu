/* Products of few rows (CUDA_CLASS_FEW) with integer and F32 weights. A warp reads each weight of
 * its outputs once for up to eight rows of activations, decodes it in registers and adds up in 32
 * partial sums, one a lane.
 *
 * The order of summation is that of kernels.h. The numbers of outputs and rows that share a warp
 * change no bit, because each sum has its own accumulator. */
#include "cuda/product.cuh"

enum { WARPS = 4, THREADS = WARPS * 32 };

/* Folds the sums of Outputs x Rows over the warp; each lane then finishes one of them. */
template <int Outputs, int Rows>
__device__ __forceinline__ void finish(const ProductView &p, const float (&sums)[Outputs][Rows],
                                       int first_output, int first_row)
{
    static_assert(Outputs * Rows <= 32, "a sum a lane");
    int lane = threadIdx.x % 32;
    float own = 0.0f;
#pragma unroll
    for (int o = 0; o < Outputs; o++)
#pragma unroll
        for (int r = 0; r < Rows; r++) {
            float sum = math_warp_sum(sums[o][r]);
            own = lane == o * Rows + r ? sum : own;
        }
    int output = first_output + lane / Rows, row = first_row + lane % Rows;
    if (lane < Outputs * Rows && output < p.weight.n_rows && row < p.n_rows)
        product_store(p, product_row(p, row), output, own);
}

/* ---- Integers. ---- */

struct Activations { /* a block of them */
    uint32_t words[8];
    float scale;
    int sums[2];
};

__device__ __forceinline__ Activations load_block(const ProductView &p, int64_t row, int b)
{
    int64_t at = row * (p.weight.n_columns / 32) + b;
    const uint4 *from = reinterpret_cast<const uint4 *>(p.prepared + at * 32);
    uint4 low = __ldg(from), high = __ldg(from + 1);
    uint2 info = __ldg(reinterpret_cast<const uint2 *>(p.blocks + at));
    return { { low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w },
             math_bits<float>(info.x),
             { static_cast<int16_t>(info.y), static_cast<int16_t>(info.y >> 16) } };
}

/* Adds the products of a block to a sum. */
template <class Form>
__device__ __forceinline__ float add_block(float acc, const BlockRaw &raw, const Activations &x)
{
#pragma unroll
    for (int s = 0; s < Form::n_subs; s++) {
        int x_sum = Form::n_subs == 2 ? x.sums[s] : x.sums[0] + x.sums[1];
        int sum = -Form::offset * x_sum;
#pragma unroll
        for (int g = s * Form::sub / 4; g < (s + 1) * Form::sub / 4; g++)
            sum = ptx_dp4a(static_cast<int>(block_word<Form>(raw, g)), static_cast<int>(x.words[g]),
                           sum);
        float scale = math_finite(block_scale<Form>(raw, s));
        acc = fmaf(static_cast<float>(sum) * scale, x.scale, acc);
        if (Form::has_minimum)
            acc = fmaf(block_minimum<Form>(raw, s), x.scale * static_cast<float>(x_sum), acc);
    }
    return acc;
}

template <class Form, int Outputs, int Rows>
__global__ void __launch_bounds__(THREADS) few_blocks_kernel(ProductView p)
{
    int lane = threadIdx.x % 32, n_blocks = p.weight.n_columns / 32;
    int first_output = (blockIdx.x * WARPS + threadIdx.x / 32) * Outputs;
    int first_row = blockIdx.y * Rows;
    if (first_output >= p.weight.n_rows)
        return; /* the whole warp */
    int64_t rows[Rows];
#pragma unroll
    for (int r = 0; r < Rows; r++)
        rows[r] = product_row(p, min(first_row + r, p.n_rows - 1));
    float sums[Outputs][Rows] = {};
    for (int b = lane; b < n_blocks; b += 32) {
        BlockRaw raw[Outputs];
#pragma unroll
        for (int o = 0; o < Outputs; o++)
            raw[o] = block_load<Form>(p.weight, min(first_output + o, p.weight.n_rows - 1), b);
#pragma unroll
        for (int r = 0; r < Rows; r++) {
            Activations x = load_block(p, rows[r], b);
#pragma unroll
            for (int o = 0; o < Outputs; o++)
                sums[o][r] = add_block<Form>(sums[o][r], raw[o], x);
        }
    }
    finish(p, sums, first_output, first_row);
}

template <int Outputs, int Rows> static dim3 grid_of(const ProductView &p)
{
    return dim3((p.weight.n_rows + WARPS * Outputs - 1) / (WARPS * Outputs),
                (p.n_rows + Rows - 1) / Rows);
}

template <class Form> static bool launch_blocks(struct cuda_stream *stream, const ProductView &p)
{
    if (p.n_rows == 1)
        return LAUNCH((few_blocks_kernel<Form, 2, 1>), (grid_of<2, 1>(p)), THREADS, 0, stream, p);
    if (p.n_rows == 2)
        return LAUNCH((few_blocks_kernel<Form, 2, 2>), (grid_of<2, 2>(p)), THREADS, 0, stream, p);
    if (p.n_rows <= 4)
        return LAUNCH((few_blocks_kernel<Form, 2, 4>), (grid_of<2, 4>(p)), THREADS, 0, stream, p);
    return LAUNCH((few_blocks_kernel<Form, 2, 8>), (grid_of<2, 8>(p)), THREADS, 0, stream, p);
}

bool cuda_few_blocks(struct cuda_stream *stream, int type, const ProductView &p)
{
    if (p.n_rows > 8)
        return cuda_few_tiles(stream, type, p);
    return block_dispatch(type,
                          [&](auto form) { return launch_blocks<decltype(form)>(stream, p); });
}

/* ---- F32. ---- */

/* Eight weights from column 8 * chunk of an output on. */
__device__ __forceinline__ void load_weights(const BlockParts &w, int output, int chunk,
                                             float (&out)[8])
{
    int64_t at = (static_cast<int64_t>(output) * ((w.n_columns + 7) / 8) + chunk) * 8;
    const float4 *from = reinterpret_cast<const float4 *>(w.part[0] + at * 4);
    float4 a = __ldg(from), b = __ldg(from + 1);
    out[0] = a.x, out[1] = a.y, out[2] = a.z, out[3] = a.w;
    out[4] = b.x, out[5] = b.y, out[6] = b.z, out[7] = b.w;
}

/* Eight activations; what lies behind the last column is not used. */
__device__ __forceinline__ void load_activations(const float *x, int chunk, int n_columns,
                                                 float (&out)[8])
{
    const float4 *from = reinterpret_cast<const float4 *>(x + chunk * 8);
    if (chunk * 8 + 8 <= n_columns) {
        float4 a = from[0], b = from[1];
        out[0] = a.x, out[1] = a.y, out[2] = a.z, out[3] = a.w;
        out[4] = b.x, out[5] = b.y, out[6] = b.z, out[7] = b.w;
        return;
    }
#pragma unroll
    for (int i = 0; i < 8; i++)
        out[i] = chunk * 8 + i < n_columns ? x[chunk * 8 + i] : 0.0f;
}

template <int Outputs, int Rows>
__global__ void __launch_bounds__(THREADS) few_floats_kernel(ProductView p)
{
    int lane = threadIdx.x % 32, n_chunks = (p.weight.n_columns + 7) / 8;
    int first_output = (blockIdx.x * WARPS + threadIdx.x / 32) * Outputs;
    int first_row = blockIdx.y * Rows;
    if (first_output >= p.weight.n_rows)
        return; /* the whole warp */
    const float *rows[Rows];
#pragma unroll
    for (int r = 0; r < Rows; r++)
        rows[r] = p.x + product_row(p, min(first_row + r, p.n_rows - 1)) * p.x_stride;
    float sums[Outputs][Rows] = {};
    for (int c = lane; c < n_chunks; c += 32) {
        float w[Outputs][8];
#pragma unroll
        for (int o = 0; o < Outputs; o++)
            load_weights(p.weight, min(first_output + o, p.weight.n_rows - 1), c, w[o]);
#pragma unroll
        for (int r = 0; r < Rows; r++) {
            float x[8];
            load_activations(rows[r], c, p.weight.n_columns, x);
#pragma unroll
            for (int o = 0; o < Outputs; o++)
#pragma unroll
                for (int i = 0; i < 8; i++)
                    sums[o][r] = fmaf(w[o][i], x[i], sums[o][r]);
        }
    }
    finish(p, sums, first_output, first_row);
}

bool cuda_few_floats(struct cuda_stream *stream, const ProductView &p)
{
    if (p.n_rows == 1)
        return LAUNCH((few_floats_kernel<4, 1>), (grid_of<4, 1>(p)), THREADS, 0, stream, p);
    if (p.n_rows == 2)
        return LAUNCH((few_floats_kernel<4, 2>), (grid_of<4, 2>(p)), THREADS, 0, stream, p);
    if (p.n_rows <= 4)
        return LAUNCH((few_floats_kernel<4, 4>), (grid_of<4, 4>(p)), THREADS, 0, stream, p);
    return LAUNCH((few_floats_kernel<4, 8>), (grid_of<4, 8>(p)), THREADS, 0, stream, p);
}
