/* A matrix of weights in place: it lies in a mapped file and is never owned. */
#pragma once
#include "core/dtype.h"

/* How safetensors store a quantized matrix of (rows, columns) in several tensors. A word has 32
 * bits: 8 values of 4 bits, or 4 of 8 bits, the first in the lowest bits.
 *   MXFP4   values (rows, columns / 2) bytes, neighbours in one byte; scales (rows, columns / 32)
 *   GPTQ    values (columns / 8, rows) words along columns; scales (groups, rows); zero points
 *           (groups, rows / 8) words along rows
 *   AWQ     values (columns, rows / 8) words along rows, in the order 0, 2, 4, 6, 1, 3, 5, 7;
 *           scales (groups, rows); zero points (groups, rows / 8) words in the same order
 *   PACKED  compressed-tensors: values (rows, columns / 8) words along columns; scales (rows,
 *           groups); zero points (rows / 8, groups) words along rows
 *   BYTES   values (rows, columns) signed bytes; scales as below
 *   F8      values (rows, columns) of F8_E4M3; scales (row groups, groups) */
enum tensor_layout {
    TENSOR_MXFP4,
    TENSOR_GPTQ,
    TENSOR_AWQ,
    TENSOR_PACKED,
    TENSOR_BYTES,
    TENSOR_F8,
};

struct tensor_apart {
    enum tensor_layout layout;
    int32_t n_bits;            /* of a value: 4 or 8 */
    int64_t n_rows, n_columns; /* of the whole matrix; a tensor may have only some of its rows */
    int64_t row_group, group;  /* rows and columns that share a scale */
    enum dtype scale_dtype;    /* F32, F16 or BF16; MXFP4's scales are exponents */
    int32_t zero_added;        /* to a stored zero point: GPTQ's first version */
    const unsigned char *values, *scales;
    const unsigned char *zeros; /* NULL: all are half of the range */
};

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
    /* The parts that blocks of dtype are made of, when the file has no blocks (quant_block_at);
     * then data only says that the tensor is there. Element (i, k) is that at (apart_row + i *
     * apart_step, apart_column + k) of the parts. */
    const struct tensor_apart *apart;
    int64_t apart_row, apart_step, apart_column; /* apart_column: a multiple of a block */
    struct tensor_split split; /* set for devices with several ranks, else zeros */
};
