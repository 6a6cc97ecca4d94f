/* Attention over the paged cache, in place: tiles of up to 16 queries share each read of keys and
 * values. Merged blocks and head-wise units (MuxServe's layout) differ only in the places of runs
 * of rows (find_blocks).
 *
 * A tile is a few rows of one sequence times the query heads of one KV head. A single row takes a
 * few KV heads, since their rows are side by side in a block. A tile walks pieces at absolute
 * multiples of 256 positions. Each piece is computed from scratch and merged upwards, so that a
 * row's result does not depend on its tile. Positions that a row may not see are left out, not
 * multiplied by 0, because they may be NaN.
 *
 * When there are few tiles (short batches) the members share a tile. Each takes a chunk of its
 * pieces, and merges them once all pieces before are merged. Chunks are taken upwards, so a member
 * that has to wait waits for one that is running. */
#include "cpu/pass.h"

#include "compute/vmath.h"
#include <sched.h>
#include <string.h>

enum {
    TILES_PER_MEMBER = 4,               /* below that a tile is shared */
    CHUNKS_PER_MEMBER = 8,              /* the aim in that case */
    CHUNK_PIECES_MAX = 4,               /* computed before they are merged */
    KV_HEADS_MAX = 4,                   /* of a tile with a single row: longer runs of memory */
    AHEAD = 4,                          /* runs: what is read that much later is fetched */
    BLOCKS_MAX = CPU_PIECE + 1 + AHEAD, /* blocks that hold a piece, and some behind it */
    TURN_SPINS = 1 << 14,               /* reads before the core is yielded */
};

/* The merged result of a tile so far. */
struct cpu_merged {
    _Atomic uint32_t turn; /* shared tiles: the chunk that may merge now, see turn_of */
    float max[CPU_QUERIES], sum[CPU_QUERIES];
    bool has_started[CPU_QUERIES]; /* per row */
    _Alignas(64) float out[];      /* (CPU_QUERIES, stride) */
};

struct tile {
    const struct compute_sequence *sequence;
    int32_t kv_head, n_kv;       /* the first KV head, and how many */
    int32_t first_head, n_heads; /* query heads of the first KV head, and how many of each */
    int32_t first_row, n_rows;   /* within the sequence's rows */
};

struct piece {    /* computed, not yet merged */
    int32_t a, b; /* rows that see some of it; none: b < a */
    float max[CPU_QUERIES], sum[CPU_QUERIES];
    float *out; /* (CPU_QUERIES, stride) */
};

struct run_soon { /* will be read soon: n rows, 0: none */
    const unsigned char *rows;
    int32_t n;
};

struct work { /* on one tile */
    const struct cpu_pass *p;
    const struct compute_op *op;
    struct tile tile;
    int32_t stride;                                /* floats per query */
    int32_t first[CPU_QUERIES], last[CPU_QUERIES]; /* per row: positions that it sees */
    struct piece pieces[CHUNK_PIECES_MAX];
    struct cpu_merged *own, *merged; /* own is this member's, for tiles that are not shared */
    float *queries, *probabilities, *scratch;
    /* The keys of each KV head, for the blocks from first_block on that hold the piece and the
     * positions soon after it. The values are values_behind bytes behind them. */
    const unsigned char *blocks[KV_HEADS_MAX][BLOCKS_MAX];
    size_t values_behind, row_bytes, row_bytes_all; /* all: with its scales */
    int32_t first_block, n_blocks, n_table;         /* of the piece, and of the table */
    struct run_soon next[AHEAD];                    /* the first runs of the next item */
};

/* Returns the number of a query: KV head by KV head, then row by row. */
static inline int32_t query_of(const struct tile *tile, int32_t kv, int32_t r, int32_t head)
{
    return (kv * tile->n_rows + r) * tile->n_heads + head;
}

static int32_t stride_of(const struct compute_program *program)
{
    return (program->head_dim + 15) & ~15;
}

static size_t merged_bytes(const struct compute_program *program)
{
    size_t out = CPU_QUERIES * (size_t)stride_of(program) * sizeof(float);
    return (size_t)align_up_u64(sizeof(struct cpu_merged) + out, 64);
}

int64_t cpu_attention_scratch(const struct compute_program *program)
{
    int64_t rows = (1 + CHUNK_PIECES_MAX) * CPU_QUERIES + CPU_RUN_ROWS;
    return rows * stride_of(program) + CPU_QUERIES * CPU_PIECE +
           (int64_t)(merged_bytes(program) / sizeof(float));
}

int64_t cpu_attention_shared(const struct compute_program *program, int n_members)
{
    return (int64_t)merged_bytes(program) * TILES_PER_MEMBER * n_members;
}

static struct cpu_merged *shared_tile(const struct cpu_pass *p, int32_t i)
{
    unsigned char *first = p->workspace + p->layout.shared_tiles;
    return (struct cpu_merged *)(void *)(first + (size_t)i * merged_bytes(p->program));
}

void cpu_attention_reset(const struct cpu_pass *p)
{
    for (int32_t i = 0; i < TILES_PER_MEMBER * team_size(p->team); i++)
        atomic_store_explicit(&shared_tile(p, i)->turn, 0, memory_order_relaxed);
}

enum part { KEYS, VALUES };

/* Fills the table of blocks for the piece at base. */
static void find_blocks(struct work *w, int32_t base)
{
    const struct compute_kv *kv = &w->p->pass->kv;
    const struct compute_sequence *sequence = w->tile.sequence;
    int32_t last = w->last[w->tile.n_rows - 1], n_tokens = kv->block_tokens;
    w->first_block = base / n_tokens;
    w->n_blocks = min_i32(base + CPU_PIECE - 1, last) / n_tokens - w->first_block + 1;
    w->n_table = min_i32(w->n_blocks + AHEAD, last / n_tokens - w->first_block + 1);
    size_t head_bytes = compute_kv_part_bytes(kv);
    w->values_behind = head_bytes * (size_t)(kv->is_by_head ? 1 : kv->n_kv_heads);
    if (kv->has_keys_only)
        w->values_behind = 0;
    for (int32_t head = 0; head < w->tile.n_kv; head++)
        for (int32_t k = 0; k < w->n_table; k++)
            w->blocks[head][k] = kv->is_by_head || head == 0
                                     ? compute_kv_rows(kv, sequence, w->first_block + k,
                                                       w->op->layer, KEYS, w->tile.kv_head + head)
                                     : w->blocks[0][k] + (size_t)head * head_bytes;
}

/* Returns block k of the table for KV head `head`, as far as the tile sees it. */
static struct run_soon soon_of(const struct work *w, enum part part, int32_t head, int32_t k)
{
    int32_t n_tokens = w->p->pass->kv.block_tokens, last = w->last[w->tile.n_rows - 1];
    return (struct run_soon){ w->blocks[head][k] + (part == VALUES ? w->values_behind : 0),
                              min_i32(last + 1 - (w->first_block + k) * n_tokens, n_tokens) };
}

/* Returns the data that is read AHEAD runs after block k of KV head `head`. Behind the keys of a
 * piece come its values, and behind these the keys of the next piece, or of the next item. */
static struct run_soon ahead_of(const struct work *w, enum part part, int32_t head, int32_t k)
{
    int32_t n_kv = w->tile.n_kv;
    for (head += AHEAD; head >= n_kv; head -= n_kv)
        k++;
    if (k < w->n_blocks)
        return soon_of(w, part, head, k);
    if (part == KEYS)
        return soon_of(w, VALUES, head, min_i32(k - w->n_blocks, w->n_blocks - 1));
    return k < w->n_table ? soon_of(w, KEYS, head, k) : w->next[(k - w->n_table) * n_kv + head];
}

/* Returns the scales in one head's part of a block of Q8_0. */
static const uint16_t *scales_of(const struct compute_kv *kv, const unsigned char *part)
{
    return (const uint16_t *)(const void *)(part + (size_t)kv->block_tokens * (size_t)kv->head_dim);
}

/* Returns a query's blocks, for keys of Q8_0. They take the place of its floats. */
static struct cpu_block *blocks_of(const struct work *w, int32_t query)
{
    return (struct cpu_block *)(void *)(w->queries + query * w->stride);
}

/* Calls the kernel on every run of adjacent positions in [from, to], for rows [row, row + n) of the
 * tile. out is for values. */
static void for_runs(const struct work *w, enum part part, int32_t from, int32_t to, int32_t row,
                     int32_t n, float *out)
{
    const struct compute_kv *kv = &w->p->pass->kv;
    const struct cpu_kernels *kernels = w->p->kernels;
    struct cpu_run run = { .dtype = kv->dtype,
                           .scale_stride = (size_t)kv->block_tokens,
                           .head_dim = kv->head_dim,
                           .stride = w->stride,
                           .n_queries = n * w->tile.n_heads,
                           .scratch = w->scratch };
    int32_t k = from / kv->block_tokens - w->first_block, in_block = from % kv->block_tokens;
    for (int32_t t = from; t <= to; t += run.n, k++, in_block = 0) {
        run.n = min_i32(kv->block_tokens - in_block, to - t + 1);
        for (int32_t head = 0; head < w->tile.n_kv; head++) {
            int32_t query = query_of(&w->tile, head, row, 0);
            const unsigned char *block =
                w->blocks[head][k] + (part == VALUES ? w->values_behind : 0);
            run.rows = block + (size_t)in_block * w->row_bytes;
            run.scales = scales_of(kv, block) + in_block;
            struct run_soon ahead = ahead_of(w, part, head, k);
            run.ahead = ahead.rows;
            if (n == w->tile.n_rows) /* runs that only some rows see are short and many */
                run.ahead_bytes =
                    (w->row_bytes_all * (size_t)ahead.n + (size_t)run.n - 1) / (size_t)run.n;
            run.probabilities = w->probabilities + query * CPU_PIECE + t % CPU_PIECE;
            if (part == VALUES)
                kernels->mix(&run, out + query * w->stride);
            else if (kv->dtype == DTYPE_Q8_0)
                kernels->scores_q8_0(&run, blocks_of(w, query), w->op->scale);
            else
                kernels->scores(&run, w->queries + query * w->stride, w->op->scale);
        }
    }
}

/* Row a sees no position from `from` on, and each row behind it sees one more than the row before.
 * Splits the rows in halves, so that as many rows as possible share a position. */
static void mix_rest(const struct work *w, int32_t from, int32_t end, int32_t a, int32_t b,
                     float *out)
{
    if (a == b || from > end)
        return;
    int32_t middle = (a + b + 1) / 2, to = min_i32(w->last[middle], end);
    for_runs(w, VALUES, from, to, middle, b - middle + 1, out);
    mix_rest(w, from, end, a, middle - 1, out);
    mix_rest(w, to + 1, end, middle, b, out);
}

/* Adds the values of a piece: first those below the common range, which single rows see, then the
 * range that all rows see, then the rest. So the positions of each row go upwards. */
static void mix_piece(const struct work *w, int32_t base, const struct piece *piece)
{
    int32_t end = base + CPU_PIECE - 1, a = piece->a, b = piece->b;
    int32_t from = max_i32(w->first[b], base), to = min_i32(w->last[a], end);
    if (from > to) { /* a window narrower than the tile: no common range */
        for (int32_t r = a; r <= b; r++)
            for_runs(w, VALUES, max_i32(w->first[r], base), min_i32(w->last[r], end), r, 1,
                     piece->out);
        return;
    }
    for (int32_t r = a; r < b; r++)
        for_runs(w, VALUES, max_i32(w->first[r], base), from - 1, r, 1, piece->out);
    for_runs(w, VALUES, from, to, a, b - a + 1, piece->out);
    mix_rest(w, to + 1, end, a, b, piece->out);
}

/* Computes the weights of row r, and clears out. */
static void weigh_row(const struct work *w, int32_t base, struct piece *piece, int32_t r)
{
    const struct tile *tile = &w->tile;
    int32_t first = max_i32(w->first[r], base) - base;
    int32_t last = min_i32(w->last[r], base + CPU_PIECE - 1) - base;
    for (int32_t kv = 0; kv < tile->n_kv; kv++) {
        int32_t query = query_of(tile, kv, r, 0);
        for (int32_t i = query; i < query + tile->n_heads && w->op->cap > 0; i++)
            w->p->kernels->cap(w->op->cap, w->probabilities + i * CPU_PIECE + first,
                               last - first + 1);
        for (int32_t i = query; i < query + tile->n_heads; i++)
            piece->sum[i] = w->p->kernels->softmax(w->probabilities + i * CPU_PIECE, first, last,
                                                   &piece->max[i]);
        memset(piece->out + query * w->stride, 0,
               (size_t)(tile->n_heads * w->stride) * sizeof(float));
    }
}

static void attend_piece(struct work *w, int32_t base, struct piece *piece)
{
    int32_t n_rows = w->tile.n_rows, end = base + CPU_PIECE - 1;
    int32_t a = n_rows, b = -1;
    for (int32_t r = 0; r < n_rows; r++)
        if (w->first[r] <= end && w->last[r] >= base) {
            a = min_i32(a, r);
            b = r;
        }
    piece->a = a;
    piece->b = b;
    if (b < a)
        return;
    find_blocks(w, base);
    for_runs(w, KEYS, max_i32(w->first[a], base), min_i32(w->last[b], end), a, b - a + 1, NULL);
    for (int32_t r = a; r <= b; r++)
        weigh_row(w, base, piece, r);
    mix_piece(w, base, piece);
}

static void merge_query(const struct work *w, struct piece *piece, int32_t i, bool is_first)
{
    struct cpu_merged *merged = w->merged;
    struct cpu_part to = { &merged->max[i], &merged->sum[i], merged->out + i * w->stride };
    struct cpu_part from = { &piece->max[i], &piece->sum[i], piece->out + i * w->stride };
    if (!is_first) {
        w->p->kernels->merge(&to, &from, w->stride);
        return;
    }
    *to.max = *from.max;
    *to.sum = *from.sum;
    memcpy(to.out, from.out, (size_t)w->stride * sizeof(float));
}

static void merge_piece(const struct work *w, struct piece *piece)
{
    const struct tile *tile = &w->tile;
    for (int32_t r = piece->a; r <= piece->b; r++) {
        for (int32_t kv = 0; kv < tile->n_kv; kv++)
            for (int32_t head = 0; head < tile->n_heads; head++)
                merge_query(w, piece, query_of(tile, kv, r, head), !w->merged->has_started[r]);
        w->merged->has_started[r] = true;
    }
}

static float *head_of(const struct work *w, int reg, int32_t r, int32_t kv, int32_t head)
{
    const struct compute_program *program = w->p->program;
    int32_t row = w->tile.sequence->first_row + w->tile.first_row + r;
    int32_t group = program->n_heads / program->n_kv_heads;
    int32_t at = w->tile.first_head + kv * group + head;
    return cpu_pass_row(w->p, reg, row) + (int64_t)at * program->head_dim;
}

static void take_query(const struct work *w, int32_t i, const float *from)
{
    int32_t head_dim = w->p->program->head_dim;
    float *query = w->queries + i * w->stride;
    if (w->p->pass->kv.dtype == DTYPE_Q8_0) {
        w->p->kernels->quantize(from, head_dim, blocks_of(w, i));
        return;
    }
    memset(query, 0, (size_t)w->stride * sizeof(float));
    memcpy(query, from, (size_t)head_dim * sizeof(float));
}

/* Fetches the place of a head's result. Its lines are mostly in another core's cache, and a tile's
 * end needs many at once. */
static void fetch_head(const struct work *w, float *out)
{
    for (int32_t d = 0; d < w->p->program->head_dim; d += 16)
        __builtin_prefetch(out + d, 1);
}

/* Returns the first position that the one at `last` sees. */
static int32_t first_seen(const struct compute_op *op, int32_t last)
{
    return op->n > 0 ? max_i32(0, last - op->n + 1) : 0;
}

/* Sets the tile's queries, and the positions that its rows see. */
static void begin_tile(struct work *w)
{
    const struct tile *tile = &w->tile;
    for (int32_t r = 0; r < tile->n_rows; r++) {
        w->last[r] = tile->sequence->n_before + tile->first_row + r;
        if (w->op->flags & COMPUTE_SEES_ALL)
            w->last[r] = tile->sequence->n_before + tile->sequence->n_rows - 1;
        w->first[r] = first_seen(w->op, w->last[r]);
        for (int32_t kv = 0; kv < tile->n_kv; kv++)
            for (int32_t head = 0; head < tile->n_heads; head++) {
                take_query(w, query_of(tile, kv, r, head), head_of(w, w->op->src, r, kv, head));
                fetch_head(w, head_of(w, w->op->dst, r, kv, head));
            }
    }
}

/* Returns what a query's result is multiplied by in the end. A sink is one more logit of its
 * head. */
static float last_factor(const struct work *w, int32_t query, int32_t head)
{
    const struct compute_weight *sinks = cpu_pass_weight(w->p, w->op->weight);
    float max = w->merged->max[query], sum = w->merged->sum[query];
    if (sinks == NULL)
        return 1.0f / sum;
    float sink = sinks->vector[head], top = max > sink ? max : sink, a = vmath_exp(max - top);
    return a * (1.0f / vmath_fma(sum, a, vmath_exp(sink - top)));
}

static void end_tile(const struct work *w)
{
    int32_t group = w->p->program->n_heads / w->p->program->n_kv_heads;
    const struct tile *tile = &w->tile;
    for (int32_t r = 0; r < tile->n_rows; r++)
        for (int32_t kv = 0; kv < tile->n_kv; kv++)
            for (int32_t head = 0; head < tile->n_heads; head++) {
                int32_t i = query_of(tile, kv, r, head);
                float by = last_factor(w, i, tile->first_head + kv * group + head);
                w->p->kernels->scale(w->merged->out + i * w->stride, by,
                                     head_of(w, w->op->dst, r, kv, head), w->p->program->head_dim);
            }
}

/* Computes pieces [from, to), and merges them as they come. */
static void attend_alone(struct work *w, int32_t from, int32_t to)
{
    w->merged = w->own;
    memset(w->merged->has_started, 0, sizeof(w->merged->has_started));
    for (int32_t i = from; i < to; i++) {
        attend_piece(w, i * CPU_PIECE, &w->pieces[0]);
        merge_piece(w, &w->pieces[0]);
    }
    end_tile(w);
}

/* Returns the word that lets chunk `chunk` of this operation merge. No other operation uses the
 * same word. */
static uint32_t turn_of(int op_index, int32_t chunk)
{
    return ((uint32_t)op_index + 1) << 16 | (uint32_t)chunk;
}

static void wait_for_turn(const struct cpu_merged *merged, uint32_t turn)
{
    for (int32_t n = 0; atomic_load_explicit(&merged->turn, memory_order_acquire) != turn; n++) {
        if (n < TURN_SPINS)
            base_relax();
        else
            sched_yield(); /* its member may be preempted */
    }
}

struct chunk {
    int32_t i, n;     /* of the tile's */
    int32_t from, to; /* pieces [from, to) */
};

/* Computes one chunk of a shared tile. The last chunk ends the tile. */
static void attend_chunk(struct work *w, int32_t shared, const struct chunk *chunk, int op_index)
{
    w->merged = shared_tile(w->p, shared);
    for (int32_t i = chunk->from; i < chunk->to; i++)
        attend_piece(w, i * CPU_PIECE, &w->pieces[i - chunk->from]);
    if (chunk->i == 0)
        memset(w->merged->has_started, 0, sizeof(w->merged->has_started));
    else
        wait_for_turn(w->merged, turn_of(op_index, chunk->i));
    for (int32_t i = chunk->from; i < chunk->to; i++)
        merge_piece(w, &w->pieces[i - chunk->from]);
    if (chunk->i + 1 == chunk->n)
        end_tile(w);
    else
        atomic_store_explicit(&w->merged->turn, turn_of(op_index, chunk->i + 1),
                              memory_order_release);
}

struct plan { /* how the operation is cut into items; equal for every member */
    const struct compute_op *op;
    int32_t heads;                 /* query heads of a tile */
    int32_t n_parts, chunk_pieces; /* parts of a group of query heads */
    int32_t n_items;
    bool has_chunks; /* tiles are shared */
};

struct cut { /* for one sequence: KV heads and rows of a tile, number of tiles, pieces */
    int32_t n_kv, rows, n_along_kv, n_along_rows;
    int32_t n_tiles, n_chunks, from, to;
};

static struct cut cut_of(const struct plan *plan, const struct compute_program *program,
                         const struct compute_sequence *sequence)
{
    int32_t last = sequence->n_before + sequence->n_rows - 1;
    int32_t first = first_seen(plan->op, sequence->n_before);
    struct cut cut = { .n_kv = 1, .rows = CPU_QUERIES / plan->heads };
    if (sequence->n_rows == 1 && plan->n_parts == 1)
        cut.n_kv = min_i32(min_i32(KV_HEADS_MAX, cut.rows), program->n_kv_heads);
    cut.n_along_kv = (program->n_kv_heads + cut.n_kv - 1) / cut.n_kv;
    cut.n_along_rows = (sequence->n_rows + cut.rows - 1) / cut.rows;
    cut.n_tiles = cut.n_along_kv * plan->n_parts * cut.n_along_rows;
    cut.from = first / CPU_PIECE;
    cut.to = last / CPU_PIECE + 1;
    cut.n_chunks = 1 + (cut.to - cut.from - 1) / plan->chunk_pieces;
    return cut;
}

static struct plan make_plan(const struct cpu_pass *p, const struct compute_op *op)
{
    const struct compute_program *program = p->program;
    int32_t group = program->n_heads / program->n_kv_heads;
    struct plan plan = { .op = op,
                         .heads = min_i32(group, CPU_QUERIES),
                         .chunk_pieces = INT32_MAX };
    plan.n_parts = (group + plan.heads - 1) / plan.heads;
    int64_t n_tiles = 0, n_pieces = 0;
    for (int32_t i = 0; i < p->pass->n_sequences; i++) {
        struct cut cut = cut_of(&plan, program, &p->pass->sequences[i]);
        n_tiles += cut.n_tiles;
        n_pieces += (int64_t)cut.n_tiles * (cut.to - cut.from);
    }
    int n_members = team_size(p->team);
    if (n_members > 1 && n_tiles < TILES_PER_MEMBER * n_members) {
        int64_t wish = n_pieces / (CHUNKS_PER_MEMBER * n_members);
        plan.chunk_pieces = (int32_t)max_i64(1, min_i64(wish, CHUNK_PIECES_MAX));
        plan.has_chunks = true;
    }
    for (int32_t i = 0; i < p->pass->n_sequences; i++) {
        struct cut cut = cut_of(&plan, program, &p->pass->sequences[i]);
        plan.n_items += cut.n_tiles * cut.n_chunks;
    }
    return plan;
}

struct place {                                /* of an item: its sequence */
    int32_t sequence, first_item, first_tile; /* those of the sequence */
    struct cut cut;
};

static struct place first_place(const struct cpu_pass *p, const struct plan *plan)
{
    return (struct place){ .cut = cut_of(plan, p->program, &p->pass->sequences[0]) };
}

/* Finds an item's place from that of another item, mostly the one before. */
static void find_place(const struct cpu_pass *p, const struct plan *plan, int32_t item,
                       struct place *at)
{
    if (item < at->first_item)
        *at = first_place(p, plan);
    for (;;) {
        int32_t end = at->first_item + at->cut.n_tiles * at->cut.n_chunks;
        if (item < end)
            return;
        at->first_item = end;
        at->first_tile += at->cut.n_tiles;
        at->cut = cut_of(plan, p->program, &p->pass->sequences[++at->sequence]);
    }
}

static struct tile tile_of(const struct cpu_pass *p, const struct plan *plan,
                           const struct place *at, int32_t item)
{
    const struct compute_program *program = p->program;
    const struct compute_sequence *sequence = &p->pass->sequences[at->sequence];
    int32_t group = program->n_heads / program->n_kv_heads;
    int32_t i = (item - at->first_item) / at->cut.n_chunks, part = i / at->cut.n_along_rows;
    struct tile tile = { .sequence = sequence,
                         .first_row = i % at->cut.n_along_rows * at->cut.rows,
                         .kv_head = part / plan->n_parts * at->cut.n_kv };
    int32_t from = part % plan->n_parts * plan->heads;
    tile.n_rows = min_i32(at->cut.rows, sequence->n_rows - tile.first_row);
    tile.n_kv = min_i32(at->cut.n_kv, program->n_kv_heads - tile.kv_head);
    tile.first_head = tile.kv_head * group + from;
    tile.n_heads = min_i32(plan->heads, group - from);
    return tile;
}

static void attend_item(struct work *w, const struct plan *plan, const struct place *at,
                        int32_t item, int op_index)
{
    w->tile = tile_of(w->p, plan, at, item);
    begin_tile(w);
    if (at->cut.n_chunks == 1) {
        attend_alone(w, w->first[0] / CPU_PIECE, w->last[w->tile.n_rows - 1] / CPU_PIECE + 1);
        return;
    }
    int32_t i = item - at->first_item;
    struct chunk chunk = { .i = i % at->cut.n_chunks, .n = at->cut.n_chunks };
    chunk.from = at->cut.from + chunk.i * plan->chunk_pieces;
    chunk.to = min_i32(chunk.from + plan->chunk_pieces, at->cut.to);
    attend_chunk(w, at->first_tile + i / at->cut.n_chunks, &chunk, op_index);
}

/* Prefetches the first runs of item `item`, which is next unless another member takes it. */
static void look_ahead(struct work *w, const struct plan *plan, const struct place *at,
                       int32_t item)
{
    const struct compute_kv *kv = &w->p->pass->kv;
    struct tile tile = tile_of(w->p, plan, at, item);
    int32_t first = tile.sequence->n_before + tile.first_row, end = first + tile.n_rows;
    first = first_seen(w->op, first);
    for (int32_t i = 0; i < AHEAD; i++) {
        int32_t block = first / kv->block_tokens + i / tile.n_kv;
        w->next[i].n = max_i32(min_i32(end - block * kv->block_tokens, kv->block_tokens), 0);
        if (w->next[i].n > 0)
            w->next[i].rows = compute_kv_rows(kv, tile.sequence, block, w->op->layer, KEYS,
                                              tile.kv_head + i % tile.n_kv);
    }
}

static size_t row_element_bytes(enum dtype dtype)
{
    return dtype == DTYPE_Q8_0 ? 1 : (size_t)dtype_info(dtype)->block_bytes;
}

/* Sets all but the tile. The table of blocks is left as it is. */
static void begin_work(struct work *w, const struct cpu_pass *p, const struct compute_op *op,
                       int rank)
{
    w->p = p;
    w->op = op;
    w->stride = stride_of(p->program);
    w->row_bytes = (size_t)p->program->head_dim * row_element_bytes(p->pass->kv.dtype);
    w->row_bytes_all = (size_t)dtype_row_bytes(p->pass->kv.dtype, p->program->head_dim);
    w->own = (struct cpu_merged *)(void *)cpu_pass_scratch(p, rank);
    w->queries = cpu_pass_scratch(p, rank) + merged_bytes(p->program) / sizeof(float);
    float *next = w->queries + CPU_QUERIES * w->stride;
    for (int i = 0; i < CHUNK_PIECES_MAX; i++, next += CPU_QUERIES * w->stride)
        w->pieces[i].out = next;
    w->scratch = next;
    w->probabilities = w->scratch + CPU_RUN_ROWS * w->stride;
    for (int32_t i = 0; i < AHEAD; i++)
        w->next[i] = (struct run_soon){ p->workspace, 0 };
}

/* Each member has its own run of items, so that it knows its next reads. Chunks of shared tiles go
 * to all members in turn. */
void cpu_attention(const struct cpu_pass *p, const struct compute_op *op, int op_index, int rank)
{
    struct plan plan = make_plan(p, op);
    struct cpu_taker taker = { .n_items = plan.n_items,
                               .part = plan.has_chunks ? 0 : rank,
                               .n_parts = plan.has_chunks ? 1 : team_size(p->team) };
    if (plan.n_items == 0)
        return;
    struct place at = first_place(p, &plan), next = at;
    struct work w;
    begin_work(&w, p, op, rank);
    for (int32_t item; (item = cpu_pass_take(p, op_index, &taker)) >= 0;) {
        if (!plan.has_chunks && item + 1 < taker.end) {
            find_place(p, &plan, item + 1, &next);
            look_ahead(&w, &plan, &next, item + 1);
        }
        find_place(p, &plan, item, &at);
        attend_item(&w, &plan, &at, item, op_index);
    }
}
