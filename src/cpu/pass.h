/* One pass in flight: its shared data, and the dealing of rows and items to the team's members. */
#pragma once
#include "cpu/experts.h"
#include "cpu/kernels.h"

enum { CPU_REGISTERS_MAX = 61 };

/* The places of a pass's data in the workspace: offsets in bytes, multiples of 64. */
struct cpu_layout {
    size_t registers[CPU_REGISTERS_MAX];
    size_t blocks;                 /* activations quantized for the next matmuls */
    size_t groups;                 /* the same by groups of rows, for kernels that need this */
    size_t splits;                 /* activations in parts, by groups of rows */
    size_t table;                  /* (n_rows, n_ropes, n_rope_dims): cosines, sines */
    size_t counters, n_counters;   /* (n_members, n_counters): the next item of each operation */
    size_t chosen, shares;         /* (n_rows, n_used): experts of each row, */
    size_t places;                 /* the places of its expert rows, */
    size_t order;                  /* the experts that are used, */
    size_t expert_rows, sources;   /* the places of all expert rows, and the rows they are of */
    size_t shared_tiles;           /* of attention: merged by several members */
    size_t scratch, scratch_bytes; /* per member */
    size_t matmul, matmul_bytes;   /* per member, for matrix multiplication */
    size_t n_bytes;
};

struct cpu_pass {
    const struct cpu_kernels *kernels;
    const struct compute_program *program;
    const struct compute_pass *pass; /* its ids are known, its cache's base is filled in */
    struct team *team;
    unsigned char *workspace;
    float *logits; /* (n_logit_rows, n_vocabulary) out */
    struct cpu_layout layout;
    _Atomic bool is_lost; /* another rank is gone */
};

void cpu_pass_layout(const struct compute_program *program, int n_members, int32_t n_rows,
                     int32_t n_logit_rows, const struct cpu_kernels *kernels,
                     struct cpu_layout *out);
/* Runs all operations as one member of the team. arg: struct cpu_pass. */
void cpu_pass_work(void *arg, int rank, int n);

static inline struct cpu_experts_order *cpu_pass_order(const struct cpu_pass *p)
{
    return (struct cpu_experts_order *)(void *)(p->workspace + p->layout.order);
}
/* Returns the places of all expert rows in their registers, ascending. */
static inline int32_t *cpu_pass_expert_rows(const struct cpu_pass *p)
{
    return (int32_t *)(void *)(p->workspace + p->layout.expert_rows);
}
static inline int32_t cpu_pass_rows(const struct cpu_pass *p, int reg)
{
    if (compute_has_expert_rows(p->program, reg))
        return p->pass->n_rows * p->program->shapes.experts.n_used;
    return p->program->is_logit_rows[reg] ? p->pass->n_logit_rows : p->pass->n_rows;
}
/* Returns the floats from a row to the next: an odd number of cache lines, so that adjacent rows do
 * not compete for the same places of a cache. */
static inline int32_t cpu_pass_stride(const struct compute_program *program, int reg)
{
    return ((program->widths[reg] + 15) / 16 | 1) * 16;
}
static inline float *cpu_pass_row(const struct cpu_pass *p, int reg, int32_t row)
{
    float *first = (float *)(void *)(p->workspace + p->layout.registers[reg]);
    return first + (int64_t)row * cpu_pass_stride(p->program, reg);
}
/* Returns the place of the i-th row of a register. */
static inline int32_t cpu_pass_place(const struct cpu_pass *p, int reg, int32_t i)
{
    return compute_has_expert_rows(p->program, reg) ? cpu_pass_expert_rows(p)[i] : i;
}
static inline const struct compute_weight *cpu_pass_weight(const struct cpu_pass *p, int32_t index)
{
    return index < 0 ? NULL : p->program->weights[index];
}
static inline float *cpu_pass_scratch(const struct cpu_pass *p, int rank)
{
    return (float *)(void *)(p->workspace + p->layout.scratch +
                             (size_t)rank * p->layout.scratch_bytes);
}
/* Returns the blocks from a row of `width` to the next, a cache line each: also an odd number. */
static inline int64_t cpu_pass_block_stride(int32_t width)
{
    return width / 32 | 1;
}
/* Returns the place of the quantized `row` of a register of `width`. */
static inline struct cpu_block *cpu_pass_blocks(const struct cpu_pass *p, int32_t width,
                                                int32_t row)
{
    struct cpu_block *first = (struct cpu_block *)(void *)(p->workspace + p->layout.blocks);
    return first + row * cpu_pass_block_stride(width);
}
/* Returns the first block of the group that holds `row`. */
static inline unsigned char *cpu_pass_groups(const struct cpu_pass *p, int32_t width, int32_t row)
{
    return p->workspace + p->layout.groups +
           (size_t)(row / CPU_GROUP_ROWS) * (size_t)(width / 32) * p->kernels->group_bytes;
}
/* Returns the same for split rows. */
static inline unsigned char *cpu_pass_splits(const struct cpu_pass *p, int32_t width, int32_t row)
{
    return p->workspace + p->layout.splits +
           (size_t)(row / CPU_GROUP_ROWS) * (((size_t)width + 31) / 32) * p->kernels->split_bytes;
}
/* Returns how many items of a part were taken before. */
static inline int32_t cpu_pass_next(const struct cpu_pass *p, int op_index, int part)
{
    _Atomic int32_t *counters = (_Atomic int32_t *)(void *)(p->workspace + p->layout.counters);
    size_t at = (size_t)part * p->layout.n_counters + (size_t)op_index;
    return atomic_fetch_add_explicit(&counters[at], 1, memory_order_relaxed);
}

/* A member's share of n rows: the same for every operation on them, so that row-by-row operations
 * follow each other without waiting. */
struct cpu_share {
    int32_t from, to;
};
static inline struct cpu_share cpu_pass_share(int32_t n, int rank, int n_members)
{
    int64_t from = div_up_i64((int64_t)n * rank, n_members);
    int64_t to = div_up_i64((int64_t)n * (rank + 1), n_members);
    return (struct cpu_share){ (int32_t)from, (int32_t)to };
}

/* Items of an operation are dealt like rows. A member that has finished its own items helps the
 * others. A part's items are taken upwards, so that prefetched data is what comes next. The last
 * items of a part may be taken in pieces, so that the wait for them is shorter. */
struct cpu_taker {
    int32_t n_items, n_pieces; /* of a part's last item, 0 or 1: none */
    int part, n_parts, n_done;
    int32_t end;         /* the end of the part that the last item belongs to */
    int32_t piece, n_of; /* the taken piece, and the number of pieces */
};
/* Returns the next item that no member has taken yet; negative: none is left. */
static inline int32_t cpu_pass_take(const struct cpu_pass *p, int op_index, struct cpu_taker *taker)
{
    for (; taker->n_done < taker->n_parts; taker->n_done++) {
        int part = (taker->part + taker->n_done) % taker->n_parts;
        struct cpu_share share = cpu_pass_share(taker->n_items, part, taker->n_parts);
        int32_t item = share.from + cpu_pass_next(p, op_index, part), last = share.to - 1;
        int32_t n_pieces = max_i32(taker->n_pieces, 1);
        taker->end = share.to;
        taker->piece = max_i32(item - last, 0);
        taker->n_of = item < last ? 1 : n_pieces;
        if (item < last + n_pieces && share.from <= last)
            return min_i32(item, last);
    }
    return -1;
}

/* The form in which a matrix needs the rows that it multiplies. */
enum cpu_rows_as {
    CPU_ROWS_FLOATS,
    CPU_ROWS_BLOCKS,
    CPU_ROWS_GROUPS, /* and blocks */
    CPU_ROWS_SPLIT,
};

/* The handling of a computed row. It is converted to the form that the next matrices need while it
 * is in a cache. It is written to its register only when an operation reads it there, else to the
 * scratch of a row. */
struct cpu_result {
    enum cpu_rows_as as;
    bool is_kept;
    float *scratch;
};

/* rows.c: operations on rows [share.from, share.to). */
void cpu_rows_table(const struct cpu_pass *p, struct cpu_share share);
void cpu_rows_embed(const struct cpu_pass *p, const struct compute_op *op, struct cpu_share share,
                    float *scratch);
void cpu_rows_norm(const struct cpu_pass *p, const struct compute_op *op, struct cpu_share share,
                   struct cpu_result result);
void cpu_rows_head_norm(const struct cpu_pass *p, const struct compute_op *op,
                        struct cpu_share share);
void cpu_rows_gate(const struct cpu_pass *p, const struct compute_op *op, struct cpu_share share,
                   struct cpu_result result);
void cpu_rows_spread(const struct cpu_pass *p, const struct compute_op *op, struct cpu_share share,
                     struct cpu_result result);
void cpu_rows_rope(const struct cpu_pass *p, const struct compute_op *op, struct cpu_share share);
void cpu_rows_kv_store(const struct cpu_pass *p, const struct compute_op *op,
                       struct cpu_share share, float *scratch);
void cpu_rows_sum(const struct cpu_pass *p, const struct compute_op *op, struct cpu_share share);
void cpu_rows_take(const struct cpu_pass *p, const struct compute_op *op, struct cpu_share share);
void cpu_rows_prepare(const struct cpu_pass *p, int reg, enum cpu_rows_as as,
                      struct cpu_share share);

/* matmul.c, heads.c and attention.c: idle members take items one by one. */
void cpu_matmul(const struct cpu_pass *p, const struct compute_op *op, int op_index, int rank);
size_t cpu_matmul_scratch(void); /* bytes for each member */
enum cpu_rows_as cpu_matmul_wants(const struct cpu_pass *p, const struct compute_op *op);
void cpu_heads(const struct cpu_pass *p, const struct compute_op *op, int op_index, int rank);
void cpu_attention(const struct cpu_pass *p, const struct compute_op *op, int op_index, int rank);
/* Returns the floats of scratch that a member needs for attention. */
int64_t cpu_attention_scratch(const struct compute_program *program);
/* Return the bytes of the tiles that members share, and prepare these before a pass. */
int64_t cpu_attention_shared(const struct compute_program *program, int n_members);
void cpu_attention_reset(const struct cpu_pass *p);
