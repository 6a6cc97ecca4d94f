/* Draws of a pass on a device whose logits lie in host memory: what the members of a lane's team
 * share. It keeps the ids that a workspace's last pass drew, for the next one. */
#pragma once
#include "compute/pass.h"
#include "compute/sampler.h"

struct compute_drawer {
    int n_samplers;
    struct compute_sampler *samplers;
    int32_t n_vocabulary;
    int32_t *last; /* (n_logit_rows) that the previous pass drew */
    int32_t *ids;  /* (n_rows) of this pass, where a drawn one was among them */
};
struct compute_drawer_sizes {
    int n_members;
    int32_t n_rows, n_logit_rows, n_vocabulary;
};
/* Takes compute_drawer_bytes. */
void compute_drawer_open(struct compute_drawer *drawer, const struct compute_draw *loops,
                         struct compute_drawer_sizes sizes);
int64_t compute_drawer_bytes(struct compute_drawer_sizes sizes);
void compute_drawer_close(struct compute_drawer *drawer);
/* The ids of the pass' rows, drawn ones put in. */
const int32_t *compute_drawer_ids(struct compute_drawer *drawer, const struct compute_pass *pass);
/* Does what is asked of a logit row, as the rank-th of n_samplers members. logits: of all rows;
 * next: the row that this member is likely to take next. Any order of rows gives the same. */
void compute_drawer_row(struct compute_drawer *drawer, int rank, const struct compute_pass *pass,
                        int32_t row, int32_t next, float *logits);
/* All rows are done: the next pass may ask for their ids. */
void compute_drawer_end(struct compute_drawer *drawer, const struct compute_pass *pass);
