/* A pass on the GPU: see pass.h. Its program's operations become kernels one by one, in order. */
#include "cuda/pass.h"

#include "cuda/ops.h"
#include <string.h>

/* ---- Inputs. ---- */

static bool has_drawn_ids(const struct compute_pass *pass)
{
    for (int32_t i = 0; i < pass->n_rows; i++)
        if (pass->ids[i] < 0)
            return true;
    return false;
}

/* Tables of every sequence one behind the other; those by head lose the room behind their rows. */
static void add_tables(struct cuda_ops *ops, struct cuda_inputs *inputs, struct cuda_sequence *to)
{
    const struct compute_kv *kv = &ops->pass->kv;
    int64_t n_tables = kv->is_by_head ? (int64_t)kv->n_layers * kv->n_kv_heads : 1;
    int64_t n_blocks = 0;
    uint64_t at = 0;
    const void *device;
    for (int32_t i = 0; i < ops->pass->n_sequences; i++) {
        const struct compute_sequence *s = &ops->pass->sequences[i];
        n_blocks += n_tables * div_up_i64(s->n_before + s->n_rows, kv->block_tokens);
    }
    uint32_t *blocks = cuda_inputs_room(inputs, n_blocks, sizeof(*blocks), &device);
    if (blocks == NULL)
        return;
    for (int32_t i = 0; i < ops->pass->n_sequences; i++) {
        const struct compute_sequence *s = &ops->pass->sequences[i];
        uint32_t n = (uint32_t)div_up_i64(s->n_before + s->n_rows, kv->block_tokens);
        to[i] = (struct cuda_sequence){ at, n, s->first_row, s->n_before };
        for (int64_t t = 0; t < n_tables; t++, at += n)
            memcpy(blocks + at, s->blocks + (size_t)t * s->stride, n * sizeof(*blocks));
    }
    ops->batch.blocks = device;
}

/* Returns the sequences, which add_tables fills; rows behind the pass' own have none. */
static struct cuda_sequence *add_sequences(struct cuda_ops *ops, struct cuda_inputs *inputs)
{
    const struct compute_pass *pass = ops->pass;
    const void *device[2];
    struct cuda_sequence *sequences = cuda_inputs_room(
        inputs, ops->is_step ? ops->n_rows : pass->n_sequences, sizeof(*sequences), &device[0]);
    int32_t *sequence_of = cuda_inputs_room(inputs, ops->n_rows, sizeof(*sequence_of), &device[1]);
    if (inputs->is_full)
        return NULL;
    ops->n_positions_max = 1;
    for (int32_t i = 0; i < pass->n_sequences; i++) {
        const struct compute_sequence *s = &pass->sequences[i];
        ops->n_positions_max = max_i32(ops->n_positions_max, s->n_before + s->n_rows);
        for (int32_t r = 0; r < s->n_rows; r++)
            sequence_of[s->first_row + r] = i;
    }
    for (int32_t row = pass->n_rows; row < ops->n_rows; row++)
        sequence_of[row] = -1;
    ops->batch.sequences = device[0];
    ops->batch.sequence_of = device[1];
    return sequences;
}

/* Rows that fill up a batch are generated ones. So is each row of a strict device. */
static uint8_t class_of(const struct cuda_ops *ops, int32_t row)
{
    const struct compute_pass *pass = ops->pass;
    bool is_generated = ops->is_strict || row >= pass->n_rows ||
                        (pass->classes != NULL && pass->classes[row] == COMPUTE_ROW_GENERATED);
    return is_generated ? CUDA_CLASS_FEW : CUDA_CLASS_MANY;
}

static uint8_t class_of_logits(const struct cuda_ops *ops, int32_t i)
{
    const struct compute_pass *pass = ops->pass;
    return class_of(ops, i < pass->n_logit_rows ? pass->logit_rows[i] : pass->n_rows);
}

/* The rows of each class: of the pass, or of those whose logits are wanted. */
static void add_split(struct cuda_ops *ops, struct cuda_inputs *inputs, bool is_logit_rows)
{
    struct cuda_split *split = &ops->splits[is_logit_rows];
    int32_t n = is_logit_rows ? ops->n_logit_rows : ops->n_rows;
    const void *device;
    int32_t *rows = cuda_inputs_room(inputs, n, sizeof(*rows), &device);
    if (rows == NULL)
        return;
    int32_t at = 0;
    for (int c = 0; c < 2; c++) {
        split->rows[c] = (const int32_t *)device + at;
        split->host[c] = rows + at;
        split->n[c] = at;
        for (int32_t i = 0; i < n; i++)
            if ((is_logit_rows ? class_of_logits(ops, i) : class_of(ops, i)) == c)
                rows[at++] = i;
        split->n[c] = at - split->n[c];
    }
}

/* How many rows from `row` on a tile takes: prompt rows of the sequence that ends at `end`. */
static int32_t tile_rows(const struct cuda_ops *ops, int32_t row, int32_t end)
{
    int32_t n = 0;
    while (n < CUDA_TILE_QUERIES && row + n < end && class_of(ops, row + n) == CUDA_CLASS_MANY)
        n++;
    return n;
}

/* Writes the tiles of all prompt rows, or counts them (to is NULL). */
static int32_t cut_tiles(const struct cuda_ops *ops, struct cuda_tile *to)
{
    const struct compute_pass *pass = ops->pass;
    int32_t n_tiles = 0;
    for (int32_t i = 0; i < pass->n_sequences; i++) {
        int32_t row = pass->sequences[i].first_row, end = row + pass->sequences[i].n_rows;
        while (row < end) {
            int32_t n = tile_rows(ops, row, end);
            if (n > 0 && to != NULL)
                to[n_tiles] = (struct cuda_tile){ row, n };
            n_tiles += n > 0;
            row += max_i32(n, 1);
        }
    }
    return n_tiles;
}

static void add_tiles(struct cuda_ops *ops, struct cuda_inputs *inputs)
{
    const void *device;
    ops->n_tiles = cut_tiles(ops, NULL);
    struct cuda_tile *tiles = cuda_inputs_room(inputs, ops->n_tiles, sizeof(*tiles), &device);
    if (tiles != NULL)
        (void)cut_tiles(ops, tiles);
    ops->tiles = device;
}

/* Adds n numbers, and zeros up to n_padded. */
static const int32_t *add_numbers(struct cuda_inputs *inputs, const int32_t *from, int32_t n,
                                  int32_t n_padded)
{
    const void *device;
    int32_t *to = cuda_inputs_room(inputs, n_padded, sizeof(*to), &device);
    if (to == NULL)
        return NULL;
    if (n > 0)
        memcpy(to, from, sizeof(*to) * (size_t)n);
    memset(to + n, 0, sizeof(*to) * (size_t)(n_padded - n));
    return device;
}

/* Arrays whose size follows from the padded numbers of rows come first, so that a graph finds them
 * where they were when it was recorded. */
static void add_inputs(struct cuda_ops *ops, struct cuda_inputs *inputs)
{
    const struct compute_pass *pass = ops->pass;
    ops->ids = add_numbers(inputs, pass->ids, pass->n_rows, ops->n_rows);
    ops->positions = add_numbers(inputs, pass->positions, pass->n_rows, ops->n_rows);
    ops->logit_rows = add_numbers(inputs, pass->logit_rows, pass->n_logit_rows, ops->n_logit_rows);
    struct cuda_sequence *sequences = add_sequences(ops, inputs);
    add_split(ops, inputs, false);
    add_split(ops, inputs, true);
    add_tiles(ops, inputs);
    if (sequences != NULL)
        add_tables(ops, inputs, sequences);
}

static struct cuda_cache cache_of(const struct compute_kv *kv)
{
    return (struct cuda_cache){ .base = kv->memory != NULL ? kv->memory->base : NULL,
                                .unit_bytes = kv->unit_bytes,
                                .block_bytes = kv->block_bytes,
                                .blocks_per_unit = kv->blocks_per_unit,
                                .block_tokens = kv->block_tokens,
                                .type = (int32_t)kv->dtype,
                                .n_kv_heads = kv->n_kv_heads,
                                .head_dim = kv->head_dim,
                                .is_by_head = kv->is_by_head };
}

/* ---- Asks. ---- */

static const void *add_history(struct cuda_inputs *inputs, const struct compute_ask *ask)
{
    const struct sampling *s = &ask->body->sampling;
    bool is_read = s->frequency_penalty != 0 || s->presence_penalty != 0 ||
                   (s->repetition_penalty != 1 && s->repetition_penalty != 0);
    return is_read ? cuda_inputs_add(inputs, ask->tokens, ask->n_tokens, sizeof(int32_t)) : NULL;
}

/* The ask as the GPU reads it; last: the ids that the pass before drew. */
static struct cuda_ask flat(struct cuda_inputs *inputs, const struct cuda_workspace *w,
                            const struct compute_ask *ask, const int32_t *last)
{
    const struct request_body *body = ask->body;
    struct cuda_ask out = { .kind = ask->kind, .id = ask->id, .n_top_logprobs = ask->n_top };
    if (ask->kind != COMPUTE_ASK_TOKEN)
        return out;
    const struct sampling *s = &body->sampling;
    int64_t mask_words = div_up_i64(w->program->n_vocabulary, 32);
    out.seed = body->seed;
    out.tokens = add_history(inputs, ask);
    out.last = ask->follows < 0 ? last + compute_drawn(ask->follows) : NULL;
    out.n_prompt = ask->n_prompt;
    out.n_tokens = ask->n_tokens + (ask->follows < 0);
    out.stop_ids =
        cuda_inputs_add(inputs, request_body_stop_ids(body), body->n_stop_ids, sizeof(int32_t));
    out.biases = cuda_inputs_add(inputs, request_body_biases(body), body->n_biases,
                                 sizeof(struct logit_bias));
    out.n_stop_ids = (int32_t)body->n_stop_ids;
    out.n_biases = (int32_t)body->n_biases;
    out.mask = ask->mask != NULL
                   ? cuda_inputs_add(inputs, ask->mask, mask_words, sizeof(*ask->mask))
                   : NULL;
    out.temperature = s->temperature;
    out.top_p = s->top_p;
    out.distance = cuda_draw_distance(s->min_p);
    out.frequency_penalty = s->frequency_penalty;
    out.presence_penalty = s->presence_penalty;
    out.repetition_penalty = s->repetition_penalty;
    out.top_k = s->top_k;
    out.n_tokens_min = s->n_tokens_min;
    out.n_top_logprobs = s->n_top_logprobs;
    return out;
}

static void add_asks(struct cuda_flight *flight, const struct compute_pass *pass)
{
    const struct cuda_workspace *w = (const struct cuda_workspace *)pass->workspace;
    struct cuda_inputs *inputs = &flight->inputs;
    unsigned char *base = w->memory->base;
    const int32_t *last = (const int32_t *)(const void *)(base + w->layout.drawn[w->last]);
    struct cuda_logprobs *logprobs = (struct cuda_logprobs *)(void *)(base + w->layout.logprobs);
    struct cuda_ask *asks =
        cuda_inputs_room(inputs, pass->n_logit_rows, sizeof(*asks), &flight->asks);
    for (int32_t row = 0; row < pass->n_logit_rows && asks != NULL; row++) {
        asks[row] = flat(inputs, w, &pass->asks[row], last);
        asks[row].logprobs = pass->asks[row].logprobs != NULL ? &logprobs[row] : NULL;
    }
}

/* ---- Work on the stream. ---- */

/* Records the operations instead of running them. */
static bool record(struct cuda_graph_slot *slot, struct cuda_ops *ops)
{
    slot->is_refused = true;
    if (!cuda_driver_capture(ops->driver, ops->stream))
        return false;
    bool is_well = cuda_ops_run(ops);
    struct cuda_graph *graph = cuda_driver_captured(ops->driver, ops->stream);
    if (!is_well) {
        cuda_driver_graph_close(ops->driver, graph);
        return false;
    }
    slot->graph = graph;
    slot->is_refused = graph == NULL;
    return graph != NULL;
}

/* Enqueues all operations of a step whose rows and inputs are padded as its graph's are. */
static bool run_step(struct cuda_graphs *graphs, struct cuda_ops *ops)
{
    ops->n_positions_max = cuda_graphs_positions(ops->n_positions_max);
    const struct cuda_graph_key key = { ops->n_rows, ops->n_positions_max, ops->cache };
    struct cuda_graph_slot *slot = cuda_graphs_find(graphs, &key);
    if (slot->graph != NULL || (slot->is_warm && !slot->is_refused && record(slot, ops)))
        return cuda_driver_replay(ops->driver, slot->graph, ops->stream);
    bool is_well = cuda_ops_run(ops);
    slot->is_warm = slot->is_warm || is_well;
    return is_well;
}

/* Returns the rows of the graph that can run this pass, 0: there is none. A decode step draws from
 * each of its rows. */
static int32_t graph_rows(const struct cuda_lane *lane, const struct compute_pass *pass)
{
    const struct compute_sizes sizes = pass->workspace->sizes;
    if (!lane->has_graphs || pass->classes == NULL || pass->n_logit_rows != pass->n_rows ||
        pass->n_sequences > pass->n_rows)
        return 0;
    for (int32_t row = 0; row < pass->n_rows; row++)
        if (pass->classes[row] != COMPUTE_ROW_GENERATED)
            return 0;
    return cuda_graphs_rows(pass->n_rows, min_i32(sizes.n_rows, sizes.n_logit_rows));
}

bool cuda_pass_submit(struct cuda_lane *lane, struct cuda_flight *flight,
                      const struct compute_pass *pass)
{
    struct cuda_workspace *w = (struct cuda_workspace *)pass->workspace;
    struct cuda_ops ops = { .driver = lane->driver,
                            .stream = lane->stream,
                            .pass = pass,
                            .program = pass->program,
                            .workspace = w,
                            .blas = lane->load->blas,
                            .n_rows = pass->n_rows,
                            .n_logit_rows = pass->n_logit_rows,
                            .cache = cache_of(&pass->kv),
                            .is_strict = lane->is_strict,
                            .n_processors = lane->face.n_members };
    CHECK(pass->n_rows <= w->face.sizes.n_rows && pass->n_logit_rows <= w->face.sizes.n_logit_rows);
    if (pass->n_rows == 0)
        return true;
    int32_t n_graph = graph_rows(lane, pass);
    if (n_graph > 0) {
        ops.is_step = true;
        ops.n_rows = ops.n_logit_rows = n_graph;
    }
    add_inputs(&ops, &flight->inputs);
    if (pass->asks != NULL && !pass->has_late_masks)
        add_asks(flight, pass);
    if (!cuda_inputs_send(&flight->inputs, lane->stream))
        return false;
    const int32_t *drawn = (const int32_t *)cuda_ops_at(&ops, w->layout.drawn[w->last]);
    if (has_drawn_ids(pass) &&
        !cuda_kernels_resolve_ids(ops.stream, (int32_t *)(uintptr_t)ops.ids, pass->n_rows, drawn))
        return false;
    return ops.is_step ? run_step(&w->graphs, &ops) : cuda_ops_run(&ops);
}

bool cuda_pass_draw(struct cuda_lane *lane, struct cuda_flight *flight,
                    const struct compute_pass *pass)
{
    struct cuda_workspace *w = (struct cuda_workspace *)pass->workspace;
    unsigned char *base = w->memory->base;
    int next = 1 - w->last;
    if (pass->n_logit_rows == 0)
        return true;
    if (flight->asks == NULL) {
        add_asks(flight, pass);
        if (!cuda_inputs_send(&flight->inputs, lane->stream))
            return false;
    }
    const struct cuda_draw draw = { .asks = flight->asks,
                                    .logits = (float *)(void *)(base + w->layout.logits),
                                    .drawn = (int32_t *)(void *)(base + w->layout.drawn[next]),
                                    .n_rows = pass->n_logit_rows,
                                    .n_vocabulary = pass->program->n_vocabulary,
                                    .counts = (int32_t *)(void *)(base + w->layout.counts),
                                    .raw = (float *)(void *)(base + w->layout.raw) };
    w->last = next;
    return cuda_draw_rows(lane->stream, &draw);
}

/* ---- Results: ids, log probabilities, and logits where they are wanted. ---- */

struct results {
    int64_t logprobs, logits, n_bytes;
};

static struct results results_of(const struct compute_pass *pass)
{
    int64_t n = pass->n_logit_rows;
    struct results r = { .logprobs = (int64_t)align_up_u64((uint64_t)n * 4, 64) };
    r.logits = r.logprobs + n * (int64_t)sizeof(struct cuda_logprobs);
    r.n_bytes = r.logits + (pass->logits != NULL ? n * pass->program->n_vocabulary * 4 : 0);
    return r;
}

static bool wants_logprobs(const struct compute_pass *pass)
{
    for (int32_t i = 0; i < pass->n_logit_rows; i++)
        if (pass->asks[i].logprobs != NULL)
            return true;
    return false;
}

bool cuda_pass_collect(struct cuda_lane *lane, struct cuda_flight *flight,
                       const struct compute_pass *pass)
{
    const struct cuda_workspace *w = (const struct cuda_workspace *)pass->workspace;
    struct results r = results_of(pass);
    int64_t n = pass->n_logit_rows;
    if (r.n_bytes > CUDA_PASS_RESULT_BYTES_MAX ||
        !cuda_object_back(lane->driver, flight->results, 0, r.n_bytes))
        return false;
    const struct {
        bool is_wanted;
        int64_t to, from, n_bytes;
    } parts[] = {
        { pass->asks != NULL, 0, w->layout.drawn[w->last], n * 4 },
        { pass->asks != NULL && wants_logprobs(pass), r.logprobs, w->layout.logprobs,
          n * (int64_t)sizeof(struct cuda_logprobs) },
        { pass->logits != NULL, r.logits, w->layout.logits, r.n_bytes - r.logits },
    };
    for (size_t i = 0; i < COUNT_OF(parts); i++)
        if (parts[i].is_wanted &&
            !cuda_object_copy(lane->driver, lane->stream,
                              (struct cuda_object_part){ flight->results, parts[i].to },
                              (struct cuda_object_part){ w->memory, parts[i].from },
                              parts[i].n_bytes))
            return false;
    return true;
}

void cuda_pass_end(struct cuda_flight *flight, const struct compute_pass *pass)
{
    struct results r = results_of(pass);
    const unsigned char *base = flight->results->base;
    for (int32_t row = 0; row < pass->n_logit_rows && pass->asks != NULL; row++) {
        const struct compute_ask *ask = &pass->asks[row];
        if (ask->kind == COMPUTE_ASK_TOKEN)
            memcpy(&pass->drawn[row], base + (size_t)row * 4, 4);
        if (ask->kind != COMPUTE_ASK_NONE && ask->logprobs != NULL)
            memcpy(ask->logprobs, base + r.logprobs + (size_t)row * sizeof(*ask->logprobs),
                   sizeof(*ask->logprobs));
    }
    if (pass->logits != NULL)
        memcpy(pass->logits, base + r.logits, (size_t)(r.n_bytes - r.logits));
}
