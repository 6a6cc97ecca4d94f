/* Preparing activations for products, and choosing a product's kernel by type and class. */
#include "cuda/product.cuh"

enum { THREADS = 256 };

/* ---- Blocks of 32 with a scale: eight lanes a block, four columns a lane. ---- */

__global__ void __launch_bounds__(THREADS)
    prepare_blocks_kernel(struct cuda_rows src, int8_t *__restrict__ q,
                          struct cuda_block *__restrict__ blocks)
{
    int64_t row = blockIdx.x;
    int column = (blockIdx.y * THREADS + threadIdx.x) * 4;
    bool is_in = column < src.width;
    float4 x = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    if (is_in)
        x = *reinterpret_cast<const float4 *>(src.at + row * src.stride + column);
    const float values[4] = { x.x, x.y, x.z, x.w };
    uint32_t magnitude = 0, word = 0;
    for (int i = 0; i < 4; i++)
        magnitude = max(magnitude, math_bits<uint32_t>(values[i]) & 0x7FFFFFFFu);
#pragma unroll
    for (int o = 4; o > 0; o >>= 1)
        magnitude = max(magnitude, __shfl_xor_sync(0xFFFFFFFFu, magnitude, o));
    float scale = math_block_scale(magnitude);
    int sum = 0;
    for (int i = 0; i < 4; i++) {
        int value = math_block_value(values[i], scale);
        sum += value;
        word |= (static_cast<uint32_t>(value) & 0xFFu) << (8 * i);
    }
    sum += __shfl_xor_sync(0xFFFFFFFFu, sum, 1);
    sum += __shfl_xor_sync(0xFFFFFFFFu, sum, 2);
    int other = __shfl_xor_sync(0xFFFFFFFFu, sum, 4);
    if (!is_in)
        return;
    *reinterpret_cast<uint32_t *>(q + row * src.width + column) = word;
    if (threadIdx.x % 8 == 0) {
        struct cuda_block block = { scale,
                                    { static_cast<int16_t>(sum), static_cast<int16_t>(other) } };
        blocks[row * (src.width / 32) + column / 32] = block;
    }
}

/* ---- 16-bit floats. ---- */

/* low_at: elements from the high to the low ones, 0: there are none. */
template <bool IsF16>
__global__ void __launch_bounds__(THREADS)
    prepare_halves_kernel(struct cuda_rows src, uint16_t *__restrict__ to, int64_t low_at,
                          float *__restrict__ divisors)
{
    __shared__ uint32_t maxima[THREADS / 32];
    const float *x = src.at + blockIdx.x * src.stride;
    int n = (src.width + 7) / 8 * 8;
    float factor = 1.0f;
    to += static_cast<int64_t>(blockIdx.x) * n;
    if (IsF16) {
        uint32_t magnitude = 0;
        for (int i = threadIdx.x; i < src.width; i += THREADS)
            magnitude = max(magnitude, math_bits<uint32_t>(x[i]) & 0x7FFFFFFFu);
        magnitude = math_warp_max(magnitude);
        if (threadIdx.x % 32 == 0)
            maxima[threadIdx.x / 32] = magnitude;
        __syncthreads();
        for (int i = 0; i < THREADS / 32; i++)
            magnitude = max(magnitude, maxima[i]);
        int power = math_half_power(magnitude);
        factor = math_two_to(power);
        if (threadIdx.x == 0)
            divisors[blockIdx.x] = math_two_to(-power);
    }
    for (int i = threadIdx.x; i < n; i += THREADS) {
        float value = i < src.width ? x[i] * factor : 0.0f;
        uint16_t high = IsF16 ? math_to_half(value) : math_to_bf16(value);
        to[i] = high;
        if (low_at == 0)
            continue;
        float rest = value - (IsF16 ? math_of_half(high) : math_of_bf16(high));
        to[low_at + i] = IsF16 ? math_to_half(rest) : math_to_bf16(rest);
    }
}

bool cuda_matrix_prepare(struct cuda_stream *stream, const struct cuda_rows *src,
                         enum cuda_prepared kind, void *to)
{
    unsigned char *bytes = static_cast<unsigned char *>(to);
    unsigned char *behind = bytes + cuda_matrix_prepared_at(kind, src->n_rows, src->width);
    if (src->stride % 4 != 0 || reinterpret_cast<uintptr_t>(src->at) % 16 != 0)
        return false;
    if (src->n_rows == 0 || kind == CUDA_PREPARED_FLOATS)
        return true;
    if (kind == CUDA_PREPARED_BLOCKS) {
        dim3 grid(src->n_rows, (src->width / 4 + THREADS - 1) / THREADS);
        return src->width % 32 == 0 && LAUNCH(prepare_blocks_kernel, grid, THREADS, 0, stream, *src,
                                              reinterpret_cast<int8_t *>(bytes),
                                              reinterpret_cast<struct cuda_block *>(behind));
    }
    uint16_t *halves = reinterpret_cast<uint16_t *>(bytes);
    float *divisors = reinterpret_cast<float *>(behind);
    int64_t low_at = 0;
    if (cuda_matrix_is_split(kind))
        low_at = static_cast<int64_t>(cuda_matrix_prepared_rows(kind, src->n_rows, src->width) /
                                      sizeof(uint16_t));
    if (kind == CUDA_PREPARED_F16 || kind == CUDA_PREPARED_SPLIT_F16)
        return LAUNCH((prepare_halves_kernel<true>), src->n_rows, THREADS, 0, stream, *src, halves,
                      low_at, divisors);
    return LAUNCH((prepare_halves_kernel<false>), src->n_rows, THREADS, 0, stream, *src, halves,
                  low_at, divisors);
}

/* ---- Products. ---- */

static ProductView view_of(const struct cuda_product *p, enum cuda_prepared kind)
{
    const unsigned char *prepared = static_cast<const unsigned char *>(p->prepared);
    ProductView view = {};
    view.weight = block_parts(p->weight);
    view.x = p->src.at;
    view.x_stride = p->src.stride;
    view.prepared = prepared;
    if (kind != CUDA_PREPARED_FLOATS) {
        const unsigned char *behind =
            prepared + cuda_matrix_prepared_at(kind, p->src.n_rows, p->src.width);
        view.blocks = reinterpret_cast<const struct cuda_block *>(behind);
        view.divisors = reinterpret_cast<const float *>(behind);
        view.low_at =
            static_cast<int64_t>(cuda_matrix_prepared_rows(kind, p->src.n_rows, p->src.width));
    }
    view.rows = p->rows;
    view.n_rows = p->n_rows;
    view.bias = p->bias;
    view.dst = p->dst.at;
    view.dst_stride = p->dst.stride;
    view.act = p->act;
    view.has_act = p->has_act;
    view.adds = p->adds;
    return view;
}

bool cuda_matrix_product(struct cuda_stream *stream, const struct cuda_product *p)
{
    int type = p->weight.type;
    if (p->weight.n_rows < 2 || p->weight.n_columns != p->src.width ||
        p->weight.n_rows != p->dst.width || type < 0 || type >= CUDA_TYPES)
        return false;
    if (p->src.stride % 4 != 0 || reinterpret_cast<uintptr_t>(p->src.at) % 16 != 0)
        return false;
    if (p->n_rows == 0)
        return true;
    enum cuda_prepared kind = cuda_matrix_wants(type, p->row_class);
    ProductView view = view_of(p, kind);
    switch (kind) {
    case CUDA_PREPARED_FLOATS:
        return cuda_few_floats(stream, view);
    case CUDA_PREPARED_SPLIT_F16:
    case CUDA_PREPARED_SPLIT_BF16:
        return cuda_few_halves(stream, type, view);
    case CUDA_PREPARED_BLOCKS:
        return p->row_class == CUDA_CLASS_FEW ? cuda_few_blocks(stream, type, view)
                                              : cuda_tile_blocks(stream, type, view);
    default:
        return cuda_tile_halves(stream, type, view);
    }
}
