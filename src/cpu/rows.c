/* Operations that go row by row: embedding, norms, rotation, gates, the store into the cache. */
#include "cpu/pass.h"

#include "compute/quant.h"
#include "compute/vmath.h"
#include <string.h>

/* Returns the cosines of a row in one of the program's ropes. The same number of sines stand behind
 * them. */
static float *angles_at(const struct cpu_pass *p, int32_t row, int32_t rope)
{
    float *table = (float *)(void *)(p->workspace + p->layout.table);
    return table + ((int64_t)row * p->program->n_ropes + rope) * p->program->n_rope_dims;
}

static void fill_angles(const struct compute_rope *rope, int32_t position, int32_t half,
                        float *angles)
{
    for (int32_t i = 0; i < half; i++) {
        float angle = (float)position * rope->inverse_frequencies[i];
        vmath_sincos((double)angle, &angles[half + i], &angles[i]);
        angles[half + i] *= rope->scale;
        angles[i] *= rope->scale;
    }
}

void cpu_rows_table(const struct cpu_pass *p, struct cpu_share share)
{
    int32_t half = p->program->n_rope_dims / 2;
    for (int32_t row = share.from; row < share.to; row++)
        for (int32_t rope = 0; rope < p->program->n_ropes; rope++)
            fill_angles(&p->program->ropes[rope], p->pass->positions[row], half,
                        angles_at(p, row, rope));
}

void cpu_rows_embed(const struct cpu_pass *p, const struct compute_op *op, struct cpu_share share,
                    float *scratch)
{
    const struct compute_weight *tokens = cpu_pass_weight(p, op->weight);
    const struct compute_weight *positions = cpu_pass_weight(p, op->weight2);
    for (int32_t row = share.from; row < share.to; row++) {
        float *out = cpu_pass_row(p, op->dst, row);
        cpu_pack_row(tokens, p->pass->ids[row], out);
        for (int32_t i = 0; i < tokens->n_columns; i++)
            out[i] *= op->scale;
        if (positions == NULL)
            continue;
        cpu_pack_row(positions, p->pass->positions[row] + op->n, scratch);
        p->kernels->add(scratch, out, tokens->n_columns);
    }
}

static struct cpu_norm norm_of(const struct cpu_pass *p, const struct compute_op *op)
{
    const struct compute_weight *weight = cpu_pass_weight(p, op->weight);
    const struct compute_weight *bias = cpu_pass_weight(p, op->bias);
    return (struct cpu_norm){ .weight = weight->vector,
                              .bias = bias != NULL ? bias->vector : NULL,
                              .n = weight->n_columns,
                              .epsilon = op->scale,
                              .is_layer = op->flags & COMPUTE_NORM_LAYER };
}

/* Converts columns [first, first + n) of a row to the form that matrices need. first is a multiple
 * of 32. */
static void prepare(const struct cpu_pass *p, int reg, int32_t row, enum cpu_rows_as as,
                    const float *x, int32_t first, int32_t n)
{
    int32_t width = p->program->widths[reg];
    if (as == CPU_ROWS_SPLIT)
        p->kernels->split(x, n, row % CPU_GROUP_ROWS,
                          cpu_pass_splits(p, width, row) +
                              (size_t)(first / 32) * p->kernels->split_bytes);
    if (as != CPU_ROWS_BLOCKS && as != CPU_ROWS_GROUPS)
        return;
    struct cpu_block *blocks = cpu_pass_blocks(p, width, row);
    p->kernels->quantize(x, n, blocks + first / 32);
    if (as == CPU_ROWS_GROUPS && first + n == width)
        p->kernels->group(blocks, width / 32, row % CPU_GROUP_ROWS, cpu_pass_groups(p, width, row));
}

/* Rows that matrices wrote are in another core's cache, or in none. So a row's lines are prefetched
 * while the row before it is computed, into the second-level cache, which can have more misses in
 * flight. */
static void fetch(const float *x, int32_t n)
{
    for (int32_t i = 0; i < n; i += 16)
        __builtin_prefetch(x + i, 0, 2);
}

void cpu_rows_norm(const struct cpu_pass *p, const struct compute_op *op, struct cpu_share share,
                   struct cpu_result result)
{
    struct cpu_norm norm = norm_of(p, op);
    bool adds = op->flags & COMPUTE_ADD_TO;
    for (int32_t row = share.from; row < share.to; row++) {
        float *out = result.is_kept && !adds ? cpu_pass_row(p, op->dst, row) : result.scratch;
        if (row + 1 < share.to)
            fetch(cpu_pass_row(p, op->src, row + 1), norm.n);
        p->kernels->norm(&norm, cpu_pass_row(p, op->src, row), out);
        if (adds) {
            out = cpu_pass_row(p, op->dst, row);
            p->kernels->add(result.scratch, out, norm.n);
        }
        prepare(p, op->dst, row, result.as, out, 0, norm.n);
    }
}

void cpu_rows_head_norm(const struct cpu_pass *p, const struct compute_op *op,
                        struct cpu_share share)
{
    struct cpu_norm norm = norm_of(p, op);
    norm.bias = NULL;
    norm.is_layer = false;
    norm.n = p->program->head_dim;
    for (int32_t row = share.from; row < share.to; row++) {
        float *x = cpu_pass_row(p, op->dst, row);
        for (int32_t head = 0; head < op->n; head++, x += norm.n)
            p->kernels->norm(&norm, x, x);
    }
}

void cpu_rows_gate(const struct cpu_pass *p, const struct compute_op *op, struct cpu_share share,
                   struct cpu_result result)
{
    enum { PART = 256 };
    int32_t width = p->program->widths[op->dst];
    CHECK(op->dst != op->src2);
    for (int32_t nth = share.from; nth < share.to; nth++) {
        int32_t row = cpu_pass_place(p, op->dst, nth);
        int32_t next = nth + 1 < share.to ? cpu_pass_place(p, op->dst, nth + 1) : -1;
        for (int32_t i = 0; i < width; i += PART) {
            int32_t n = min_i32(PART, width - i);
            const float *x = cpu_pass_row(p, op->src, row) + i;
            const float *by = cpu_pass_row(p, op->src2, row) + i;
            float *out = result.is_kept ? cpu_pass_row(p, op->dst, row) + i : result.scratch;
            if (next >= 0) {
                fetch(cpu_pass_row(p, op->src, next) + i, n);
                fetch(cpu_pass_row(p, op->src2, next) + i, n);
            }
            if (out != x)
                memcpy(out, x, (size_t)n * sizeof(float));
            if (op->act == ACT_SWIGLU_CLAMPED) {
                p->kernels->swiglu_clamped(by, op->cap, out, n);
            } else {
                p->kernels->act(op->act, out, n);
                p->kernels->multiply(by, out, n);
            }
            prepare(p, op->dst, row, result.as, out, i, n);
        }
    }
}

void cpu_rows_spread(const struct cpu_pass *p, const struct compute_op *op, struct cpu_share share,
                     struct cpu_result result)
{
    int32_t width = p->program->widths[op->dst];
    const int32_t *sources = (const int32_t *)(const void *)(p->workspace + p->layout.sources);
    for (int32_t i = share.from; i < share.to; i++) {
        int32_t row = cpu_pass_place(p, op->dst, i);
        const float *x = cpu_pass_row(p, op->src, sources[i]);
        if (result.is_kept)
            memcpy(cpu_pass_row(p, op->dst, row), x, (size_t)width * sizeof(float));
        prepare(p, op->dst, row, result.as, x, 0, width);
    }
}

void cpu_rows_rope(const struct cpu_pass *p, const struct compute_op *op, struct cpu_share share)
{
    int32_t half = p->program->n_rope_dims / 2;
    for (int32_t row = share.from; row < share.to; row++) {
        float *x = cpu_pass_row(p, op->dst, row);
        const float *angles = angles_at(p, row, op->rope);
        for (int32_t head = 0; head < op->n; head++, x += p->program->head_dim) {
            if (op->flags & COMPUTE_ROPE_PAIRS)
                p->kernels->rotate_pairs(x, angles, half);
            else
                p->kernels->rotate_halves(x, angles, half);
        }
    }
}

/* Stores row t of a head's part of a block that begins at `to`, with its scales. */
static void store_q8_0(const struct cpu_pass *p, const float *x, unsigned char *to, size_t t)
{
    size_t n = (size_t)p->pass->kv.block_tokens, head_dim = (size_t)p->pass->kv.head_dim;
    for (size_t d = 0; d < head_dim; d += 32) {
        struct cpu_block block;
        uint16_t scale;
        p->kernels->quantize(x + d, 32, &block);
        p->kernels->to_half(&block.scale, 1, &scale);
        scale = quant_cache_scale(scale);
        memcpy(to + t * head_dim + d, block.q, 32);
        memcpy(to + n * head_dim + 2 * (d / 32 * n + t), &scale, 2);
    }
}

/* Returns the keys (part 0) or values (1) of a row. A latent key's two parts are put into
 * scratch. */
static const float *row_to_store(const struct cpu_pass *p, const struct compute_op *op, int32_t row,
                                 int part, float *scratch)
{
    const float *x = cpu_pass_row(p, part == 0 ? op->src : op->src2, row);
    if (!p->pass->kv.has_keys_only)
        return x;
    size_t n = (size_t)p->program->widths[op->src], n_rest = (size_t)p->program->widths[op->src2];
    memcpy(scratch, x, n * sizeof(float));
    memcpy(scratch + n, cpu_pass_row(p, op->src2, row), n_rest * sizeof(float));
    return scratch;
}

struct stored { /* one row of keys or values */
    int32_t r;  /* of the sequence */
    int part;
    const float *x;
};

/* Stores a row at its heads' places in the block. */
static void store_row(const struct cpu_pass *p, const struct compute_op *op,
                      const struct compute_sequence *sequence, struct stored row)
{
    const struct compute_kv *kv = &p->pass->kv;
    const float *x = row.x;
    int32_t r = row.r;
    int part = row.part;
    int32_t position = sequence->n_before + r;
    size_t t = (size_t)(position % kv->block_tokens), at = t * (size_t)kv->head_dim;
    for (int32_t head = 0; head < p->program->n_kv_heads; head++, x += kv->head_dim) {
        unsigned char *to =
            compute_kv_rows(kv, sequence, position / kv->block_tokens, op->layer, part, head);
        if (kv->dtype == DTYPE_F32)
            memcpy(to + at * 4, x, (size_t)kv->head_dim * 4);
        else if (kv->dtype == DTYPE_Q8_0)
            store_q8_0(p, x, to, t);
        else
            p->kernels->to_half(x, kv->head_dim, (uint16_t *)(void *)(to + at * 2));
    }
}

void cpu_rows_kv_store(const struct cpu_pass *p, const struct compute_op *op,
                       struct cpu_share share, float *scratch)
{
    int n_parts = p->pass->kv.has_keys_only ? 1 : 2;
    for (int32_t i = 0; i < p->pass->n_sequences; i++) {
        const struct compute_sequence *sequence = &p->pass->sequences[i];
        int32_t from = max_i32(share.from - sequence->first_row, 0);
        int32_t to = min_i32(share.to - sequence->first_row, sequence->n_rows);
        for (int32_t r = from; r < to; r++)
            for (int part = 0; part < n_parts; part++) {
                const float *x = row_to_store(p, op, sequence->first_row + r, part, scratch);
                store_row(p, op, sequence, (struct stored){ r, part, x });
            }
    }
}

/* Finishes rows whose sums over the ranks are known. It overwrites these. */
void cpu_rows_sum(const struct cpu_pass *p, const struct compute_op *op, struct cpu_share share)
{
    const struct compute_weight *bias = cpu_pass_weight(p, op->bias);
    int32_t width = p->program->widths[op->src];
    for (int32_t row = share.from; row < share.to; row++) {
        float *sums = cpu_pass_row(p, op->src, row), *out = cpu_pass_row(p, op->dst, row);
        if (bias != NULL)
            p->kernels->add(bias->vector, sums, width);
        if (op->flags & COMPUTE_HAS_ACT)
            p->kernels->act(op->act, sums, width);
        if (op->flags & COMPUTE_ADD_TO)
            p->kernels->add(sums, out, width);
        else
            memcpy(out, sums, (size_t)width * sizeof(float));
    }
}

void cpu_rows_take(const struct cpu_pass *p, const struct compute_op *op, struct cpu_share share)
{
    for (int32_t i = share.from; i < share.to; i++)
        memcpy(cpu_pass_row(p, op->dst, i), cpu_pass_row(p, op->src, p->pass->logit_rows[i]),
               (size_t)p->program->widths[op->dst] * sizeof(float));
}

void cpu_rows_prepare(const struct cpu_pass *p, int reg, enum cpu_rows_as as,
                      struct cpu_share share)
{
    for (int32_t i = share.from; i < share.to; i++) {
        int32_t row = cpu_pass_place(p, reg, i);
        prepare(p, reg, row, as, cpu_pass_row(p, reg, row), 0, p->program->widths[reg]);
    }
}
