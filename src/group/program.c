/* The program of one rank: the whole one with fewer heads and columns, and with sums over ranks. */
#include "group/program.h"

#include "base/mem.h"
#include "group/registers.h"
#include "group/slice.h"
#include <string.h>

struct deriving { /* in progress */
    const struct compute_program *program;
    struct group_program *out;
    struct group_registers regs;
    int32_t index, n_ranks;
    int scratch; /* the register of parts of sums */
};

static struct group_share heads_of(const struct deriving *d, enum group_kind kind)
{
    const struct compute_program *program = d->program;
    if (kind == GROUP_KEY)
        return group_slice_share(program->n_kv_heads, 1, d->index, d->n_ranks);
    return group_slice_share(program->n_heads, group_query_unit(program, d->n_ranks), d->index,
                             d->n_ranks);
}

static int32_t n_heads_of(const struct deriving *d, enum group_kind kind)
{
    struct group_share share = heads_of(d, kind);
    return share.to - share.from;
}

/* Returns the split of the matrices that write inner activations; 0: no weights are bound yet. */
static int32_t inner_unit(const struct deriving *d)
{
    const struct compute_program *program = d->program;
    for (int i = 0; i < program->n_ops && program->weights != NULL; i++) {
        const struct compute_op *op = &program->ops[i];
        if (group_is_matrix(op) && d->regs.kinds[op->dst] == GROUP_INNER)
            return program->weights[op->weight]->split.unit;
    }
    return 0;
}

static int32_t width_of(const struct deriving *d, int reg, int32_t unit)
{
    enum { UNIT_MAX = 256 }; /* of inner activations: the longest block of a type */
    int32_t width = d->program->widths[reg];
    if (d->regs.kinds[reg] == GROUP_STREAM)
        return width;
    if (d->regs.kinds[reg] != GROUP_INNER)
        return max_i32(n_heads_of(d, d->regs.kinds[reg]), 1) * d->program->head_dim;
    if (unit == 0)
        return min_i32(width, width / d->n_ranks + UNIT_MAX);
    struct group_share share = group_slice_share(width, unit, d->index, d->n_ranks);
    return max_i32(share.to - share.from, 1);
}

static void derive_registers(struct deriving *d)
{
    const struct compute_program *program = d->program;
    struct group_program *out = d->out;
    int n = program->n_registers;
    int32_t unit = inner_unit(d);
    out->widths = mem_take(sizeof *out->widths * (size_t)(n + 1));
    out->is_logit_rows = mem_take((size_t)(n + 1) * sizeof(bool));
    memcpy(out->is_logit_rows, program->is_logit_rows, (size_t)n * sizeof(bool));
    if (program->is_expert_rows != NULL) {
        out->is_expert_rows = mem_take((size_t)(n + 1) * sizeof(bool));
        memcpy(out->is_expert_rows, program->is_expert_rows, (size_t)n * sizeof(bool));
    }
    for (int i = 0; i < n; i++)
        out->widths[i] = width_of(d, i, unit);
    out->widths[n] = 1;
    for (int i = 0; i < program->n_ops; i++) {
        const struct compute_op *op = &program->ops[i];
        if (group_is_matrix(op) && d->regs.kinds[op->src] != GROUP_STREAM)
            out->widths[n] = program->widths[op->dst];
    }
    d->scratch = n;
}

/* The rank's weights, and behind them the parts of those that it also has whole. */
static void derive_weights(struct deriving *d)
{
    const struct compute_program *program = d->program;
    int n = program->n_weights;
    if (program->weights == NULL)
        return;
    d->out->weights = mem_take(sizeof(*d->out->weights) * (size_t)(2 * n));
    for (int i = 0; i < n; i++) {
        d->out->weights[i] = program->weights[i]->of[d->index];
        d->out->weights[n + i] = program->weights[i]->rows[d->index];
    }
}

static struct compute_op *add(struct deriving *d, const struct compute_op *op)
{
    struct compute_op *own = &d->out->ops[d->out->program.n_ops++];
    *own = *op;
    return own;
}

/* A matrix whose inputs are split gives parts of sums. The rest of the operation follows the sum.
 */
static void add_sum(struct deriving *d, const struct compute_op *op)
{
    struct compute_op *part = add(d, op);
    part->dst = (uint16_t)d->scratch;
    part->bias = -1;
    part->flags = 0;
    struct compute_op *sum = add(d, op);
    sum->kind = COMPUTE_SUM;
    sum->src = (uint16_t)d->scratch;
    sum->weight = -1;
}

/* Each rank's part of an expert's result goes to COMBINE, and the sum follows that. The first
 * rank's parts have the biases. */
static void add_experts(struct deriving *d, const struct compute_op *op)
{
    struct compute_op *own = add(d, op);
    if (d->program->weights != NULL && op->bias >= 0 && d->regs.is_part[op->dst] &&
        d->program->weights[op->bias]->of[d->index] == NULL)
        own->bias = -1;
}

static void add_combine(struct deriving *d, const struct compute_op *op)
{
    struct compute_op *part = add(d, op);
    part->dst = (uint16_t)d->scratch;
    part->flags |= COMPUTE_FROM_ZERO;
    struct compute_op *sum = add(d, op);
    sum->kind = COMPUTE_SUM;
    sum->src = (uint16_t)d->scratch;
    sum->flags = COMPUTE_ADD_TO;
}

static void add_logits(struct deriving *d, const struct compute_op *op)
{
    const struct compute_program *program = d->program;
    if (program->weights == NULL) {
        add(d, op);
        return;
    }
    const struct compute_weight *weight = program->weights[op->weight];
    struct group_share share =
        group_slice_share(program->n_vocabulary, weight->split.unit, d->index, d->n_ranks);
    if (share.from == share.to)
        return;
    struct compute_op *own = add(d, op);
    own->n = share.from;
    if (weight->split.kind == TENSOR_BOTH)
        own->weight += program->n_weights;
}

/* Returns whether the rank computes no keys and values, because there are fewer heads of them than
 * ranks, and another rank has its one. */
static bool lacks_keys(const struct deriving *d, int reg)
{
    return d->regs.kinds[reg] == GROUP_KEY && n_heads_of(d, GROUP_KEY) == 0;
}

static void derive_op(struct deriving *d, const struct compute_op *op)
{
    enum group_kind to = d->regs.kinds[op->dst];
    switch (op->kind) {
    case COMPUTE_MATMUL:
        if (d->regs.kinds[op->src] != GROUP_STREAM)
            add_sum(d, op);
        else if (!lacks_keys(d, op->dst))
            add(d, op);
        return;
    case COMPUTE_EXPERTS:
        add_experts(d, op);
        return;
    case COMPUTE_COMBINE:
        if (d->regs.is_part[op->src])
            add_combine(d, op);
        else
            add(d, op);
        return;
    case COMPUTE_HEAD_NORM:
    case COMPUTE_ROPE:
        if (!lacks_keys(d, op->dst))
            add(d, op)->n = n_heads_of(d, to);
        return;
    case COMPUTE_KV_STORE:
        if (!lacks_keys(d, op->src))
            add(d, op);
        if (d->program->n_kv_heads < d->n_ranks)
            add(d, op)->kind = COMPUTE_MEET;
        return;
    case COMPUTE_LOGITS:
        add_logits(d, op);
        return;
    default:
        add(d, op);
    }
}

enum status group_program_init(struct group_program *out, const struct compute_program *program,
                               const struct compute_rank *rank, int32_t n_ranks,
                               struct fault *fault)
{
    struct deriving d = {
        .program = program, .out = out, .index = rank->index, .n_ranks = n_ranks
    };
    *out = (struct group_program){ .program = *program, .rank = *rank };
    enum status status = group_registers_find(program, n_ranks, &d.regs, fault);
    if (status != STATUS_OK)
        return status;
    out->ops = mem_take(sizeof *out->ops * (size_t)(2 * program->n_ops));
    out->first_head = program->n_kv_heads * rank->index / n_ranks;
    derive_registers(&d);
    derive_weights(&d);
    struct compute_program *own = &out->program;
    own->n_ops = 0;
    for (int i = 0; i < program->n_ops; i++)
        derive_op(&d, &program->ops[i]);
    own->ops = out->ops;
    own->n_registers = d.scratch + 1;
    own->widths = out->widths;
    own->is_logit_rows = out->is_logit_rows;
    own->is_expert_rows = out->is_expert_rows;
    own->n_weights = 2 * program->n_weights;
    own->weights = out->weights;
    own->n_heads = n_heads_of(&d, GROUP_QUERY);
    own->n_kv_heads = max_i32(n_heads_of(&d, GROUP_KEY), 1);
    own->shapes.sums_over_ranks = true;
    own->rank = &out->rank;
    return STATUS_OK;
}

void group_program_free(struct group_program *program)
{
    mem_give(program->ops);
    mem_give(program->widths);
    mem_give(program->is_logit_rows);
    mem_give(program->is_expert_rows);
    mem_give(program->weights);
}
