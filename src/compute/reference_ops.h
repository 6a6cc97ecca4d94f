/* The inside of the reference device, for the files of this room: its unpacked weights, and the
 * list of operations. */
#pragma once
#include "compute/pass.h"

struct compute_weight {
    enum dtype dtype;
    int32_t n_rows, n_columns, n_sub;
    bool is_tiled;         /* multiplied as by halves_add */
    const float *floats;   /* (n_rows, n_columns), or NULL and: */
    const int8_t *values;  /* (n_rows, n_columns) */
    const float *scales;   /* (n_rows, n_columns / n_sub) */
    const float *minimums; /* the same, NULL without minimums */
};
/* Runs the whole list, for a pass with known ids. workspace has compute_reference_ops_bytes
 * bytes. Returns false when another rank is gone. */
bool compute_reference_ops_run(const struct compute_program *program,
                               const struct compute_pass *pass, unsigned char *workspace,
                               float *logits) MUST_USE;
int64_t compute_reference_ops_bytes(const struct compute_program *program, int32_t n_rows,
                                    int32_t n_logit_rows);
