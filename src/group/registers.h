/* The kinds of a program's registers, by the operations that use them. See plan.h. */
#pragma once
#include "base/status.h"
#include "compute/compute.h"

enum { GROUP_REGISTERS_MAX = 64 };
enum group_kind {
    GROUP_STREAM, /* whole on every rank */
    GROUP_QUERY,  /* by heads */
    GROUP_KEY,    /* by heads of keys and values */
    GROUP_INNER,  /* by columns */
};
struct group_registers {
    enum group_kind kinds[GROUP_REGISTERS_MAX];
    bool is_part[GROUP_REGISTERS_MAX]; /* expert rows that are parts of sums until COMBINE's SUM */
};
/* Returns STATUS_UNSUPPORTED, with a sentence, for a program that n_ranks can't share. */
enum status group_registers_find(const struct compute_program *program, int32_t n_ranks,
                                 struct group_registers *out, struct fault *fault) MUST_USE;

static inline bool group_is_matrix(const struct compute_op *op)
{
    return op->kind == COMPUTE_MATMUL || op->kind == COMPUTE_EXPERTS;
}
/* Returns whether the operation reads what a register had before it. */
bool group_registers_are_read(const struct compute_op *op, int reg);
/* Returns the register that the operation writes; -1: none. */
int group_registers_written(const struct compute_op *op);
/* Returns how many query heads stay together. Those of one head of keys stay on one rank, unless
 * there are more ranks than such heads. */
static inline int32_t group_query_unit(const struct compute_program *program, int32_t n_ranks)
{
    return program->n_kv_heads >= n_ranks ? program->n_heads / program->n_kv_heads : 1;
}
/* Returns how many matrices the operation uses, one behind the other. */
static inline int32_t group_matrices(const struct compute_program *program,
                                     const struct compute_op *op)
{
    if (op->kind == COMPUTE_EXPERTS)
        return program->shapes.experts.n_experts;
    return op->kind == COMPUTE_HEADS ? op->n : 1;
}
