/* How numbers are stored: one row per type, in blocks of n_block elements that take block_bytes
 * bytes (GGUF's names and layouts). */
#pragma once
#include "base/base.h"

enum dtype {
    DTYPE_F32,
    DTYPE_F16,
    DTYPE_BF16,
    DTYPE_Q8_0,
    DTYPE_Q4_0,
    DTYPE_Q4_1,
    DTYPE_Q5_0,
    DTYPE_Q5_1,
    DTYPE_Q2_K,
    DTYPE_Q3_K,
    DTYPE_Q4_K,
    DTYPE_Q5_K,
    DTYPE_Q6_K,
    DTYPE_IQ4_NL,
    DTYPE_IQ4_XS,
    DTYPE_MXFP4,
    DTYPE_TQ1_0,
    DTYPE_TQ2_0,
    DTYPE_F8_E4M3, /* a float of 8 bits, with a scale per 128; GGUF has none */
    DTYPE_N,
};

struct dtype_info {
    const char *name; /* "Q4_K" */
    int32_t n_block;  /* elements of one block along a row */
    int32_t block_bytes;
    bool is_integer; /* integers with scales, so activations are quantized to match */
};
const struct dtype_info *dtype_info(enum dtype dtype);
/* Returns the bytes of one row of n elements; -1 when n is not a multiple of the block. */
int64_t dtype_row_bytes(enum dtype dtype, int64_t n);
