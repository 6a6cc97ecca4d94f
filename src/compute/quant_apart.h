/* Blocks of quantized matrices whose values, scales and zero points lie apart in a file.
 *
 * A value is (code - zero) * scale. It becomes a block of a type that holds it exactly:
 *   4 bits, zero 8       Q4_0
 *   4 bits, other zeros  Q5_0, since code - zero is -16 to 15
 *   8 bits, zero 128     Q8_0
 *   F8_E4M3              F8_E4M3, a scale and 128 values
 * The scale must be a half (quant_apart_scale), except for F8_E4M3. */
#pragma once
#include "core/tensor.h"

enum { QUANT_MADE_BYTES = 132 }; /* of the largest block */

/* Returns the scale at (row, column), not for MXFP4. */
float quant_apart_scale(const struct tensor_apart *apart, int64_t row, int64_t column);
/* Returns the zero point at (row, column), of layouts of words. */
int quant_apart_zero(const struct tensor_apart *apart, int64_t row, int64_t column);
/* Makes block i of a row of the whole matrix. */
void quant_apart_block(const struct tensor_apart *apart, int64_t row, int64_t i,
                       unsigned char made[QUANT_MADE_BYTES]);
/* Makes a whole block of MXFP4 (GGUF's, 17 bytes) from 16 bytes with neighbours together, and a
 * scale. */
void quant_apart_mxfp4(const unsigned char blocks[16], unsigned char scale, unsigned char out[17]);
