/* The inside of the reference device: weights as it unpacks them, and the list of operations. For
 * the files of this room alone. */
#pragma once
#include "compute/pass.h"

struct compute_weight {
    enum dtype dtype;
    int32_t n_rows, n_columns, n_sub;
    bool is_tiled;         /* multiplied as halves_add does */
    const float *floats;   /* (n_rows, n_columns), or NULL and: */
    const int8_t *values;  /* (n_rows, n_columns) */
    const float *scales;   /* (n_rows, n_columns / n_sub) */
    const float *minimums; /* the same, NULL without minimums */
};
/* Runs the whole list, of a pass whose ids are known; workspace: compute_reference_ops_bytes. */
void compute_reference_ops_run(const struct compute_program *program,
                               const struct compute_pass *pass, unsigned char *workspace,
                               float *logits);
int64_t compute_reference_ops_bytes(const struct compute_program *program, int32_t n_rows,
                                    int32_t n_logit_rows);
