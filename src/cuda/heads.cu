/* Heads of queries, keys and values: norm of each head, rotation, and the store into the cache. */
#include "cuda/cache.cuh"

enum { THREADS = 128, WARPS = THREADS / 32 };

/* ---- Angles. ---- */

/* On |r| <= pi / 4, as compute/vmath.c has them. */
__device__ double sine_of(double r)
{
    double z = r * r, p = -1.0 / 1307674368000.0;
    p = p * z + 1.0 / 6227020800.0;
    p = p * z - 1.0 / 39916800.0;
    p = p * z + 1.0 / 362880.0;
    p = p * z - 1.0 / 5040.0;
    p = p * z + 1.0 / 120.0;
    p = p * z - 1.0 / 6.0;
    return r + r * (p * z);
}

__device__ double cosine_of(double r)
{
    double z = r * r, p = 1.0 / 20922789888000.0;
    p = p * z - 1.0 / 87178291200.0;
    p = p * z + 1.0 / 479001600.0;
    p = p * z - 1.0 / 3628800.0;
    p = p * z + 1.0 / 40320.0;
    p = p * z - 1.0 / 720.0;
    p = p * z + 1.0 / 24.0;
    p = p * z - 0.5;
    return 1.0 + p * z;
}

__device__ void sine_and_cosine(double angle, float *sine, float *cosine)
{
    if (!(angle >= -1048576.0 && angle <= 1048576.0)) { /* NaN comes here too */
        *sine = *cosine = math_bits<float>(0x7FC00000u);
        return;
    }
    double magnitude = angle < 0 ? -angle : angle;
    int64_t n = static_cast<int64_t>(magnitude * 0.63661977236758134308 + 0.5);
    double r = magnitude - static_cast<double>(n) * 1.57079632673412561417e+00;
    r -= static_cast<double>(n) * 6.07710050650619224932e-11;
    double s = sine_of(r), c = cosine_of(r);
    double quarter_s = n & 1 ? c : s, quarter_c = n & 1 ? s : c;
    quarter_s = n & 2 ? -quarter_s : quarter_s;
    quarter_c = (n + 1) & 2 ? -quarter_c : quarter_c;
    *sine = static_cast<float>(angle < 0 ? -quarter_s : quarter_s);
    *cosine = static_cast<float>(quarter_c);
}

__global__ void __launch_bounds__(THREADS) angles_kernel(struct cuda_angles angles)
{
    int n_pairs = angles.n_dims / 2, i = blockIdx.x * THREADS + threadIdx.x;
    int row = i / n_pairs;
    i %= n_pairs;
    if (row >= angles.n_rows)
        return;
    float angle = static_cast<float>(angles.positions[row]) * angles.inverse_frequencies[i];
    float sine, cosine, *to = angles.table + static_cast<int64_t>(row) * angles.n_dims;
    sine_and_cosine(static_cast<double>(angle), &sine, &cosine);
    to[i] = cosine * angles.scale;
    to[n_pairs + i] = sine * angles.scale;
}

bool cuda_kernels_angles(struct cuda_stream *stream, const struct cuda_angles *angles)
{
    int64_t n = static_cast<int64_t>(angles->n_rows) * (angles->n_dims / 2);
    if (n <= 0 || n > INT32_MAX / 2)
        return n == 0;
    return LAUNCH(angles_kernel, static_cast<int>((n + THREADS - 1) / THREADS), THREADS, 0, stream,
                  *angles);
}

/* ---- One warp for one head of one row. ---- */

/* In place; weight (n). */
__device__ void norm_head(float *x, int n, const float *weight, float epsilon)
{
    int lane = threadIdx.x % 32;
    float sum = 0.0f;
    for (int i = lane; i < n; i += 32)
        sum = fmaf(x[i], x[i], sum);
    float square = math_warp_sum(sum) / static_cast<float>(n);
    float inverse = 1.0f / sqrtf(square + epsilon);
    for (int i = lane; i < n; i += 32)
        x[i] = x[i] * inverse * weight[i];
    __syncwarp();
}

__device__ void rotate_head(float *x, const float *table, int n_dims, bool is_pairs)
{
    int n_pairs = n_dims / 2;
    for (int i = threadIdx.x % 32; i < n_pairs; i += 32) {
        float *a = is_pairs ? x + 2 * i : x + i, *b = is_pairs ? a + 1 : a + n_pairs;
        float a0 = *a, b0 = *b, cosine = table[i], sine = table[n_pairs + i];
        *a = fmaf(a0, cosine, -(b0 * sine));
        *b = fmaf(b0, cosine, a0 * sine);
    }
    __syncwarp();
}

/* A row of a head goes to row t of its part of a block. */
__device__ void store_head(const struct cuda_cache &c, const float *x, unsigned char *rows, int t)
{
    int lane = threadIdx.x % 32, n = c.head_dim;
    size_t at = static_cast<size_t>(t) * n;
    if (c.type == CUDA_F32) {
        for (int d = lane; d < n; d += 32)
            reinterpret_cast<float *>(rows)[at + d] = x[d];
        return;
    }
    if (c.type == CUDA_F16) {
        for (int d = lane; d < n; d += 32)
            reinterpret_cast<uint16_t *>(rows)[at + d] = math_to_half(x[d]);
        return;
    }
    size_t n_tokens = static_cast<size_t>(c.block_tokens);
    uint16_t *scales = reinterpret_cast<uint16_t *>(rows + n_tokens * n);
    for (int d = lane; d < n; d += 32) { /* 32 divides n */
        uint32_t magnitude = math_warp_max(math_bits<uint32_t>(x[d]) & 0x7FFFFFFFu);
        float scale = math_block_scale(magnitude);
        rows[at + d] = static_cast<unsigned char>(math_block_value(x[d], scale));
        uint16_t rounded = math_to_half(scale);
        /* Infinity becomes NaN too, as in quant_cache_scale. */
        if (lane == 0)
            scales[d / 32 * n_tokens + t] = (rounded & 0x7FFF) >= 0x7C00 ? 0x7E00 : rounded;
    }
}

__device__ __forceinline__ int heads_of(const struct cuda_rows &rows, int head_dim)
{
    return rows.at != nullptr ? rows.width / head_dim : 0;
}

__global__ void __launch_bounds__(THREADS) heads_kernel(struct cuda_heads h)
{
    int n_queries = heads_of(h.queries, h.head_dim), n_keys = heads_of(h.keys, h.head_dim);
    int row = blockIdx.x, head = blockIdx.y * WARPS + threadIdx.x / 32;
    int part = head < n_queries ? -1 : head < n_queries + n_keys ? 0 : 1;
    if (head >= n_queries + n_keys + heads_of(h.values, h.head_dim))
        return; /* the whole warp */
    const struct cuda_rows &rows = part < 0 ? h.queries : part == 0 ? h.keys : h.values;
    head -= part < 0 ? 0 : part == 0 ? n_queries : n_queries + n_keys;
    float *x = rows.at + row * rows.stride + static_cast<int64_t>(head) * h.head_dim;
    const float *weight = part < 0 ? h.query_weight : part == 0 ? h.key_weight : nullptr;
    if (weight != nullptr)
        norm_head(x, h.head_dim, weight, h.epsilon);
    if (part <= 0 && h.table != nullptr)
        rotate_head(x, h.table + static_cast<int64_t>(row) * h.n_rope_dims, h.n_rope_dims,
                    h.is_pairs);
    if (part < 0 || h.cache.base == nullptr)
        return;
    int index = h.batch.sequence_of[row];
    if (index < 0)
        return;
    const struct cuda_sequence sequence = h.batch.sequences[index];
    int position = sequence.n_before + row - sequence.first_row;
    unsigned char *to = cache_rows(h.cache, h.batch, sequence, position / h.cache.block_tokens,
                                   h.layer, part, head);
    store_head(h.cache, x, to, position % h.cache.block_tokens);
}

bool cuda_kernels_heads(struct cuda_stream *stream, const struct cuda_heads *heads)
{
    int n_heads = 0;
    const struct cuda_rows *all[] = { &heads->queries, &heads->keys, &heads->values };
    for (const struct cuda_rows *rows : all) {
        if (rows->at == nullptr)
            continue;
        if (rows->width % heads->head_dim != 0 || rows->n_rows != heads->n_rows)
            return false;
        n_heads += rows->width / heads->head_dim;
    }
    int type = heads->cache.type;
    if (heads->cache.base != nullptr &&
        (heads->cache.head_dim != heads->head_dim ||
         (type != CUDA_F32 && type != CUDA_F16 && type != CUDA_Q8_0) ||
         (type == CUDA_Q8_0 && heads->head_dim % 32 != 0)))
        return false;
    if (heads->n_rows == 0 || n_heads == 0)
        return true;
    return LAUNCH(heads_kernel, dim3(heads->n_rows, (n_heads + WARPS - 1) / WARPS), THREADS, 0,
                  stream, *heads);
}
