/* See chain.h. */
#include "group/chain.h"

#include "base/mem.h"
#include "core/device.h"
#include "group/registers.h"
#include <string.h>

struct ranges { /* rank r has layers [first[r], first[r + 1]) */
    int32_t first[COMPUTE_GROUP_RANKS_MAX + 1];
    int stream; /* the register that is handed on */
};

/* Returns the rank of an operation, which is no earlier one than that of the operation before it.
 */
static int32_t rank_of(const struct ranges *ranges, const struct compute_op *op, int32_t rank)
{
    while (op->layer >= ranges->first[rank + 1])
        rank++;
    return rank;
}

/* Returns whether a rank's operations read a register before they write it. */
static bool is_input(const struct compute_program *program, const struct ranges *ranges,
                     int32_t rank, int reg)
{
    for (int32_t i = 0, at = 0; i < program->n_ops; i++) {
        const struct compute_op *op = &program->ops[i];
        at = rank_of(ranges, op, at);
        if (at != rank)
            continue;
        if (group_registers_are_read(op, reg))
            return true;
        if (group_registers_written(op) == reg)
            return false;
    }
    return false;
}

/* Finds the one register that every rank but the first reads before it writes it. */
static bool find_stream(const struct compute_program *program, int32_t n_ranks,
                        struct ranges *ranges)
{
    ranges->stream = -1;
    for (int32_t rank = 1; rank < n_ranks; rank++)
        for (int reg = 0; reg < program->n_registers; reg++) {
            if (!is_input(program, ranges, rank, reg))
                continue;
            bool is_plain = !program->is_logit_rows[reg] && !compute_has_expert_rows(program, reg);
            if (!is_plain || (ranges->stream >= 0 && ranges->stream != reg))
                return false;
            ranges->stream = reg;
        }
    return ranges->stream >= 0;
}

static enum status find_ranges(const struct compute_program *program,
                               const struct group_chain *chain, struct ranges *out,
                               struct fault *fault)
{
    int32_t n_layers = 0, parts[COMPUTE_GROUP_RANKS_MAX];
    for (int i = 0; i < program->n_ops; i++)
        n_layers = max_i32(n_layers, program->ops[i].layer + 1);
    if (program->shapes.n_adapters > 0)
        return fault_set(fault, STATUS_UNSUPPORTED,
                         "%d ranks can't share this model, because it has LoRA adapters: use one "
                         "device for it",
                         chain->n_ranks);
    if (n_layers < chain->n_ranks)
        return fault_set(fault, STATUS_UNSUPPORTED,
                         "%d ranks can't share this model's %d layers: use fewer devices",
                         chain->n_ranks, n_layers);
    device_divide(n_layers, chain->shares, chain->n_ranks, parts);
    out->first[0] = 0;
    for (int32_t r = 0; r < chain->n_ranks; r++)
        out->first[r + 1] = out->first[r] + parts[r];
    if (chain->n_ranks > 1 && !find_stream(program, chain->n_ranks, out))
        return fault_set(fault, STATUS_UNSUPPORTED,
                         "%d ranks can't share this model's layers, because these hand on more "
                         "than one register: use one device for it",
                         chain->n_ranks);
    return STATUS_OK;
}

static void take(struct tensor *tensors, int32_t first, int32_t n, int32_t rank)
{
    for (int32_t i = 0; first >= 0 && i < n; i++)
        tensors[first + i].split.ranks |= (uint8_t)(1U << rank);
}

enum status group_chain_split(const struct compute_program *program,
                              const struct group_chain *chain, struct tensor *tensors,
                              struct fault *fault)
{
    struct ranges ranges;
    enum status status = find_ranges(program, chain, &ranges, fault);
    for (int i = 0; i < program->n_weights && status == STATUS_OK; i++)
        tensors[i].split = (struct tensor_split){ .kind = TENSOR_WHOLE };
    for (int32_t i = 0, rank = 0; i < program->n_ops && status == STATUS_OK; i++) {
        const struct compute_op *op = &program->ops[i];
        int32_t n = group_matrices(program, op);
        rank = rank_of(&ranges, op, rank);
        take(tensors, op->weight, n, rank);
        take(tensors, op->bias, n, rank);
        take(tensors, op->weight2, 1, rank);
    }
    return status;
}

static void copy_registers(struct group_program *out, const struct compute_program *program)
{
    size_t n = (size_t)program->n_registers;
    out->widths = mem_take(n * sizeof *out->widths);
    memcpy(out->widths, program->widths, n * sizeof *out->widths);
    out->is_logit_rows = mem_take(n * sizeof(bool));
    memcpy(out->is_logit_rows, program->is_logit_rows, n * sizeof(bool));
    out->program.widths = out->widths;
    out->program.is_logit_rows = out->is_logit_rows;
    if (program->is_expert_rows == NULL)
        return;
    out->is_expert_rows = mem_take(n * sizeof(bool));
    memcpy(out->is_expert_rows, program->is_expert_rows, n * sizeof(bool));
    out->program.is_expert_rows = out->is_expert_rows;
}

static void hand_over(struct group_program *out, enum compute_op_kind kind, int reg)
{
    out->ops[out->program.n_ops++] = (struct compute_op){ .kind = (uint8_t)kind,
                                                          .dst = (uint16_t)reg,
                                                          .src = (uint16_t)reg,
                                                          .weight = -1,
                                                          .bias = -1,
                                                          .weight2 = -1 };
}

enum status group_chain_program(struct group_program *out, const struct compute_program *program,
                                const struct compute_rank *rank, const struct group_chain *chain,
                                struct fault *fault)
{
    struct ranges ranges;
    enum status status = find_ranges(program, chain, &ranges, fault);
    *out = (struct group_program){ .program = *program, .rank = *rank };
    if (status != STATUS_OK)
        return status;
    out->ops = mem_take(sizeof *out->ops * (size_t)(program->n_ops + 2));
    copy_registers(out, program);
    out->program.n_ops = 0;
    if (rank->index > 0)
        hand_over(out, COMPUTE_RECEIVE, ranges.stream);
    for (int32_t i = 0, at = 0; i < program->n_ops; i++) {
        at = rank_of(&ranges, &program->ops[i], at);
        if (at == rank->index)
            out->ops[out->program.n_ops++] = program->ops[i];
    }
    if (rank->index + 1 < chain->n_ranks)
        hand_over(out, COMPUTE_SEND, ranges.stream);
    if (program->weights != NULL) {
        out->weights = mem_take(sizeof(*out->weights) * (size_t)program->n_weights);
        for (int i = 0; i < program->n_weights; i++)
            out->weights[i] = program->weights[i]->of[rank->index];
    }
    out->program.ops = out->ops;
    out->program.weights = out->weights;
    out->program.shapes.sums_over_ranks = true;
    out->program.rank = &out->rank;
    return STATUS_OK;
}
