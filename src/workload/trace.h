/* A trace: requests with their times and lengths, read from a file.
 *
 * Two formats are our own. CSV has a line of column names, then a row per request. JSONL has an
 * object per line with the same names.
 *
 *     arrived_s   seconds on any clock, up to 9 decimals
 *     model       a name; without the column all rows are of one service
 *     n_prompt    tokens, 1 to LIMIT_CONTEXT
 *     n_output    tokens
 *     predicted   output tokens that a predictor said; empty or 0: none
 *     priority    lower is sooner
 *     deadline_s, cancel_s   after arrival; empty: none
 *     tenant      0 to 65535
 *     prefix      CSV "512:17;18;19", JSONL {"prefix_tokens": 512, "prefix": [17, 18, 19]}:
 *                 the names of the prompt's first blocks of 512 tokens (the last may be cut)
 *
 * Others are recognised by their columns: Azure's LLM traces, Vidur's, splitwise-sim's, APEX+'s,
 * BurstGPT's, Helix's and Mooncake's JSONL. Unknown columns are ignored. Files are hostile, so
 * every figure is checked, and a fault names the file and the line.
 *
 * Times have any origin (the run's beginning, 1970, below 0). A trace's first arrival is its time
 * zero, so that the same traffic gives the same rows whatever clock wrote it. */
#pragma once
#include "base/status.h"
#include "base/str.h"
#include "core/limits.h"

enum {
    WORKLOAD_TRACE_ROWS_MAX = 1 << 26,
    WORKLOAD_TRACE_BLOCKS_MAX = 1 << 28, /* names of prefix blocks, of all rows */
};
struct workload_trace_row {
    int64_t arrived_ns; /* since the first arrival, once read; 0: the trace has no times */
    int64_t deadline_ns, cancel_ns; /* after arrival; TIME_NEVER = none */
    uint64_t prefix_at;             /* of its first block in blocks */
    uint32_t n_prefix;
    int32_t n_prompt, n_output; /* 1 to LIMIT_CONTEXT */
    int32_t n_predicted;        /* 0 = not given */
    uint16_t model, tenant;
    int16_t priority;
};
struct workload_trace {
    struct workload_trace_row *rows; /* (n_rows), by arrival; equal times keep the file's order */
    uint64_t *blocks;                /* (n_blocks) */
    size_t n_rows, n_blocks;
    size_t n_skipped;      /* rows without a prompt or an output (failed calls) */
    int32_t prefix_tokens; /* of a block; 0 = no row has any */
    uint32_t n_models;
    char models[LIMIT_SERVICES][LIMIT_NAME_BYTES]; /* one, "", where no row has any */
    bool has_times, has_predicted;
    size_t rows_capacity, blocks_capacity; /* private */
};
void workload_trace_init(struct workload_trace *trace);
void workload_trace_free(struct workload_trace *trace);

/* Reads a file, or a text that is called `name`. The caller frees the trace, even after a fault. A
 * trace without a single row is a fault. */
enum status workload_trace_read(struct workload_trace *trace, const char *path,
                                struct fault *fault) MUST_USE;
enum status workload_trace_parse(struct workload_trace *trace, const char *name, struct view text,
                                 struct fault *fault) MUST_USE;

/* Returns the index of a model, which is added when new; -1: too many models, or the name is too
 * long. */
int32_t workload_trace_model(struct workload_trace *trace, struct view name);
void workload_trace_add(struct workload_trace *trace, const struct workload_trace_row *row);
void workload_trace_add_block(struct workload_trace *trace, uint64_t name);
void workload_trace_sort(struct workload_trace *trace); /* by arrival; equal rows stay in order */
