/* Attention over the paged cache, in place: tiles of up to 16 queries share each read of keys and
 * values.
 *
 * A tile is a few rows of one sequence times the query heads of one KV head. It walks pieces at
 * absolute multiples of 256 positions; each piece is computed from scratch and merged upwards, so
 * that a row's result does not depend on the tile it is in. What a row may not see is left out, not
 * multiplied by 0: it may be NaN. */
#include "cpu/pass.h"

#include "compute/vmath.h"
#include <string.h>

struct tile {
    const struct compute_sequence *sequence;
    int32_t kv_head, first_head, n_heads; /* query heads */
    int32_t first_row, n_rows;            /* of the sequence's rows */
};

struct work { /* on one tile */
    const struct cpu_pass *p;
    const struct compute_op *op;
    struct tile tile;
    int32_t stride;                                /* floats per query */
    int32_t first[CPU_QUERIES], last[CPU_QUERIES]; /* per row: positions that it sees */
    float max[CPU_QUERIES], sum[CPU_QUERIES];      /* per query; query = row * n_heads + head */
    float piece_max[CPU_QUERIES], piece_sum[CPU_QUERIES];
    bool has_started[CPU_QUERIES]; /* per row */
    float *queries, *out, *piece_out, *probabilities, *scratch;
};

static int32_t stride_of(const struct compute_program *program)
{
    return (program->head_dim + 15) & ~15;
}

int64_t cpu_attention_scratch(const struct compute_program *program)
{
    return (3 * CPU_QUERIES + CPU_RUN_ROWS) * (int64_t)stride_of(program) + CPU_QUERIES * CPU_PIECE;
}

enum part { KEYS, VALUES };

/* Where the row of a position lies. */
static const unsigned char *row_at(const struct work *w, enum part part, int32_t t)
{
    const struct compute_kv *kv = &w->p->pass->kv;
    size_t row_bytes = (size_t)kv->head_dim * (kv->dtype == DTYPE_F32 ? 4 : 2);
    const unsigned char *block =
        compute_kv_block(kv, w->tile.sequence->blocks[t / kv->block_tokens]);
    return block + compute_kv_offset(kv, w->op->layer, (int)part, w->tile.kv_head) +
           (size_t)(t % kv->block_tokens) * row_bytes;
}

enum { AHEAD = 32 }; /* positions: what is read that much later is fetched */

/* What follows position t of [from, to] by AHEAD: behind the keys of a piece come its values,
 * behind these the keys of the next piece. */
static const unsigned char *ahead_of(const struct work *w, enum part part, int32_t from, int32_t to,
                                     int32_t t)
{
    int32_t then = t + AHEAD, last = w->last[w->tile.n_rows - 1];
    if (then <= to)
        return row_at(w, part, then);
    if (part == KEYS)
        return row_at(w, VALUES, min_i32(from + then - to - 1, to));
    return row_at(w, KEYS, min_i32(then, last));
}

/* Calls the kernel on every run of positions [from, to] that lie side by side, for n queries from
 * `query` on. */
static void for_runs(struct work *w, enum part part, int32_t from, int32_t to, int32_t query,
                     int32_t n)
{
    const struct compute_kv *kv = &w->p->pass->kv;
    const struct cpu_kernels *kernels = w->p->kernels;
    for (int32_t t = from; t <= to;) {
        int32_t in_block = t % kv->block_tokens;
        struct cpu_run run = { .is_half = kv->dtype == DTYPE_F16,
                               .n = min_i32(kv->block_tokens - in_block, to - t + 1),
                               .head_dim = kv->head_dim,
                               .stride = w->stride,
                               .n_queries = n,
                               .scratch = w->scratch };
        run.rows = row_at(w, part, t);
        run.ahead = ahead_of(w, part, from, to, t);
        run.probabilities = w->probabilities + query * CPU_PIECE + t % CPU_PIECE;
        if (part == KEYS)
            kernels->scores(&run, w->queries + query * w->stride, w->op->scale);
        else
            kernels->mix(&run, w->piece_out + query * w->stride);
        t += run.n;
    }
}

/* Values of a piece: first what single rows see below the common range, then the range that all of
 * rows [a, b] see, then the rest: for each row positions go upwards. */
static void mix_piece(struct work *w, int32_t base, int32_t a, int32_t b)
{
    int32_t heads = w->tile.n_heads, end = base + CPU_PIECE - 1;
    int32_t from = max_i32(w->first[b], base), to = min_i32(w->last[a], end);
    if (from > to) { /* a window narrower than the tile: nothing in common */
        for (int32_t r = a; r <= b; r++)
            for_runs(w, VALUES, max_i32(w->first[r], base), min_i32(w->last[r], end), r * heads,
                     heads);
        return;
    }
    for (int32_t r = a; r < b; r++)
        for_runs(w, VALUES, max_i32(w->first[r], base), from - 1, r * heads, heads);
    for_runs(w, VALUES, from, to, a * heads, (b - a + 1) * heads);
    for (int32_t r = a + 1; r <= b; r++)
        for_runs(w, VALUES, to + 1, min_i32(w->last[r], end), r * heads, heads);
}

static void merge_row(struct work *w, int32_t r)
{
    for (int32_t i = r * w->tile.n_heads; i < (r + 1) * w->tile.n_heads; i++) {
        float *o = w->out + i * w->stride, *o2 = w->piece_out + i * w->stride;
        if (!w->has_started[r]) {
            memcpy(o, o2, (size_t)w->stride * sizeof(float));
            w->max[i] = w->piece_max[i];
            w->sum[i] = w->piece_sum[i];
            continue;
        }
        float top = w->max[i] > w->piece_max[i] ? w->max[i] : w->piece_max[i];
        float a = vmath_exp(w->max[i] - top), b = vmath_exp(w->piece_max[i] - top);
        w->p->kernels->merge(o, o2, a, b, w->stride);
        w->sum[i] = vmath_fma(w->piece_sum[i], b, w->sum[i] * a);
        w->max[i] = top;
    }
    w->has_started[r] = true;
}

static void attend_piece(struct work *w, int32_t base)
{
    int32_t heads = w->tile.n_heads, n_rows = w->tile.n_rows, end = base + CPU_PIECE - 1;
    int32_t a = n_rows, b = -1; /* rows that see something of this piece */
    for (int32_t r = 0; r < n_rows; r++)
        if (w->first[r] <= end && w->last[r] >= base) {
            a = min_i32(a, r);
            b = r;
        }
    if (b < 0)
        return;
    for_runs(w, KEYS, max_i32(w->first[a], base), min_i32(w->last[b], end), a * heads,
             (b - a + 1) * heads);
    for (int32_t r = a; r <= b; r++)
        for (int32_t i = r * heads; i < (r + 1) * heads; i++)
            w->piece_sum[i] = w->p->kernels->softmax(
                w->probabilities + i * CPU_PIECE, max_i32(w->first[r], base) - base,
                min_i32(w->last[r], end) - base, &w->piece_max[i]);
    memset(w->piece_out + a * heads * w->stride, 0,
           (size_t)((b - a + 1) * heads * w->stride) * sizeof(float));
    mix_piece(w, base, a, b);
    for (int32_t r = a; r <= b; r++)
        merge_row(w, r);
}

static float *head_of(const struct work *w, int reg, int32_t r, int32_t head)
{
    int32_t row = w->tile.sequence->first_row + w->tile.first_row + r;
    return cpu_pass_row(w->p, reg, row) +
           (int64_t)(w->tile.first_head + head) * w->p->program->head_dim;
}

static void attend_tile(struct work *w)
{
    const struct compute_program *program = w->p->program;
    const struct tile *tile = &w->tile;
    size_t head_bytes = (size_t)program->head_dim * sizeof(float);
    for (int32_t r = 0; r < tile->n_rows; r++) {
        w->last[r] = tile->sequence->n_before + tile->first_row + r;
        w->first[r] = program->window > 0 ? max_i32(0, w->last[r] - program->window + 1) : 0;
        w->has_started[r] = false;
        for (int32_t head = 0; head < tile->n_heads; head++) {
            float *query = w->queries + (r * tile->n_heads + head) * w->stride;
            memset(query, 0, (size_t)w->stride * sizeof(float));
            memcpy(query, head_of(w, w->op->src, r, head), head_bytes);
        }
    }
    int32_t first_piece = w->first[0] / CPU_PIECE;
    for (int32_t piece = first_piece; piece <= w->last[tile->n_rows - 1] / CPU_PIECE; piece++)
        attend_piece(w, piece * CPU_PIECE);
    for (int32_t r = 0; r < tile->n_rows; r++)
        for (int32_t head = 0; head < tile->n_heads; head++) {
            int32_t i = r * tile->n_heads + head;
            float inverse = 1.0f / w->sum[i], *out = head_of(w, w->op->dst, r, head);
            for (int32_t d = 0; d < program->head_dim; d++)
                out[d] = w->out[i * w->stride + d] * inverse;
        }
}

void cpu_attention(const struct cpu_pass *p, const struct compute_op *op, int op_index, int rank)
{
    const struct compute_program *program = p->program;
    int32_t group = program->n_heads / program->n_kv_heads;
    int32_t heads = min_i32(group, CPU_QUERIES), n_parts = (group + heads - 1) / heads;
    int32_t rows = CPU_QUERIES / heads;
    struct work w = { .p = p, .op = op, .stride = stride_of(program) };
    w.queries = cpu_pass_scratch(p, rank);
    w.out = w.queries + CPU_QUERIES * w.stride;
    w.piece_out = w.out + CPU_QUERIES * w.stride;
    w.scratch = w.piece_out + CPU_QUERIES * w.stride;
    w.probabilities = w.scratch + CPU_RUN_ROWS * w.stride;
    int32_t item = cpu_pass_next(p, op_index);
    int32_t first_item = 0; /* of this sequence */
    for (int32_t i = 0; i < p->pass->n_sequences; i++) {
        const struct compute_sequence *sequence = &p->pass->sequences[i];
        int32_t n_tiles = (sequence->n_rows + rows - 1) / rows;
        int32_t n_items = program->n_kv_heads * n_parts * n_tiles;
        for (; item < first_item + n_items; item = cpu_pass_next(p, op_index)) {
            int32_t tile = (item - first_item) % n_tiles, part = (item - first_item) / n_tiles;
            int32_t from = part % n_parts * heads;
            w.tile = (struct tile){ .sequence = sequence,
                                    .kv_head = part / n_parts,
                                    .first_head = part / n_parts * group + from,
                                    .n_heads = min_i32(heads, group - from),
                                    .first_row = tile * rows,
                                    .n_rows = min_i32(rows, sequence->n_rows - tile * rows) };
            attend_tile(&w);
        }
        first_item += n_items;
    }
}
