/* A trace: requests with their times and lengths, read from a file or gathered from a stream.
 *
 * Files are hostile: every figure is checked, and a fault names the file and the line. All rows are
 * in order of arrival; rows of one instant keep the file's order. */
#pragma once
#include "base/arena.h"
#include "base/status.h"
#include "core/limits.h"

enum {
    SIM_TRACE_ROWS_MAX = 1 << 26,
    SIM_TRACE_BLOCKS_MAX = 1 << 28, /* names of prefix blocks, of all rows */
};
struct sim_trace_row {
    int64_t arrived_ns;  /* since the trace's beginning; 0 where the trace has no times */
    int64_t deadline_ns; /* after arrival; 0 = none */
    uint64_t prefix_at;  /* of its first block in blocks */
    uint32_t n_prefix;
    int32_t n_prompt, n_output; /* >= 1, at most LIMIT_CONTEXT */
    int32_t n_predicted;        /* 0 = not given */
    uint16_t model, tenant;
    int16_t priority;
};
struct sim_trace {
    struct sim_trace_row *rows; /* (n_rows) */
    uint64_t *blocks;           /* (n_blocks) */
    size_t n_rows, n_blocks;
    size_t n_skipped;      /* rows that ask for nothing: no prompt or no output (failed calls) */
    int32_t prefix_tokens; /* of a block; 0 = no row has any */
    uint32_t n_models;
    char models[LIMIT_SERVICES][LIMIT_NAME_BYTES]; /* one of the empty name where no row has any */
    bool has_times, has_models, has_predicted;
    size_t rows_capacity, blocks_capacity; /* private */
};
