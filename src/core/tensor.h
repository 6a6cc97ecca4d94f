/* A matrix of weights in place: it lies in a mapped file and is never owned. */
#pragma once
#include "core/dtype.h"

/* How the ranks of a device share a tensor: each has all of it, or a part of its rows or columns,
 * in whole units of `unit` rows or columns. */
enum tensor_split_kind {
    TENSOR_WHOLE,
    TENSOR_ROWS, /* of a vector: its elements */
    TENSOR_COLUMNS,
    TENSOR_BOTH, /* each has all of it, and a part of its rows: a tied embedding */
};
struct tensor_split {
    uint8_t kind;  /* enum tensor_split_kind */
    uint8_t ranks; /* WHOLE: bit r is set when rank r has it; 0: all have it */
    int32_t unit;
};

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
    struct tensor_split split; /* set for devices with several ranks, else zeros */
};
