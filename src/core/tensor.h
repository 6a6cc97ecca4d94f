/* A matrix of weights in place: it lies in a mapped file and is never owned. */
#pragma once
#include "core/dtype.h"

struct tensor {
    const void *data; /* NULL: absent */
    enum dtype dtype;
    int32_t n_rows;     /* outputs (1 for a vector) */
    int32_t n_columns;  /* inputs, the direction that blocks run along */
    int64_t row_bytes;  /* from one row to the next */
    bool is_transposed; /* stored as (n_columns, n_rows): GPT-2's Conv1D; F32, F16, BF16 only; then
                           row_bytes is one stored row */
    bool is_alternate;  /* transposed, and only each second stored column belongs to it */
    /* MXFP4 as safetensors have it: the scales lie apart, one byte a block, and data has only the
     * blocks' 16 bytes with neighbours in one byte. NULL: blocks are whole. */
    const unsigned char *scales;
    int64_t scale_row_bytes;
};
