/* The places of keys and values in the cache, and the reading of a head's row from it. */
#pragma once
extern "C" {
#include "cuda/kernels.h"
}
#include "cuda/math.cuh"

__device__ __forceinline__ size_t cache_row_bytes(const struct cuda_cache &c)
{
    size_t n = static_cast<size_t>(c.head_dim);
    return c.type == CUDA_F32 ? n * 4 : c.type == CUDA_F16 ? n * 2 : n + n / 32 * 2;
}

/* One head's rows (block_tokens, head_dim) of keys (part 0) or values (1) in the sequence's k-th
 * block: compute_kv_rows. */
__device__ __forceinline__ unsigned char *cache_rows(const struct cuda_cache &c,
                                                     const struct cuda_batch &batch,
                                                     const struct cuda_sequence &sequence, int k,
                                                     int layer, int part, int head)
{
    size_t part_bytes = static_cast<size_t>(c.block_tokens) * cache_row_bytes(c);
    size_t layer_head = static_cast<size_t>(layer) * c.n_kv_heads + head;
    const uint32_t *blocks = batch.blocks + sequence.at;
    if (c.is_by_head) {
        uint32_t unit = __ldg(blocks + layer_head * sequence.stride + k);
        return c.base + unit * c.unit_bytes + part * part_bytes;
    }
    uint32_t block = __ldg(blocks + k);
    size_t at = (static_cast<size_t>(layer) * 2 + part) * c.n_kv_heads + head;
    return c.base + (block / c.blocks_per_unit) * c.unit_bytes +
           (block % c.blocks_per_unit) * c.block_bytes + at * part_bytes;
}

/* Eight elements from column 8 * chunk of row t on, as floats. */
template <int Type>
__device__ __forceinline__ void cache_load8(const struct cuda_cache &c, const unsigned char *rows,
                                            int t, int chunk, float (&out)[8])
{
    size_t at = static_cast<size_t>(t) * c.head_dim + chunk * 8;
    if (Type == CUDA_F32) {
        const float4 *from = reinterpret_cast<const float4 *>(rows + at * 4);
        float4 a = from[0], b = from[1];
        out[0] = a.x, out[1] = a.y, out[2] = a.z, out[3] = a.w;
        out[4] = b.x, out[5] = b.y, out[6] = b.z, out[7] = b.w;
    } else if (Type == CUDA_F16) {
        uint4 v = *reinterpret_cast<const uint4 *>(rows + at * 2);
        const uint32_t words[4] = { v.x, v.y, v.z, v.w };
#pragma unroll
        for (int i = 0; i < 4; i++) {
            out[2 * i] = math_of_half(static_cast<uint16_t>(words[i]));
            out[2 * i + 1] = math_of_half(static_cast<uint16_t>(words[i] >> 16));
        }
    } else {
        uint2 v = *reinterpret_cast<const uint2 *>(rows + at);
        size_t n = static_cast<size_t>(c.block_tokens);
        const unsigned char *scales = rows + n * c.head_dim + 2 * (chunk / 4 * n + t);
        float scale = math_of_half(*reinterpret_cast<const uint16_t *>(scales));
#pragma unroll
        for (int i = 0; i < 8; i++) {
            uint32_t word = i < 4 ? v.x : v.y;
            out[i] = static_cast<float>(static_cast<int8_t>(word >> (8 * (i & 3)))) * scale;
        }
    }
}
