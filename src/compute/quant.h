/* Quantized block formats (GGUF's), one dequantizer per type: the definition that every kernel is
 * tested against.
 *
 * A block's layout is drawn in quant.c at its type. */
#pragma once
#include "core/tensor.h"

/* Writes n_columns floats of row `row`; row_bytes, is_transposed and every type are honoured. */
void quant_row_to_float(const struct tensor *tensor, int32_t row, float *out);
/* One block of the type at `block` into dtype_info(dtype)->n_block floats. */
void quant_block_to_float(enum dtype dtype, const void *block, float *out);
/* Quantizes n floats (a multiple of 32) to Q8_0 blocks; used by tests and tools. */
void quant_row_to_q8_0(const float *x, int64_t n, void *out);
