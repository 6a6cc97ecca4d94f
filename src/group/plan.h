/* How ranks share a program, and the program of each rank.
 *
 * Registers are of four kinds: the stream, which every rank has whole; queries and keys (with
 * values), of which a rank has some heads; and inner activations of feed-forwards, of which it has
 * some columns. The kind follows from the operations that use a register. A matrix from the stream
 * to the others is split by rows. A matrix back to the stream is split by columns, so each rank
 * computes a part of each sum, and a SUM follows. Matrices within the stream, norms and embeddings
 * are whole on every rank. LOGITS is split by rows, each rank writing its columns of the logits.
 * Source: Shoeybi et al., "Megatron-LM", 2019, section 3. */
#pragma once
#include "base/status.h"
#include "compute/compute.h"
#include "compute/group.h"

struct group_share { /* rows, columns or elements [from, to) of a tensor */
    int32_t from, to;
};
/* Returns the share of rank `index` of n_ranks, of a length that is split in units. The last unit
 * may be shorter. */
struct group_share group_share_of(int32_t length, int32_t unit, int32_t index, int32_t n_ranks);

/* Returns one rank's part of a tensor, which lies in the same data: its rows or columns, by its
 * split. kind is the split's, except that TENSOR_BOTH stands for whole. Returns false when the rank
 * has no part of it. */
bool group_slice(const struct tensor *tensor, enum tensor_split_kind kind, int32_t index,
                 int32_t n_ranks, struct tensor *part);

/* Implements compute_device.split. */
enum status group_plan_split(const struct compute_program *program, int32_t n_ranks,
                             struct tensor *tensors, struct fault *fault) MUST_USE;

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
