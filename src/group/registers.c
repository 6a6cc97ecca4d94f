/* Finds the kinds of registers. */
#include "group/registers.h"

#include <string.h>

struct finding { /* in progress */
    const struct compute_program *program;
    struct group_registers *regs;
    bool is_kind_known[GROUP_REGISTERS_MAX];
    bool is_mixed; /* a register is of two kinds */
};

static void mark(struct finding *f, int reg, enum group_kind kind)
{
    f->is_mixed = f->is_mixed || (f->is_kind_known[reg] && f->regs->kinds[reg] != kind);
    f->is_kind_known[reg] = true;
    f->regs->kinds[reg] = kind;
}

static void mark_op(struct finding *f, const struct compute_op *op)
{
    switch (op->kind) {
    case COMPUTE_ATTEND:
        mark(f, op->src, GROUP_QUERY);
        mark(f, op->dst, GROUP_QUERY);
        return;
    case COMPUTE_KV_STORE:
        mark(f, op->src, GROUP_KEY);
        mark(f, op->src2, GROUP_KEY);
        return;
    case COMPUTE_GATE:
        mark(f, op->src, GROUP_INNER);
        mark(f, op->src2, GROUP_INNER);
        mark(f, op->dst, GROUP_INNER);
        return;
    case COMPUTE_MATMUL: /* a feed-forward without a gate, but not the pooler of an encoder */
        if (op->flags & COMPUTE_HAS_ACT && !f->program->is_logit_rows[op->dst])
            mark(f, op->dst, GROUP_INNER);
        return;
    default:
        return;
    }
}

/* The results of experts are expert rows, so the ranks add up what COMBINE makes of their parts. */
static void mark_parts(const struct compute_program *program, struct group_registers *regs)
{
    for (int i = 0; i < program->n_ops; i++) {
        const struct compute_op *op = &program->ops[i];
        if (op->kind == COMPUTE_EXPERTS && regs->kinds[op->src] == GROUP_INNER)
            regs->is_part[op->dst] = true;
    }
}

/* Returns what keeps ranks from computing an operation on parts of its registers; NULL: nothing. */
static const char *obstacle_of(const struct group_registers *regs, const struct compute_op *op)
{
    bool is_split = regs->kinds[op->dst] != GROUP_STREAM || regs->kinds[op->src] != GROUP_STREAM;
    if (regs->is_part[op->src] && op->kind != COMPUTE_COMBINE)
        return "it uses the results of experts in an unknown way";
    switch (op->kind) {
    case COMPUTE_MATMUL:
    case COMPUTE_LOGITS:
    case COMPUTE_KV_STORE:
    case COMPUTE_ATTEND:
    case COMPUTE_GATE:
    case COMPUTE_HEAD_NORM:
    case COMPUTE_ROPE:
        return NULL;
    case COMPUTE_EMBED:
    case COMPUTE_TAKE_ROWS:
    case COMPUTE_VECTORS:
        return is_split ? "it takes rows of activations that are split" : NULL;
    case COMPUTE_NORM:
        return is_split ? "its norms cover all heads together" : NULL;
    case COMPUTE_EXPERTS:
        return op->flags != 0 ? "its experts add to registers" : NULL;
    case COMPUTE_ROUTE:
    case COMPUTE_SPREAD:
    case COMPUTE_COMBINE:
    case COMPUTE_SCALE:
        return is_split || regs->kinds[op->src2] != GROUP_STREAM
                   ? "its experts use activations that are split"
                   : NULL;
    default:
        return "it has an operation that is computed by one device alone";
    }
}

static const char *check_widths(const struct compute_program *program,
                                const struct group_registers *regs)
{
    for (int i = 0; i < program->n_registers; i++) {
        int32_t n_heads = regs->kinds[i] == GROUP_QUERY ? program->n_heads : program->n_kv_heads;
        if ((regs->kinds[i] == GROUP_QUERY || regs->kinds[i] == GROUP_KEY) &&
            program->widths[i] != n_heads * program->head_dim)
            return "its heads have unlike widths";
    }
    return NULL;
}

enum status group_registers_find(const struct compute_program *program, int32_t n_ranks,
                                 struct group_registers *out, struct fault *fault)
{
    struct finding f = { .program = program, .regs = out };
    const char *obstacle = NULL;
    int32_t n_kv = program->n_kv_heads;
    memset(out, 0, sizeof *out);
    if (program->n_registers > GROUP_REGISTERS_MAX)
        return fault_set(fault, STATUS_UNSUPPORTED, "a group's programs have %d registers at most",
                         GROUP_REGISTERS_MAX);
    if (n_kv < n_ranks && (n_ranks % n_kv != 0 || program->n_heads % n_ranks != 0))
        return fault_set(fault, STATUS_UNSUPPORTED,
                         "%d ranks can't share this model's %d heads with %d heads of keys and "
                         "values: use %d ranks or fewer",
                         n_ranks, program->n_heads, n_kv, n_kv);
    if (program->shapes.n_adapters > 0)
        obstacle = "it has LoRA adapters";
    else if (program->shapes.has_latents)
        obstacle = "it has latent attention (MLA)";
    for (int i = 0; i < program->n_ops; i++)
        mark_op(&f, &program->ops[i]);
    if (obstacle == NULL && f.is_mixed)
        obstacle = "it uses a register for heads and for inner activations";
    if (program->shapes.has_latents)
        obstacle = "it has latent attention (MLA)";
    mark_parts(program, out);
    for (int i = 0; i < program->n_ops && obstacle == NULL; i++)
        obstacle = obstacle_of(out, &program->ops[i]);
    if (obstacle == NULL)
        obstacle = check_widths(program, out);
    return obstacle == NULL
               ? STATUS_OK
               : fault_set(fault, STATUS_UNSUPPORTED,
                           "%d ranks can't share this model, because %s: use one device for it",
                           n_ranks, obstacle);
}

bool group_registers_are_read(const struct compute_op *op, int reg)
{
    switch (op->kind) {
    case COMPUTE_EMBED:
    case COMPUTE_RECEIVE:
    case COMPUTE_MEET:
        return false;
    case COMPUTE_HEAD_NORM:
    case COMPUTE_ROPE:
        return op->dst == reg;
    case COMPUTE_GATE:
    case COMPUTE_KV_STORE:
        return op->src == reg || op->src2 == reg;
    case COMPUTE_COMBINE:
    case COMPUTE_SCALE:
        return op->src == reg || op->src2 == reg || op->dst == reg;
    default:
        return op->src == reg || (op->flags & COMPUTE_ADD_TO && op->dst == reg);
    }
}

int group_registers_written(const struct compute_op *op)
{
    switch (op->kind) {
    case COMPUTE_KV_STORE:
    case COMPUTE_LOGITS:
    case COMPUTE_VECTORS:
    case COMPUTE_ROUTE:
    case COMPUTE_MEET:
    case COMPUTE_SEND:
        return -1;
    default:
        return op->dst;
    }
}
