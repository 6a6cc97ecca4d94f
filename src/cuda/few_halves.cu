/* Products of few rows with F16 and BF16 weights (CUDA_CLASS_FEW) by tensor cores, for 1 to 64 rows
 * that share one read of the weights.
 *
 * An activation is the sum of two halves, high and low, so that little is lost. A thread block
 * computes 16 outputs; warp w of eight adds up the chunks w, w + 8 and so on of 32 columns, of each
 * 16 columns the low products first, then the high ones. The warps' sums are folded by halves 4, 2,
 * 1. Each lane loads 8 neighbouring columns at once, so columns are dealt to the multiplications in
 * another order than they lie in memory; it is the same order for weights and activations. */
#include "cuda/product.cuh"

enum { WARPS = 8, THREADS = WARPS * 32, OUTPUTS = 16 };

template <int Type>
__device__ __forceinline__ void multiply(float (&d)[4], const uint32_t (&a)[4], uint32_t b0,
                                         uint32_t b1)
{
    const uint32_t b[2] = { b0, b1 };
    if (Type == CUDA_F16)
        ptx_mma_f16(d, a, b);
    else
        ptx_mma_bf16(d, a, b);
}

struct Eight { /* columns of 16 bits */
    uint32_t words[4];
};
__device__ __forceinline__ Eight load_eight(const unsigned char *row, int chunk, bool is_in)
{
    uint4 v = make_uint4(0, 0, 0, 0);
    if (is_in)
        v = __ldg(reinterpret_cast<const uint4 *>(row) + chunk);
    return { { v.x, v.y, v.z, v.w } };
}

/* Tiles: of 8 rows. */
template <int Type, int Tiles>
__global__ void __launch_bounds__(THREADS) few_halves_kernel(ProductView p)
{
    SHARED_DYN(shared);
    enum { ROWS = Tiles * 8 };
    float *folded = reinterpret_cast<float *>(shared); /* (WARPS, OUTPUTS, ROWS) */
    int warp = threadIdx.x / 32, group = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
    int first_output = blockIdx.x * OUTPUTS, first_row = blockIdx.y * ROWS;
    int n_eights = (p.weight.n_columns + 7) / 8;
    int64_t row_bytes = static_cast<int64_t>(n_eights) * 16;
    const unsigned char *w[2], *x[Tiles];
#pragma unroll
    for (int h = 0; h < 2; h++)
        w[h] =
            p.weight.part[0] + min(first_output + h * 8 + group, p.weight.n_rows - 1) * row_bytes;
#pragma unroll
    for (int i = 0; i < Tiles; i++)
        x[i] =
            p.prepared + product_row(p, min(first_row + i * 8 + group, p.n_rows - 1)) * row_bytes;
    float sums[Tiles][4] = {};
#pragma unroll(Tiles <= 2 ? 4 : 1)
    for (int eight = warp * 4; eight < n_eights; eight += WARPS * 4) {
        bool is_in = eight + t < n_eights;
        Eight w0 = load_eight(w[0], eight + t, is_in), w1 = load_eight(w[1], eight + t, is_in);
#pragma unroll
        for (int i = 0; i < Tiles; i++) {
            Eight high = load_eight(x[i], eight + t, is_in);
            Eight low = load_eight(x[i] + p.low_at, eight + t, is_in);
#pragma unroll
            for (int s = 0; s < 4; s += 2) {
                const uint32_t a[4] = { w0.words[s], w1.words[s], w0.words[s + 1],
                                        w1.words[s + 1] };
                multiply<Type>(sums[i], a, low.words[s], low.words[s + 1]);
                multiply<Type>(sums[i], a, high.words[s], high.words[s + 1]);
            }
        }
    }
#pragma unroll
    for (int i = 0; i < Tiles * 4; i++) {
        int output = i % 4 / 2 * 8 + group, row = i / 4 * 8 + t * 2 + i % 2;
        folded[(warp * OUTPUTS + output) * ROWS + row] = sums[i / 4][i % 4];
    }
    __syncthreads();
    for (int i = threadIdx.x; i < ROWS * OUTPUTS; i += THREADS) {
        int output = i % OUTPUTS, row = i / OUTPUTS;
        float v[WARPS];
#pragma unroll
        for (int k = 0; k < WARPS; k++)
            v[k] = folded[(k * OUTPUTS + output) * ROWS + row];
        float sum = ((v[0] + v[4]) + (v[2] + v[6])) + ((v[1] + v[5]) + (v[3] + v[7]));
        output += first_output;
        if (first_row + row >= p.n_rows || output >= p.weight.n_rows)
            continue;
        row = product_row(p, first_row + row);
        product_store(p, row, output, Type == CUDA_F16 ? sum * p.divisors[row] : sum);
    }
}

template <int Type, int Tiles> static bool launch(struct cuda_stream *stream, const ProductView &p)
{
    enum { ROWS = Tiles * 8 };
    return LAUNCH((few_halves_kernel<Type, Tiles>),
                  dim3((p.weight.n_rows + OUTPUTS - 1) / OUTPUTS, (p.n_rows + ROWS - 1) / ROWS),
                  THREADS, WARPS * OUTPUTS * ROWS * sizeof(float), stream, p);
}

template <int Type> static bool launch_type(struct cuda_stream *stream, const ProductView &p)
{
    if (p.n_rows <= 8)
        return launch<Type, 1>(stream, p);
    if (p.n_rows <= 16)
        return launch<Type, 2>(stream, p);
    return p.n_rows <= 32 ? launch<Type, 4>(stream, p) : launch<Type, 8>(stream, p);
}

bool cuda_few_halves(struct cuda_stream *stream, int type, const ProductView &p)
{
    return type == CUDA_F16 ? launch_type<CUDA_F16>(stream, p) : launch_type<CUDA_BF16>(stream, p);
}
