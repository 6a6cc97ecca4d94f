/* Draws of a pass on a device with its logits in host memory: the data that the members of a lane's
 * team share. It keeps the ids that a workspace's last pass drew, for the next one. */
#pragma once
#include "compute/pass.h"
#include "compute/sampler.h"

struct compute_drawer {
    int n_samplers;
    struct compute_sampler *samplers;
    int32_t n_vocabulary;
    const struct compute_rank *rank; /* NULL: it draws alone */
    int32_t *last; /* (n_logit_rows) drawn by the previous pass; a group's ranks share one */
    int32_t *ids;  /* (n_rows) of this pass, if some of its ids are drawn ones */
};
struct compute_drawer_sizes {
    int n_members;
    int32_t n_rows, n_logit_rows, n_vocabulary;
    const struct compute_rank *rank;
};
/* Takes compute_drawer_bytes bytes. */
void compute_drawer_open(struct compute_drawer *drawer, const struct compute_draw *loops,
                         struct compute_drawer_sizes sizes);
int64_t compute_drawer_bytes(struct compute_drawer_sizes sizes);
void compute_drawer_close(struct compute_drawer *drawer);
/* Returns the ids of the pass' rows, including drawn ones. NULL: another rank is gone. */
const int32_t *compute_drawer_ids(struct compute_drawer *drawer, const struct compute_pass *pass);
/* Waits until all ranks have written their columns of the logits. Returns false when another rank
 * is gone. */
bool compute_drawer_meet(const struct compute_drawer *drawer,
                         const struct compute_pass *pass) MUST_USE;
/* Does the ask of a logit row, as the rank-th of n_samplers members. logits are those of all rows.
 * next is the row that this member probably takes next. The order of rows does not change the
 * result. */
void compute_drawer_row(struct compute_drawer *drawer, int rank, const struct compute_pass *pass,
                        int32_t row, int32_t next, float *logits);
/* Called when all rows are done: the next pass may refer to their ids. */
void compute_drawer_end(struct compute_drawer *drawer, const struct compute_pass *pass);
