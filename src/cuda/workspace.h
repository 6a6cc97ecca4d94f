/* The memory on the GPU that one program runs in. */
#pragma once
#include "compute/device.h"
#include "cuda/draw.h"
#include "cuda/graphs.h"
#include "cuda/load.h"
#include "cuda/matrix.h"

enum { CUDA_REGISTERS_MAX = 64 };

struct compute_weight { /* packed in GPU memory as cuda/form.h says */
    struct cuda_matrix matrix;
};

/* The place of each part of the workspace, in bytes from its start; each is a multiple of 256. */
struct cuda_workspace_layout {
    int64_t registers[CUDA_REGISTERS_MAX];
    int64_t prepared;       /* rows as products read them */
    int64_t frequencies[2]; /* of both ropes */
    int64_t angles[2];
    int64_t logits, raw; /* (n_logit_rows, n_vocabulary) */
    int64_t counts;      /* the same, int32; all 0 between passes */
    int64_t drawn[2];    /* (n_logit_rows) of this pass and of the one before */
    int64_t logprobs;    /* (n_logit_rows) struct cuda_logprobs */
    int64_t n_bytes;
};
struct cuda_workspace {
    struct compute_workspace face; /* its memory is NULL: the layout is this room's own */
    struct compute_memory *memory;
    struct compute_memory *scratch; /* of attention: it grows with the longest context */
    int64_t scratch_bytes;          /* what it has from the start */
    struct compute_memory *blas;    /* that cuBLASLt works in; NULL: our kernels compute all */
    const struct compute_program *program;
    struct cuda_workspace_layout layout;
    struct cuda_graphs graphs;
    int last; /* which of the two `drawn` the last pass that drew has written */
};
int64_t cuda_workspace_bytes(const struct compute_program *program, struct compute_sizes sizes);
enum status cuda_workspace_open(struct cuda_load *load, const struct compute_program *program,
                                struct compute_sizes sizes, struct cuda_workspace **out,
                                struct fault *fault) MUST_USE;
void cuda_workspace_close(struct cuda_load *load, struct cuda_workspace *workspace);

/* Floats from one row of a register to the next. */
static inline int64_t cuda_workspace_stride(const struct compute_program *program, int reg)
{
    return (int64_t)align_up_u64((uint64_t)program->widths[reg], 16);
}
