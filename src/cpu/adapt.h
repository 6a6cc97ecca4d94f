/* LoRA adapters on the CPU: how the rows of a pass are dealt to adapters. */
#pragma once
#include "compute/pass.h"

struct cpu_pass;
struct cpu_share;

/* Rows of one adapter that are multiplied together, CPU_TILE_ROWS at most. */
struct cpu_adapt_group {
    int32_t adapter;  /* from 0 */
    int32_t first, n; /* places in the order, and rows in the register that ADAPT_DOWN writes */
};
/* The rows of a pass that have an adapter, adapter by adapter. */
struct cpu_adapt_order {
    int32_t n_groups;
    struct cpu_adapt_group *groups; /* (n_groups) */
    int32_t *rows;                  /* the row of each place */
};

/* Returns the bytes of the order of a pass of n_rows. */
int64_t cpu_adapt_bytes(const struct compute_program *program, int32_t n_rows);
/* Deals all rows to their adapters, before the pass runs. */
void cpu_adapt_sort(struct cpu_pass *p);
/* Returns whether a row of the pass has an adapter with matrices for the operation's target. */
bool cpu_adapt_is_used(const struct cpu_pass *p, const struct compute_op *op);
/* Runs ADAPT_DOWN or ADAPT_UP. Idle members take items one by one. */
void cpu_adapt(const struct cpu_pass *p, const struct compute_op *op, int op_index, int rank);
/* Runs COMPUTE_ACT for the rows of a share. */
void cpu_adapt_act(const struct cpu_pass *p, const struct compute_op *op, struct cpu_share share);
