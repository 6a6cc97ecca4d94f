/* The operations of a program as kernels on a stream. */
#pragma once
#include "cuda/workspace.h"

struct cuda_split {         /* rows by class, in GPU memory */
    const int32_t *rows[2]; /* enum cuda_class */
    const int32_t *host[2]; /* the same in host memory */
    int32_t n[2];
};
struct cuda_ops { /* one pass */
    struct cuda_driver *driver;
    struct cuda_stream *stream;
    const struct compute_pass *pass;
    const struct compute_program *program;
    struct cuda_workspace *workspace;
    struct cuda_blas *blas;       /* NULL: our kernels compute all products */
    int32_t n_rows, n_logit_rows; /* of the pass, and rows behind them that nothing reads */
    bool is_strict;               /* all rows are computed as generated ones */
    bool is_step;                 /* a decode step, whose graph has these numbers of rows */
    const int32_t *ids, *positions, *logit_rows; /* in GPU memory */
    struct cuda_batch batch;
    struct cuda_cache cache;
    struct cuda_split splits[2];   /* of the pass' rows, of those whose logits are wanted */
    const struct cuda_tile *tiles; /* the prompt rows, as tiles of consecutive ones */
    int32_t n_tiles;
    int32_t n_positions_max, n_processors;
    /* The register that lies prepared for products, and how; -1: none. */
    int prepared;
    enum cuda_prepared kind;
};
static inline void *cuda_ops_at(const struct cuda_ops *ops, int64_t at)
{
    return ops->workspace->memory->base + at;
}
/* Enqueues all of them. False: one was refused. */
bool cuda_ops_run(struct cuda_ops *ops);
