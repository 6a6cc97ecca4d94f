/* See plan.h: which part of each tensor a rank has. */
#include "group/plan.h"

#include "group/registers.h"
#include "group/slice.h"

/* Returns the unit in which inner widths are split: whole blocks of all matrices that read them,
 * and 32 columns, at which matrices' kernels walk, if each rank gets as many. */
static int32_t inner_unit(const struct compute_program *program, const struct group_registers *regs,
                          const struct tensor *tensors, int32_t n_ranks)
{
    int32_t unit = 32;
    for (int i = 0; i < program->n_registers; i++)
        if (regs->kinds[i] == GROUP_INNER && program->widths[i] / 32 < n_ranks)
            unit = 1;
    for (int i = 0; i < program->n_ops; i++) {
        const struct compute_op *op = &program->ops[i];
        if (!group_is_matrix(op) || regs->kinds[op->src] != GROUP_INNER)
            continue;
        for (int32_t e = 0; e < group_matrices(program, op); e++)
            unit = max_i32(unit, dtype_info(tensors[op->weight + e].dtype)->n_block);
    }
    return unit;
}

struct splitting { /* in progress */
    const struct compute_program *program;
    const struct group_registers *regs;
    struct tensor *tensors;
    int32_t n_ranks, unit; /* of inner activations */
    struct fault *fault;
};

/* Splits a weight in one way. An embedding that is also the output's matrix is both whole and
 * split. */
static enum status split_as(const struct splitting *s, int32_t weight, enum tensor_split_kind kind,
                            int32_t unit)
{
    if (weight < 0)
        return STATUS_OK;
    struct tensor *tensor = &s->tensors[weight];
    bool is_new = tensor->split.unit == 0;
    const struct tensor_split split = { .kind = (uint8_t)kind, .unit = unit };
    if (is_new || (tensor->split.kind == split.kind && tensor->split.unit == split.unit))
        tensor->split = split;
    else if (tensor->split.kind == TENSOR_WHOLE && kind == TENSOR_ROWS && tensor->n_rows > 1)
        tensor->split = (struct tensor_split){ .kind = TENSOR_BOTH, .unit = unit };
    else
        return fault_set(s->fault, STATUS_UNSUPPORTED,
                         "%d ranks can't share this model, because it uses one matrix in two ways",
                         s->n_ranks);
    return STATUS_OK;
}

static int32_t unit_of(const struct splitting *s, enum group_kind kind)
{
    if (kind == GROUP_INNER)
        return s->unit;
    return s->program->head_dim *
           (kind == GROUP_QUERY ? group_query_unit(s->program, s->n_ranks) : 1);
}

/* Checks that every rank's part of the inputs ends with a block. */
static enum status check_blocks(const struct splitting *s, const struct compute_op *op,
                                enum group_kind kind)
{
    const struct tensor *tensor = &s->tensors[op->weight];
    const struct dtype_info *info = dtype_info(tensor->dtype);
    for (int32_t r = 0; r < s->n_ranks; r++) {
        struct group_share share =
            group_slice_share(tensor->n_columns, unit_of(s, kind), r, s->n_ranks);
        if (share.to % info->n_block != 0)
            return fault_set(s->fault, STATUS_UNSUPPORTED,
                             "%d ranks can't share this model: a matrix of %d inputs in %s would "
                             "be split at %d, within a block of %d",
                             s->n_ranks, tensor->n_columns, info->name, share.to, info->n_block);
        if (share.from == share.to)
            return fault_set(s->fault, STATUS_UNSUPPORTED,
                             "%d ranks can't share this model: %d inner activations divide into "
                             "%d blocks of %s",
                             s->n_ranks, tensor->n_columns,
                             (int)div_up_i64(tensor->n_columns, unit_of(s, kind)), info->name);
    }
    return STATUS_OK;
}

static enum status split_matrix(const struct splitting *s, const struct compute_op *op)
{
    enum group_kind from = s->regs->kinds[op->src], to = s->regs->kinds[op->dst];
    enum status status = STATUS_OK;
    if (from != GROUP_STREAM && to != GROUP_STREAM)
        return fault_set(s->fault, STATUS_UNSUPPORTED,
                         "%d ranks can't share this model, because a matrix has both its inputs "
                         "and its outputs split",
                         s->n_ranks);
    enum tensor_split_kind kind = from != GROUP_STREAM ? TENSOR_COLUMNS
                                  : to != GROUP_STREAM ? TENSOR_ROWS
                                                       : TENSOR_WHOLE;
    int32_t unit = kind == TENSOR_WHOLE ? 1 : unit_of(s, from != GROUP_STREAM ? from : to);
    if (kind == TENSOR_COLUMNS)
        status = check_blocks(s, op, from);
    for (int32_t e = 0; e < group_matrices(s->program, op) && status == STATUS_OK; e++) {
        status = split_as(s, op->weight + e, kind, unit);
        if (status == STATUS_OK && op->bias >= 0 && kind != TENSOR_COLUMNS)
            status = split_as(s, op->bias + e, kind, unit);
        else if (status == STATUS_OK && op->bias >= 0)
            status = split_as(s, op->bias + e, TENSOR_WHOLE, 1);
        if (op->kind == COMPUTE_EXPERTS && op->bias >= 0 && kind == TENSOR_COLUMNS)
            s->tensors[op->bias + e].split.ranks = 1; /* so that it is added once */
    }
    return status;
}

static enum status split_logits(const struct splitting *s, const struct compute_op *op)
{
    enum { UNIT = 16 }; /* outputs that matrices have side by side */
    enum status status = split_as(s, op->weight, TENSOR_ROWS, UNIT);
    return status == STATUS_OK ? split_as(s, op->bias, TENSOR_ROWS, UNIT) : status;
}

static enum status split_op(const struct splitting *s, const struct compute_op *op)
{
    if (op->kind == COMPUTE_LOGITS)
        return split_logits(s, op);
    if (group_is_matrix(op))
        return split_matrix(s, op);
    if (op->kind == COMPUTE_ATTEND)
        return split_as(s, op->weight, TENSOR_ROWS, /* sinks of the heads */
                        group_query_unit(s->program, s->n_ranks));
    enum status status = split_as(s, op->weight, TENSOR_WHOLE, 1);
    if (status == STATUS_OK)
        status = split_as(s, op->bias, TENSOR_WHOLE, 1);
    return status == STATUS_OK ? split_as(s, op->weight2, TENSOR_WHOLE, 1) : status;
}

enum status group_plan_split(const struct compute_program *program, int32_t n_ranks,
                             struct tensor *tensors, struct fault *fault)
{
    struct group_registers regs;
    enum status status = group_registers_find(program, n_ranks, &regs, fault);
    if (status != STATUS_OK)
        return status;
    const struct splitting s = {
        program, &regs, tensors, n_ranks, inner_unit(program, &regs, tensors, n_ranks), fault
    };
    for (int i = 0; i < program->n_weights; i++)
        tensors[i].split = (struct tensor_split){ .kind = TENSOR_WHOLE };
    for (int i = 0; i < program->n_ops && status == STATUS_OK; i++)
        status = split_op(&s, &program->ops[i]);
    return status;
}
