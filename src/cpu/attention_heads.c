/* Attention over a head-wise cache (MuxServe's layout): the keys and values of one head of one
 * layer lie in units of their own, which a row of the request's table names.
 *
 * The arithmetic is that of attention.c, so the bits are. A tile is a few rows of one sequence
 * times the query heads of one KV head; its row of the table is looked up once. Each piece of 256
 * positions is walked unit by unit, first all keys, then all values. */
#include "cpu/pass.h"

#include "compute/vmath.h"
#include <string.h>

enum { AHEAD = 2 }; /* units: what is read that much later is fetched */

struct work { /* on one tile */
    const struct cpu_pass *p;
    const struct compute_op *op;
    const struct compute_sequence *sequence;
    const uint32_t *units; /* of this layer and KV head, in order of position */
    int32_t first_head, n_heads, first_row, n_rows, stride;
    int32_t first[CPU_QUERIES], last[CPU_QUERIES]; /* per row: positions that it sees */
    float max[CPU_QUERIES], sum[CPU_QUERIES];      /* per query: row * n_heads + head */
    float *queries, *out, *piece_out, *probabilities, *scratch;
};

static int32_t stride_of(const struct compute_program *program)
{
    return (program->head_dim + 15) & ~15;
}

int64_t cpu_attention_heads_scratch(const struct compute_program *program)
{
    return (3 * CPU_QUERIES + CPU_RUN_ROWS) * (int64_t)stride_of(program) + CPU_QUERIES * CPU_PIECE;
}

/* The kernel on positions [from, to] of rows [a, b]: the scores of keys, or the sum of values. */
static void walk(struct work *w, bool is_keys, int32_t from, int32_t to, int32_t a, int32_t b)
{
    const struct compute_kv *kv = &w->p->pass->kv;
    size_t row_bytes = (size_t)kv->head_dim * (kv->dtype == DTYPE_F32 ? 4 : 2);
    size_t values = is_keys ? 0 : (size_t)kv->block_tokens * row_bytes;
    int32_t query = a * w->n_heads;
    for (int32_t t = from; t <= to;) {
        int32_t in_unit = t % kv->block_tokens;
        struct cpu_run run = { .is_half = kv->dtype == DTYPE_F16,
                               .n = min_i32(kv->block_tokens - in_unit, to - t + 1),
                               .head_dim = kv->head_dim,
                               .stride = w->stride,
                               .n_queries = (b - a + 1) * w->n_heads,
                               .scratch = w->scratch };
        run.rows = kv->base + w->units[t / kv->block_tokens] * kv->unit_bytes + values +
                   (size_t)in_unit * row_bytes;
        int32_t later = min_i32(t / kv->block_tokens + AHEAD, to / kv->block_tokens);
        run.ahead = kv->base + w->units[later] * kv->unit_bytes + values;
        run.probabilities = w->probabilities + query * CPU_PIECE + t % CPU_PIECE;
        if (is_keys)
            w->p->kernels->scores(&run, w->queries + query * w->stride, w->op->scale);
        else
            w->p->kernels->mix(&run, w->piece_out + query * w->stride);
        t += run.n;
    }
}

/* Values of a piece, for each row upwards: what all of rows [a, b] see at once, what lies below and
 * above it row by row. */
static void sum_values(struct work *w, int32_t base, int32_t a, int32_t b)
{
    int32_t end = base + CPU_PIECE - 1;
    int32_t from = max_i32(w->first[b], base), to = min_i32(w->last[a], end);
    bool is_common = from <= to; /* else a window is narrower than the tile */
    for (int32_t r = a; r <= b; r++) {
        int32_t last = min_i32(w->last[r], end);
        walk(w, false, max_i32(w->first[r], base), is_common ? min_i32(from - 1, last) : last, r,
             r);
    }
    if (!is_common)
        return;
    walk(w, false, from, to, a, b);
    for (int32_t r = a; r <= b; r++)
        walk(w, false, to + 1, min_i32(w->last[r], end), r, r);
}

/* The piece's part of query i joins what came before it. */
static void merge(struct work *w, int32_t i, bool is_first, float max, float sum)
{
    float *o = w->out + i * w->stride, *o2 = w->piece_out + i * w->stride;
    if (is_first) {
        memcpy(o, o2, (size_t)w->stride * sizeof(float));
        w->max[i] = max;
        w->sum[i] = sum;
        return;
    }
    float top = w->max[i] > max ? w->max[i] : max;
    float x = vmath_exp(w->max[i] - top), y = vmath_exp(max - top);
    w->p->kernels->merge(o, o2, x, y, w->stride);
    w->sum[i] = vmath_fma(sum, y, w->sum[i] * x);
    w->max[i] = top;
}

static void attend_piece(struct work *w, int32_t base)
{
    int32_t end = base + CPU_PIECE - 1, a = w->n_rows, b = -1; /* rows that see some of it */
    float max[CPU_QUERIES], sum[CPU_QUERIES];
    for (int32_t r = 0; r < w->n_rows; r++)
        if (w->first[r] <= end && w->last[r] >= base) {
            a = min_i32(a, r);
            b = r;
        }
    if (b < 0)
        return;
    walk(w, true, max_i32(w->first[a], base), min_i32(w->last[b], end), a, b);
    for (int32_t i = a * w->n_heads; i < (b + 1) * w->n_heads; i++) {
        int32_t r = i / w->n_heads;
        sum[i] = w->p->kernels->softmax(w->probabilities + i * CPU_PIECE,
                                        max_i32(w->first[r], base) - base,
                                        min_i32(w->last[r], end) - base, &max[i]);
    }
    memset(w->piece_out + a * w->n_heads * w->stride, 0,
           (size_t)((b - a + 1) * w->n_heads * w->stride) * sizeof(float));
    sum_values(w, base, a, b);
    for (int32_t i = a * w->n_heads; i < (b + 1) * w->n_heads; i++)
        merge(w, i, w->first[i / w->n_heads] >= base, max[i], sum[i]);
}

static float *head_of(const struct work *w, int reg, int32_t i)
{
    int32_t row = w->sequence->first_row + w->first_row + i / w->n_heads;
    return cpu_pass_row(w->p, reg, row) +
           (int64_t)(w->first_head + i % w->n_heads) * w->p->program->head_dim;
}

static void attend_tile(struct work *w)
{
    const struct compute_program *program = w->p->program;
    int32_t n_queries = w->n_rows * w->n_heads;
    for (int32_t r = 0; r < w->n_rows; r++) {
        w->last[r] = w->sequence->n_before + w->first_row + r;
        w->first[r] = program->window > 0 ? max_i32(0, w->last[r] - program->window + 1) : 0;
    }
    for (int32_t i = 0; i < n_queries; i++) {
        float *query = w->queries + i * w->stride;
        memset(query, 0, (size_t)w->stride * sizeof(float));
        memcpy(query, head_of(w, w->op->src, i), (size_t)program->head_dim * sizeof(float));
    }
    int32_t last = w->last[w->n_rows - 1] / CPU_PIECE;
    for (int32_t piece = w->first[0] / CPU_PIECE; piece <= last; piece++)
        attend_piece(w, piece * CPU_PIECE);
    for (int32_t i = 0; i < n_queries; i++) {
        float inverse = 1.0f / w->sum[i], *out = head_of(w, w->op->dst, i);
        for (int32_t d = 0; d < program->head_dim; d++)
            out[d] = w->out[i * w->stride + d] * inverse;
    }
}

void cpu_attention_heads(const struct cpu_pass *p, const struct compute_op *op, int op_index,
                         int rank)
{
    const struct compute_program *program = p->program;
    int32_t group = program->n_heads / program->n_kv_heads;
    int32_t heads = min_i32(group, CPU_QUERIES), n_parts = (group + heads - 1) / heads;
    int32_t rows = CPU_QUERIES / heads, item = cpu_pass_next(p, op_index), first_item = 0;
    struct work w = { .p = p, .op = op, .stride = stride_of(program) };
    w.queries = cpu_pass_scratch(p, rank);
    w.out = w.queries + CPU_QUERIES * w.stride;
    w.piece_out = w.out + CPU_QUERIES * w.stride;
    w.scratch = w.piece_out + CPU_QUERIES * w.stride;
    w.probabilities = w.scratch + CPU_RUN_ROWS * w.stride;
    for (int32_t i = 0; i < p->pass->n_sequences; i++) {
        w.sequence = &p->pass->sequences[i];
        int32_t n_tiles = (w.sequence->n_rows + rows - 1) / rows;
        int32_t n_items = program->n_kv_heads * n_parts * n_tiles;
        for (; item < first_item + n_items; item = cpu_pass_next(p, op_index)) {
            int32_t tile = (item - first_item) % n_tiles, part = (item - first_item) / n_tiles;
            int32_t kv_head = part / n_parts, from = part % n_parts * heads;
            w.units = w.sequence->blocks +
                      ((size_t)op->layer * (size_t)program->n_kv_heads + (size_t)kv_head) *
                          w.sequence->stride;
            w.first_head = kv_head * group + from;
            w.n_heads = min_i32(heads, group - from);
            w.first_row = tile * rows;
            w.n_rows = min_i32(rows, w.sequence->n_rows - w.first_row);
            attend_tile(&w);
        }
        first_item += n_items;
    }
}
