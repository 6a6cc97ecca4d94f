/* Operations that go row by row: embedding, norms, gates, copies of rows. */
#include "cuda/blocks.cuh"

enum { THREADS = 256, WARPS = THREADS / 32 };

static bool is_row_aligned(const struct cuda_rows *rows)
{
    return rows->stride % 4 == 0 && reinterpret_cast<uintptr_t>(rows->at) % 16 == 0 &&
           rows->stride >= rows->width && rows->n_rows >= 0;
}

/* ---- Embedding. ---- */

struct Embedding { /* of tokens or of positions */
    BlockParts weight;
    int type;
    bool is_vector; /* floats, whatever the type is */
};

__device__ __forceinline__ float element(const Embedding &e, int64_t row, int column)
{
    int64_t stride = (e.weight.n_columns + 7) / 8 * 8;
    const unsigned char *from = e.weight.part[0];
    if (e.type == CUDA_F32 || e.is_vector)
        return reinterpret_cast<const float *>(from)[row * stride + column];
    uint16_t bits = reinterpret_cast<const uint16_t *>(from)[row * stride + column];
    return e.type == CUDA_F16 ? math_of_half(bits) : math_of_bf16(bits);
}

/* Element `column` of a row of blocks. One thread decodes one element, since rows are few. */
template <class Form>
__device__ __forceinline__ float block_element(const BlockParts &w, int row, int column)
{
    BlockRaw raw = block_load<Form>(w, row, column / 32);
    int k = column % 32, sub = k / Form::sub;
    uint32_t word = 0;
#pragma unroll
    for (int g = 0; g < 8; g++)
        word = g == k / 4 ? block_signed<Form>(raw, g) : word;
    float product = block_byte(word, k % 4) * block_scale<Form>(raw, sub);
    return Form::has_minimum ? product + block_minimum<Form>(raw, sub) : product;
}

__device__ float weight_element(const Embedding &e, int row, int column)
{
    switch (e.is_vector ? static_cast<int>(CUDA_F32) : e.type) {
    case CUDA_Q8_0:
        return block_element<FormQ8_0>(e.weight, row, column);
    case CUDA_Q4_0:
        return block_element<FormQ4_0>(e.weight, row, column);
    case CUDA_Q4_1:
        return block_element<FormQ4_1>(e.weight, row, column);
    case CUDA_Q5_0:
        return block_element<FormQ5_0>(e.weight, row, column);
    case CUDA_Q5_1:
        return block_element<FormQ5_1>(e.weight, row, column);
    case CUDA_Q2_K:
        return block_element<FormQ2_K>(e.weight, row, column);
    case CUDA_Q3_K:
        return block_element<FormQ3_K>(e.weight, row, column);
    case CUDA_Q4_K:
        return block_element<FormQ4_K>(e.weight, row, column);
    case CUDA_Q5_K:
        return block_element<FormQ5_K>(e.weight, row, column);
    case CUDA_Q6_K:
        return block_element<FormQ6_K>(e.weight, row, column);
    default:
        return element(e, row, column);
    }
}

__global__ void __launch_bounds__(THREADS)
    embed_kernel(Embedding tokens, Embedding positional, struct cuda_embed embed)
{
    int row = blockIdx.x, column = blockIdx.y * THREADS + threadIdx.x;
    if (column >= tokens.weight.n_columns)
        return;
    float value = weight_element(tokens, embed.ids[row], column) * embed.scale;
    if (positional.weight.part[0] != nullptr)
        value += weight_element(positional, embed.positions[row] + embed.offset, column);
    embed.dst.at[row * embed.dst.stride + column] = value;
}

static Embedding embedding_of(const struct cuda_matrix &matrix)
{
    Embedding e = {};
    if (matrix.packed != nullptr)
        e = { block_parts(matrix), matrix.type, matrix.n_rows == 1 };
    return e;
}

bool cuda_kernels_embed(struct cuda_stream *stream, const struct cuda_embed *embed)
{
    const struct cuda_rows *dst = &embed->dst;
    int n_columns = embed->tokens.n_columns;
    if (!is_row_aligned(dst) || dst->width != n_columns ||
        (embed->positional.packed != nullptr && embed->positional.n_columns != n_columns))
        return false;
    if (dst->n_rows == 0)
        return true;
    return LAUNCH(embed_kernel, dim3(dst->n_rows, (n_columns + THREADS - 1) / THREADS), THREADS, 0,
                  stream, embedding_of(embed->tokens), embedding_of(embed->positional), *embed);
}

/* ---- Norms. ---- */

/* The sum over the block in one order: over each warp, then warps upwards. */
__device__ float block_sum(float x, float *sums)
{
    x = math_warp_sum(x);
    if (threadIdx.x % 32 == 0)
        sums[threadIdx.x / 32] = x;
    __syncthreads();
    float total = sums[0];
#pragma unroll
    for (int i = 1; i < WARPS; i++)
        total += sums[i];
    __syncthreads(); /* sums may be written again */
    return total;
}

__global__ void __launch_bounds__(THREADS) norm_kernel(struct cuda_norm norm)
{
    __shared__ float sums[WARPS];
    const float *x = norm.src.at + blockIdx.x * norm.src.stride;
    float *out = norm.dst.at + blockIdx.x * norm.dst.stride;
    int n = norm.src.width;
    float mean = 0.0f, sum = 0.0f;
    if (norm.is_layer) {
        for (int i = threadIdx.x; i < n; i += THREADS)
            sum += x[i];
        mean = block_sum(sum, sums) / static_cast<float>(n);
        sum = 0.0f;
    }
    for (int i = threadIdx.x; i < n; i += THREADS) {
        float t = norm.is_layer ? x[i] - mean : x[i];
        sum = fmaf(t, t, sum);
    }
    float square = block_sum(sum, sums) / static_cast<float>(n);
    float inverse = 1.0f / sqrtf(square + norm.epsilon);
    for (int i = threadIdx.x; i < n; i += THREADS) {
        float t = (norm.is_layer ? x[i] - mean : x[i]) * inverse;
        t = norm.bias != nullptr ? fmaf(t, norm.weight[i], norm.bias[i]) : t * norm.weight[i];
        out[i] = norm.adds ? out[i] + t : t;
    }
}

bool cuda_kernels_norm(struct cuda_stream *stream, const struct cuda_norm *norm)
{
    if (!is_row_aligned(&norm->src) || !is_row_aligned(&norm->dst) ||
        norm->src.n_rows != norm->dst.n_rows || norm->src.width != norm->dst.width)
        return false;
    if (norm->src.n_rows == 0)
        return true;
    return LAUNCH(norm_kernel, norm->src.n_rows, THREADS, 0, stream, *norm);
}

/* ---- Gates and copies. ---- */

__global__ void __launch_bounds__(THREADS) gate_kernel(struct cuda_gate gate)
{
    int column = blockIdx.y * THREADS + threadIdx.x;
    int64_t row = blockIdx.x;
    if (column >= gate.dst.width)
        return;
    float x = gate.src.at[row * gate.src.stride + column];
    float y = gate.src2.at[row * gate.src2.stride + column];
    gate.dst.at[row * gate.dst.stride + column] = math_act(gate.act, x) * y;
}

bool cuda_kernels_gate(struct cuda_stream *stream, const struct cuda_gate *gate)
{
    const struct cuda_rows *dst = &gate->dst;
    if (!is_row_aligned(&gate->src) || !is_row_aligned(&gate->src2) || !is_row_aligned(dst) ||
        gate->src.n_rows != dst->n_rows || gate->src2.n_rows != dst->n_rows ||
        gate->src.width < dst->width || gate->src2.width < dst->width)
        return false;
    if (dst->n_rows == 0)
        return true;
    return LAUNCH(gate_kernel, dim3(dst->n_rows, (dst->width + THREADS - 1) / THREADS), THREADS, 0,
                  stream, *gate);
}

__global__ void __launch_bounds__(THREADS)
    take_rows_kernel(struct cuda_rows src, const int32_t *__restrict__ rows, struct cuda_rows dst)
{
    int column = blockIdx.y * THREADS + threadIdx.x;
    int64_t row = blockIdx.x;
    if (column < dst.width)
        dst.at[row * dst.stride + column] = src.at[rows[row] * src.stride + column];
}

bool cuda_kernels_take_rows(struct cuda_stream *stream, const struct cuda_rows *src,
                            const int32_t *rows, const struct cuda_rows *dst)
{
    if (!is_row_aligned(src) || !is_row_aligned(dst) || src->width != dst->width)
        return false;
    if (dst->n_rows == 0)
        return true;
    return LAUNCH(take_rows_kernel, dim3(dst->n_rows, (dst->width + THREADS - 1) / THREADS),
                  THREADS, 0, stream, *src, rows, *dst);
}

__global__ void __launch_bounds__(THREADS)
    resolve_ids_kernel(int32_t *ids, int n_rows, const int32_t *__restrict__ drawn)
{
    int row = blockIdx.x * THREADS + threadIdx.x;
    if (row < n_rows && ids[row] < 0)
        ids[row] = drawn[-1 - ids[row]];
}

bool cuda_kernels_resolve_ids(struct cuda_stream *stream, int32_t *ids, int32_t n_rows,
                              const int32_t *drawn)
{
    if (n_rows <= 0)
        return n_rows == 0;
    return LAUNCH(resolve_ids_kernel, (n_rows + THREADS - 1) / THREADS, THREADS, 0, stream, ids,
                  n_rows, drawn);
}
