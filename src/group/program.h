/* The program of one rank: the whole one with fewer heads and columns, and with sums over ranks. */
#pragma once
#include "base/status.h"
#include "compute/compute.h"
#include "compute/group.h"

/* A weight as the group's ranks have it. */
struct compute_weight {
    struct tensor_split split;
    struct compute_weight *of[COMPUTE_GROUP_RANKS_MAX];   /* NULL: the rank has no part */
    struct compute_weight *rows[COMPUTE_GROUP_RANKS_MAX]; /* TENSOR_BOTH: the parts by rows */
};
/* The program of one rank, with what its lists lie in. */
struct group_program {
    struct compute_program program;
    struct compute_rank rank;
    int32_t first_head; /* of the cache's keys and values */
    struct compute_op *ops;
    int32_t *widths;
    bool *is_logit_rows, *is_expert_rows;
    struct compute_weight **weights;
};
/* Makes the program of one rank. Without weights, which are bound later, its registers are as large
 * as they may become. Returns what group_plan_split does. */
enum status group_program_init(struct group_program *out, const struct compute_program *program,
                               const struct compute_rank *rank, int32_t n_ranks,
                               struct fault *fault) MUST_USE;
void group_program_free(struct group_program *program);
