/* Runs the list of operations as one member of the team, and waits only when data crosses members.
 *
 * Every member walks the whole list and makes the same decisions. A resource was read or written
 * since the last barrier in one of these ways: by rows (each member its share), by logit rows, or
 * by expert rows, or split (items taken freely). The same kind of rows may follow itself without
 * waiting. Any other access to what was written, and any write to what was accessed, needs a
 * barrier first. */
#include "cpu/pass.h"

#include "compute/group.h"
#include <string.h>

enum how { BY_ROWS = 1, BY_LOGIT_ROWS = 2, SPLIT = 4, BY_EXPERT_ROWS = 8 };

enum { PREPARED = CPU_REGISTERS_MAX, CACHE, TABLE, SHARED_TILES, ROUTES, ORDER, RESOURCES };

struct member {
    struct cpu_pass *p;
    int rank, n;
    uint8_t reads[RESOURCES], writes[RESOURCES]; /* bits of enum how, since the last barrier */
    int prepared;                                /* register that PREPARED holds, -1 = none */
    enum cpu_rows_as prepared_as;
};

static void wait_for_all(struct member *m)
{
    if (m->n > 1)
        team_barrier(m->p->team, m->rank);
    memset(m->reads, 0, sizeof(m->reads));
    memset(m->writes, 0, sizeof(m->writes));
}

static bool is_safe(uint8_t before, enum how how)
{
    return before == 0 || (before == how && how != SPLIT);
}

struct touch {
    int resource;
    enum how how;
    bool is_write;
};

/* Notes the accesses of the next operation. It waits first if they need a barrier. */
static void touch(struct member *m, const struct touch *touches, size_t n)
{
    bool must_wait = false;
    for (size_t i = 0; i < n; i++) {
        const struct touch *t = &touches[i];
        uint8_t before = m->writes[t->resource] | (t->is_write ? m->reads[t->resource] : 0);
        must_wait = must_wait || !is_safe(before, t->how);
    }
    if (must_wait)
        wait_for_all(m);
    for (size_t i = 0; i < n; i++) {
        const struct touch *t = &touches[i];
        uint8_t *noted = t->is_write ? m->writes : m->reads;
        noted[t->resource] |= (uint8_t)t->how;
        if (t->is_write && m->prepared == t->resource)
            m->prepared = -1;
    }
}

#define READS(resource, how)                                                                       \
    {                                                                                              \
        resource, how, false                                                                       \
    }
#define WRITES(resource, how)                                                                      \
    {                                                                                              \
        resource, how, true                                                                        \
    }
#define TOUCH(m, ...)                                                                              \
    do {                                                                                           \
        const struct touch list[] = { __VA_ARGS__ };                                               \
        touch(m, list, COUNT_OF(list));                                                            \
    } while (0)

static enum how rows_of(const struct member *m, int reg)
{
    if (compute_has_expert_rows(m->p->program, reg))
        return BY_EXPERT_ROWS;
    return m->p->program->is_logit_rows[reg] ? BY_LOGIT_ROWS : BY_ROWS;
}

static struct cpu_share share_of(const struct member *m, int reg)
{
    return cpu_pass_share(cpu_pass_rows(m->p, reg), m->rank, m->n);
}

/* Returns whether rows prepared in one form can be used as the other. */
static bool serves(enum cpu_rows_as prepared, enum cpu_rows_as wanted)
{
    return prepared == wanted || (prepared == CPU_ROWS_GROUPS && wanted == CPU_ROWS_BLOCKS);
}

static void matmul(struct member *m, const struct compute_op *op, int op_index)
{
    int source = op->src;
    enum how how = rows_of(m, op->src);
    enum cpu_rows_as as = cpu_matmul_wants(m->p, op);
    if (as != CPU_ROWS_FLOATS) {
        if (m->prepared != op->src || !serves(m->prepared_as, as)) {
            TOUCH(m, READS(op->src, how), WRITES(PREPARED, how));
            cpu_rows_prepare(m->p, op->src, as, share_of(m, op->src));
            m->prepared = op->src;
            m->prepared_as = as;
        }
        source = PREPARED;
    }
    if (op->kind == COMPUTE_LOGITS)
        TOUCH(m, READS(source, SPLIT));
    else
        TOUCH(m, READS(source, SPLIT), WRITES(op->dst, SPLIT));
    if (op->kind == COMPUTE_EXPERTS)
        cpu_matmul_experts(m->p, op, op_index, m->rank);
    else
        cpu_matmul(m->p, op, op_index, m->rank);
}

static bool is_matrix(const struct compute_op *op)
{
    return op->kind == COMPUTE_MATMUL || op->kind == COMPUTE_LOGITS || op->kind == COMPUTE_EXPERTS;
}

static bool reads(const struct member *m, const struct compute_op *op, int reg)
{
    switch (op->kind) {
    case COMPUTE_VECTORS:
        return m->p->pass->n_vectors > 0 && op->src == reg;
    case COMPUTE_EMBED:
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

/* Returns whether the operation replaces the register, so that its old content does not matter. */
static bool replaces(const struct member *m, const struct compute_op *op, int reg)
{
    return op->dst == reg && op->kind != COMPUTE_KV_STORE && op->kind != COMPUTE_LOGITS &&
           op->kind != COMPUTE_ROUTE && op->kind != COMPUTE_VECTORS && !reads(m, op, reg);
}

static bool is_matrix_of(const struct compute_op *op, int reg)
{
    return is_matrix(op) && op->src == reg;
}

/* Finds the uses of the operation's result: the matrices directly behind it that can take it in one
 * form, and other readers before it is replaced. */
static struct cpu_result result_of(struct member *m, const struct compute_op *op)
{
    const struct compute_program *program = m->p->program;
    const struct compute_op *next = op + 1, *end = program->ops + program->n_ops;
    struct cpu_result result = { .scratch = cpu_pass_scratch(m->p, m->rank) };
    if (next < end && is_matrix_of(next, op->dst))
        result.as = cpu_matmul_wants(m->p, next);
    for (; next < end && result.as != CPU_ROWS_FLOATS && is_matrix_of(next, op->dst) &&
           !replaces(m, next, op->dst);
         next++) {
        enum cpu_rows_as as = cpu_matmul_wants(m->p, next);
        if (serves(as, result.as))
            result.as = as;
        else if (!serves(result.as, as))
            break;
    }
    while (next < end && !reads(m, next, op->dst) && !replaces(m, next, op->dst))
        next++;
    result.is_kept = result.as == CPU_ROWS_FLOATS || op->flags & COMPUTE_ADD_TO ||
                     (next < end && reads(m, next, op->dst));
    return result;
}

/* Computes a norm, a gate or expert rows, and prepares the form that matrices need when they come
 * next. */
static void compute_and_prepare(struct member *m, const struct compute_op *op, enum how how)
{
    struct cpu_result result = result_of(m, op);
    bool is_spread = op->kind == COMPUTE_SPREAD;
    struct touch touches[4] = { READS(op->src, is_spread ? SPLIT : how) };
    size_t n = 1;
    if (op->kind == COMPUTE_GATE)
        touches[n++] = (struct touch)READS(op->src2, how);
    if (result.is_kept)
        touches[n++] = (struct touch)WRITES(op->dst, how);
    if (result.as != CPU_ROWS_FLOATS)
        touches[n++] = (struct touch)WRITES(PREPARED, how);
    touch(m, touches, n);
    if (op->kind == COMPUTE_GATE)
        cpu_rows_gate(m->p, op, share_of(m, op->dst), result);
    else if (op->kind == COMPUTE_SPREAD)
        cpu_rows_spread(m->p, op, share_of(m, op->dst), result);
    else
        cpu_rows_norm(m->p, op, share_of(m, op->dst), result);
    if (result.as == CPU_ROWS_FLOATS)
        return;
    m->prepared = op->dst;
    m->prepared_as = result.as;
}

/* Runs an operation by rows: each member does its own. */
static void by_rows(struct member *m, const struct compute_op *op)
{
    struct cpu_pass *p = m->p;
    int reg = op->kind == COMPUTE_KV_STORE ? op->src : op->dst;
    enum how how = rows_of(m, reg);
    struct cpu_share share = share_of(m, reg);
    float *scratch = cpu_pass_scratch(p, m->rank);
    switch (op->kind) {
    case COMPUTE_EMBED:
        TOUCH(m, WRITES(op->dst, how));
        cpu_rows_embed(p, op, share, scratch);
        return;
    case COMPUTE_NORM:
    case COMPUTE_GATE:
        compute_and_prepare(m, op, how);
        return;
    case COMPUTE_SPREAD:
        TOUCH(m, READS(ORDER, SPLIT)); /* the order determines the form of the result */
        compute_and_prepare(m, op, how);
        return;
    case COMPUTE_COMBINE:
        TOUCH(m, READS(op->src, SPLIT), READS(ORDER, SPLIT), WRITES(op->dst, how));
        cpu_experts_combine(p, op, share, scratch);
        return;
    case COMPUTE_SCALE:
        TOUCH(m, READS(op->src, how), READS(op->src2, how), WRITES(op->dst, how));
        cpu_experts_scale(p, op, share);
        return;
    case COMPUTE_HEAD_NORM:
        TOUCH(m, WRITES(op->dst, how));
        cpu_rows_head_norm(p, op, share);
        return;
    case COMPUTE_ROPE:
        TOUCH(m, READS(TABLE, how), WRITES(op->dst, how));
        cpu_rows_rope(p, op, share);
        return;
    case COMPUTE_KV_STORE:
        TOUCH(m, READS(op->src, how), READS(op->src2, how), WRITES(CACHE, how));
        cpu_rows_kv_store(p, op, share, scratch);
        return;
    default:
        CHECK(op->kind == COMPUTE_TAKE_ROWS);
        TOUCH(m, READS(op->src, SPLIT), WRITES(op->dst, how));
        cpu_rows_take(p, op, share);
    }
}

static void route(struct member *m, const struct compute_op *op)
{
    TOUCH(m, READS(op->src, BY_ROWS), WRITES(ROUTES, BY_ROWS));
    cpu_experts_route(m->p, op, share_of(m, op->src), cpu_pass_scratch(m->p, m->rank));
    TOUCH(m, READS(ROUTES, SPLIT), WRITES(ORDER, SPLIT));
    if (m->rank == 0)
        cpu_experts_sort(m->p);
}

/* Adds up the rows of all ranks: one member meets the others, since all of this rank's rows lie
 * side by side, and then each member finishes its own rows. */
static void sum_over_ranks(struct member *m, const struct compute_op *op)
{
    struct cpu_pass *p = m->p;
    int64_t n = (int64_t)cpu_pass_rows(p, op->src) * cpu_pass_stride(p->program, op->src);
    float *sums = cpu_pass_row(p, op->src, 0);
    enum how how = rows_of(m, op->dst);
    TOUCH(m, READS(op->src, SPLIT), WRITES(op->src, SPLIT));
    if (m->rank == 0 && !compute_group_sum(p->program->rank->group, sums, sums, n))
        atomic_store(&p->is_lost, true);
    TOUCH(m, READS(op->src, how), WRITES(op->dst, how));
    cpu_rows_sum(p, op, share_of(m, op->dst));
}

/* Hands all rows of a register on to the next rank, or takes those of the previous one. One member
 * does that, since they lie side by side. */
static void hand_over(struct member *m, const struct compute_op *op)
{
    struct cpu_pass *p = m->p;
    struct compute_group_rank *group = p->program->rank->group;
    int reg = op->kind == COMPUTE_SEND ? op->src : op->dst;
    float *rows = cpu_pass_row(p, reg, 0);
    int64_t n_bytes =
        (int64_t)cpu_pass_rows(p, reg) * cpu_pass_stride(p->program, reg) * (int64_t)sizeof(*rows);
    if (op->kind == COMPUTE_SEND)
        TOUCH(m, READS(reg, SPLIT));
    else
        TOUCH(m, WRITES(reg, SPLIT));
    if (m->rank > 0)
        return;
    bool is_well = op->kind == COMPUTE_SEND ? compute_group_send(group, rows, n_bytes)
                                            : compute_group_receive(group, rows, n_bytes);
    if (!is_well)
        atomic_store(&p->is_lost, true);
}

/* Waits until all ranks have written their parts of the cache. */
static void meet(struct member *m)
{
    struct cpu_pass *p = m->p;
    TOUCH(m, READS(CACHE, SPLIT), WRITES(CACHE, SPLIT));
    if (m->rank == 0 && !compute_group_sum(p->program->rank->group, NULL, NULL, 0))
        atomic_store(&p->is_lost, true);
}

/* Adds rows to sums: a member takes every n-th of them. */
static void add_vectors(struct member *m, const struct compute_op *op)
{
    const struct compute_pass *pass = m->p->pass;
    if (pass->n_vectors == 0)
        return;
    TOUCH(m, READS(op->src, SPLIT));
    for (int32_t i = m->rank; i < pass->n_vectors; i += m->n) {
        const struct compute_vector *vector = &pass->vectors[i];
        for (int32_t r = 0; r < vector->n; r++)
            m->p->kernels->add(cpu_pass_row(m->p, op->src, vector->first + r), vector->sum,
                               m->p->program->widths[op->src]);
    }
}

void cpu_pass_work(void *arg, int rank, int n)
{
    struct member m = { .p = arg, .rank = rank, .n = n, .prepared = -1 };
    const struct compute_program *program = m.p->program;
    bool wants_logits = compute_pass_wants_logits(m.p->pass);
    TOUCH(&m, WRITES(TABLE, BY_ROWS));
    cpu_rows_table(m.p, cpu_pass_share(m.p->pass->n_rows, rank, n));
    for (int i = 0; i < program->n_ops; i++) {
        const struct compute_op *op = &program->ops[i];
        if (op->kind == COMPUTE_VECTORS) {
            add_vectors(&m, op);
        } else if (op->kind == COMPUTE_LOGITS && !wants_logits) {
            continue;
        } else if (is_matrix(op)) {
            matmul(&m, op, i);
        } else if (op->kind == COMPUTE_SUM) {
            sum_over_ranks(&m, op);
        } else if (op->kind == COMPUTE_MEET) {
            meet(&m);
        } else if (op->kind == COMPUTE_SEND || op->kind == COMPUTE_RECEIVE) {
            hand_over(&m, op);
        } else if (op->kind == COMPUTE_ROUTE) {
            route(&m, op);
        } else if (op->kind == COMPUTE_ATTEND) {
            TOUCH(&m, READS(op->src, SPLIT), READS(CACHE, SPLIT), WRITES(op->dst, SPLIT),
                  WRITES(SHARED_TILES, SPLIT));
            cpu_attention(m.p, op, i, rank);
        } else if (op->kind == COMPUTE_HEADS) {
            TOUCH(&m, READS(op->src, SPLIT), WRITES(op->dst, SPLIT));
            cpu_heads(m.p, op, i, rank);
        } else {
            by_rows(&m, op);
        }
    }
}

/* Adds n_bytes more, from a cache line on. */
static size_t add(struct cpu_layout *layout, int64_t n_bytes)
{
    size_t at = layout->n_bytes;
    layout->n_bytes = (size_t)align_up_u64(at + (uint64_t)n_bytes, 64);
    return at;
}

/* Returns the most rows of a register. */
static int64_t rows_most(const struct compute_program *program, int reg, int32_t n_rows,
                         int32_t n_logit_rows)
{
    if (compute_has_expert_rows(program, reg))
        return cpu_experts_rows(program, n_rows);
    return program->is_logit_rows[reg] ? n_logit_rows : n_rows;
}

static void add_experts(struct cpu_layout *layout, const struct compute_program *program,
                        int32_t n_rows)
{
    int64_t n_bytes = (int64_t)n_rows * program->shapes.experts.n_used * 4;
    layout->chosen = add(layout, n_bytes);
    layout->shares = add(layout, n_bytes);
    layout->places = add(layout, n_bytes);
    layout->expert_rows = add(layout, n_bytes);
    layout->sources = add(layout, n_bytes);
    layout->order = add(layout, (int64_t)sizeof(struct cpu_experts_order));
}

void cpu_pass_layout(const struct compute_program *program, int n_members, int32_t n_rows,
                     int32_t n_logit_rows, const struct cpu_kernels *kernels,
                     struct cpu_layout *out)
{
    CHECK(program->n_registers <= CPU_REGISTERS_MAX);
    *out = (struct cpu_layout){ .n_bytes = 0 };
    int64_t quantized = 0, grouped = 0, split = 0, scratch = cpu_attention_scratch(program);
    for (int i = 0; i < program->n_registers; i++) {
        int64_t rows = rows_most(program, i, n_rows, n_logit_rows);
        int64_t stride = cpu_pass_stride(program, i);
        out->registers[i] = add(out, rows * stride * (int64_t)sizeof(float));
        scratch = max_i64(scratch, stride);
    }
    for (int i = 0; i < program->n_ops; i++) {
        const struct compute_op *op = &program->ops[i];
        if (!is_matrix(op))
            continue;
        int64_t rows = rows_most(program, op->src, n_rows, n_logit_rows);
        const struct compute_weight *weight =
            program->weights != NULL ? program->weights[op->weight] : NULL;
        int64_t n_groups = div_up_i64(rows, CPU_GROUP_ROWS);
        if (weight == NULL || kernels->is_split[weight->dtype])
            split = max_i64(split, n_groups * div_up_i64(program->widths[op->src], 32));
        if (weight != NULL && !dtype_info(weight->dtype)->is_integer)
            continue;
        quantized = max_i64(quantized, rows * cpu_pass_block_stride(program->widths[op->src]));
        grouped = max_i64(grouped, n_groups * program->widths[op->src]);
    }
    if (program->shapes.experts.n_experts > 0) {
        scratch = max_i64(scratch, CPU_PIECE);
        add_experts(out, program, n_rows);
    }
    out->blocks = add(out, quantized * (int64_t)sizeof(struct cpu_block));
    out->groups = add(out, grouped / 32 * (int64_t)kernels->group_bytes);
    out->splits = add(out, split * (int64_t)kernels->split_bytes);
    out->table = add(out, (int64_t)n_rows * program->n_ropes * program->n_rope_dims * 4);
    /* Each member's counters have lines of their own. */
    out->n_counters = (size_t)align_up_u64((uint64_t)program->n_ops, 16);
    out->counters = add(out, (int64_t)out->n_counters * 4 * n_members);
    out->shared_tiles = add(out, cpu_attention_shared(program, n_members));
    out->scratch_bytes = (size_t)align_up_u64((uint64_t)scratch * sizeof(float), 64);
    out->scratch = add(out, (int64_t)out->scratch_bytes * n_members);
    out->matmul_bytes = (size_t)align_up_u64(cpu_matmul_scratch(), 64);
    out->matmul = add(out, (int64_t)out->matmul_bytes * n_members);
}
