/* Mixtures of experts on the CPU: how a pass's rows are dealt to experts. */
#pragma once
#include "compute/pass.h"
#include "core/limits.h"

struct cpu_pass;
struct cpu_share;

struct cpu_expert {
    int32_t id, first_row, n_rows; /* its rows in registers of expert rows */
};
/* The experts that rows of the pass use, and their rows, since the last COMPUTE_ROUTE. */
struct cpu_experts_order {
    int32_t n, n_rows_most; /* experts, rows of the one with the most */
    struct cpu_expert experts[LIMIT_EXPERTS];
};

/* Returns the most rows of a register of expert rows, places between experts included. */
int64_t cpu_experts_rows(const struct compute_program *program, int32_t n_rows);
/* Chooses the experts of the rows of a share. */
void cpu_experts_route(const struct cpu_pass *p, const struct compute_op *op,
                       struct cpu_share share, float *scratch);
/* Deals all rows to their experts. One member does it. */
void cpu_experts_sort(const struct cpu_pass *p);
/* matmul.c: runs COMPUTE_EXPERTS, each expert's matrix with its rows. */
void cpu_matmul_experts(const struct cpu_pass *p, const struct compute_op *op, int op_index,
                        int rank);
/* Runs COMPUTE_COMBINE and COMPUTE_SCALE for the rows of a share. */
void cpu_experts_combine(const struct cpu_pass *p, const struct compute_op *op,
                         struct cpu_share share, float *scratch);
void cpu_experts_scale(const struct cpu_pass *p, const struct compute_op *op,
                       struct cpu_share share);
