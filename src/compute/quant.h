/* Quantized block formats (GGUF's), one decoder per type: the definition that every kernel is
 * tested against.
 *
 * A block becomes integers with scales: weight = value * scale + minimum. n_sub neighbours share a
 * scale and a minimum. quant.c draws a block's layout at its type. */
#pragma once
#include "base/half.h"
#include "core/tensor.h"

enum { QUANT_BLOCK_MAX = 256, QUANT_SUBS_MAX = 16 };

/* scale = d * scales[i], minimum = m_sign * m * minimums[i]; each product is exact in float. Types
 * of 32 have one sub-block with scales[0] and minimums[0] = 1. */
struct quant_block {
    int32_t n, n_sub; /* elements of the block, of a sub-block (16 or 32) */
    bool has_minimum;
    uint16_t d, m; /* halves */
    int8_t scales[QUANT_SUBS_MAX];
    int8_t minimums[QUANT_SUBS_MAX];
    float m_sign; /* the K types subtract their minimum */
    int8_t values[QUANT_BLOCK_MAX];
};
void quant_block_decode(enum dtype dtype, const void *block, struct quant_block *out);
/* Decodes the 12 bytes p of Q4_K and Q5_K into 8 scales and 8 minimums of 6 bits. */
void quant_scales_of_8(const unsigned char *p, int8_t scales[8], int8_t minimums[8]);
/* Decodes the 12 bytes p of Q3_K into 16 scales of 6 bits, less 32. */
void quant_scales_of_16(const unsigned char *p, int8_t scales[16]);
static inline float quant_scale(const struct quant_block *block, int32_t sub)
{
    return half_to_float(block->d) * (float)block->scales[sub];
}
static inline float quant_minimum(const struct quant_block *block, int32_t sub)
{
    return block->has_minimum
               ? block->m_sign * (half_to_float(block->m) * (float)block->minimums[sub])
               : 0.0f;
}

/* Writes n_columns floats of row `row`. It obeys row_bytes and is_transposed, for every type. */
void quant_row_to_float(const struct tensor *tensor, int32_t row, float *out);
/* Decodes one block of the type at `block` into dtype_info(dtype)->n_block floats. */
void quant_block_to_float(enum dtype dtype, const void *block, float *out);
/* Quantizes n floats (a multiple of 32) to Q8_0 blocks. Tests and tools use it. */
void quant_row_to_q8_0(const float *x, int64_t n, void *out);

/* Quantizes activations for integer weights: 32 floats become scale * q, scale = max|x| / 127, q =
 * x / scale rounded to nearest even. A scale that would be subnormal is 0 with all q 0. A block
 * that holds an infinity or NaN gets scale NaN with all q 0. */
float quant_activations(const float x[32], int8_t q[32]);
/* Returns a cached block's scale, one of those above. It is NaN instead of infinity, since sums and
 * kernels treat infinities differently. */
static inline uint16_t quant_cache_scale(uint16_t half)
{
    return half == 0x7C00 ? 0x7E00 : half;
}
