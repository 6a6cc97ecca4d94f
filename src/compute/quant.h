/* Quantized block formats (GGUF's), one decoder per type: the definition that every kernel is
 * tested against.
 *
 * A block becomes integers with scales: weight = value * scale + minimum. n_sub neighbours share a
 * scale and a minimum. quant.c draws a block's layout at its type. */
#pragma once
#include "base/half.h"
#include "compute/quant_apart.h"

enum { QUANT_BLOCK_MAX = 256, QUANT_SUBS_MAX = 16 };

/* scale = d * scales[i], minimum = m_sign * m * minimums[i]; each product is exact in float. Types
 * of 32 have one sub-block with scales[0] and minimums[0] = 1. */
struct quant_block {
    int32_t n, n_sub; /* elements of the block, of a sub-block (16 or 32) */
    bool has_minimum;
    bool has_bf16; /* d is a bfloat16 */
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
    float d = block->has_bf16 ? bf16_to_float(block->d) : half_to_float(block->d);
    return d * (float)block->scales[sub];
}
static inline float quant_minimum(const struct quant_block *block, int32_t sub)
{
    return block->has_minimum
               ? block->m_sign * (half_to_float(block->m) * (float)block->minimums[sub])
               : 0.0f;
}

/* The values of IQ4's nibbles, and those of MXFP4's, doubled. */
extern const int8_t quant_iq4_values[16], quant_mxfp4_values[16];
/* Returns half of MXFP4's scale 2^(e - 127) as a bfloat16, exactly. From 2^97 on it is NaN, since
 * sums would overflow. */
uint16_t quant_mxfp4_scale(unsigned char e);
/* Decodes 8 scales of 6 bits, less 32, of IQ4_XS's block p. */
void quant_scales_of_iq4(const unsigned char *p, int8_t scales[8]);
/* Returns element i of TQ1_0's block p: 0, 1 or 2, one more than its value. */
int quant_tq1_0_element(const unsigned char *p, int i);
/* Returns block i of row `row`. It is in the tensor, or made in `made` if the tensor's parts lie
 * apart. */
const unsigned char *quant_block_at(const struct tensor *tensor, int32_t row, int32_t i,
                                    unsigned char made[QUANT_MADE_BYTES]);

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
