/* A lane's work on one batch: see lane.h. */
#include "run/lane.h"

#include "base/mem.h"
#include "base/time.h"
#include "engine/bodies.h"
#include "kv/kv.h"
#include <stdatomic.h>
#include <string.h>

enum { LANE_SEQUENCES_MAX = 2 * LIMIT_BATCH_ITEMS };

struct work { /* a batch that is being computed */
    struct run_lane *lane;
    const struct run_model *model;
    const struct run_lane_scratch *scratch;
    const struct batch *batch;
    struct run_lane_result *result;
    struct compute_pass pass; /* that is being filled */
    int32_t n_drawn;          /* rows of logits drawn by the passes before */
    int32_t block_tokens;
    uint32_t first_pad, n_pads, n_pads_used; /* blocks for pads; the first is only read */
    uint32_t n_heads;                        /* rows of a table: of all heads of all layers, or 1 */
    size_t n_table;                          /* used of pad_table */
};

static void begin_pass(struct work *w)
{
    struct run_lane *lane = w->lane;
    const struct kv_layout *layout = kv_layout(lane->view->kv, w->batch->service);
    const struct model_spec *spec = weights_spec(w->model->weights);
    w->block_tokens = layout->block_tokens;
    w->n_heads = (uint32_t)layout->units_per_block;
    w->n_pads_used = 1;
    w->n_table = 0;
    w->pass = (struct compute_pass){
        .ids = lane->ids,
        .positions = lane->positions,
        .sequences = lane->sequences,
        .logit_rows = lane->logit_rows,
        .logits = w->scratch->logits,
        .kv = { .base = kv_base(lane->view->kv),
                .unit_bytes = (uint64_t)kv_unit_bytes(lane->view->kv),
                .block_bytes = (uint64_t)layout->block_bytes,
                .blocks_per_unit = (uint32_t)layout->blocks_per_unit,
                .block_tokens = layout->block_tokens,
                .dtype = w->model->kv_dtype,
                .n_layers = spec->n_layers,
                .n_kv_heads = spec->n_kv_heads,
                .head_dim = spec->head_dim,
                .is_by_head = kv_kind(lane->view->kv) == KV_HEADS },
    };
}

/* Draws the token of a row of logits and writes it behind its request's known tokens. Rows are
 * independent of each other. next: the row that the same member is likely to draw from next. */
static void draw_token(const struct work *w, struct run_sampler *sampler, int32_t row, int32_t next)
{
    const struct run_lane *lane = w->lane;
    int32_t n_vocabulary = w->model->program.n_vocabulary, i = lane->item_of_logit[row];
    const struct request *request = &lane->view->requests[w->batch->items[i].slot];
    struct engine_body body = engine_bodies_at(lane->view->bodies, request->body);
    struct token_logprobs *logprobs = NULL;
    if (request->flags & REQUEST_WANTS_LOGPROBS) {
        logprobs = &w->result->store[w->n_drawn + row];
        w->result->logprobs[i] = logprobs;
    }
    const struct run_draw draw = {
        .body = body.head,
        .tokens = body.tokens,
        .n_prompt = request->n_prompt,
        .n_tokens = request->n_tokens,
        .next = next < w->pass.n_logit_rows ? w->pass.logits + (int64_t)next * n_vocabulary : NULL,
    };
    CHECK(request->n_tokens < request->n_tokens_max);
    body.tokens[request->n_tokens] = run_sampler_draw(
        sampler, &draw, w->pass.logits + (int64_t)row * n_vocabulary, n_vocabulary, logprobs);
    w->result->n_new[i] = 1;
}

struct drawing {
    const struct work *work;
    _Atomic int32_t next; /* row */
};

static void draw_rows(void *arg, int rank, int n)
{
    struct drawing *drawing = arg;
    const struct work *w = drawing->work;
    while (rank < w->scratch->n_samplers) {
        int32_t row = atomic_fetch_add_explicit(&drawing->next, 1, memory_order_relaxed);
        if (row >= w->pass.n_logit_rows)
            return;
        draw_token(w, &w->scratch->samplers[rank], row,
                   row + min_i32(n, w->scratch->n_samplers)); /* others take those between */
    }
}

/* Draws a token for every request that caught up. */
static void draw_tokens(struct work *w)
{
    struct drawing drawing = { .work = w };
    if (w->pass.n_logit_rows > 1)
        run_device_share(w->lane->options.device, w->lane->index, draw_rows, &drawing);
    else
        draw_rows(&drawing, 0, 1);
    for (int32_t row = 0; row < w->pass.n_logit_rows; row++)
        if (w->result->logprobs[w->lane->item_of_logit[row]])
            w->result->done.logprobs = w->result->logprobs;
    w->n_drawn += w->pass.n_logit_rows;
}

static void run_pass(struct work *w)
{
    if (w->pass.n_rows > 0)
        run_device_run(w->lane->options.device, w->lane->index, &w->model->program, &w->pass,
                       w->scratch->workspace);
    draw_tokens(w);
    begin_pass(w);
}

/* Rows of a sequence that still fit into this pass, at least one after running what is there. */
static int32_t rows_left(struct work *w)
{
    if (w->pass.n_rows == w->lane->options.n_rows_max ||
        w->pass.n_sequences == LANE_SEQUENCES_MAX ||
        w->pass.n_logit_rows == w->lane->options.n_logit_rows_max)
        run_pass(w);
    return w->lane->options.n_rows_max - w->pass.n_rows;
}

struct table { /* see struct compute_sequence */
    const uint32_t *blocks;
    uint32_t stride;
};

/* Rows without ids are nobody's: a padded batch may grow beyond the model's last position, and
 * there they stay on it, since what a model learned of positions ends with it. */
static void add_rows(struct work *w, int32_t n_before, int32_t n_rows, struct table table,
                     const int32_t *ids)
{
    struct compute_pass *pass = &w->pass;
    int32_t last = weights_spec(w->model->weights)->n_positions_max - 1;
    w->lane->sequences[pass->n_sequences++] =
        (struct compute_sequence){ pass->n_rows, n_rows, n_before, table.blocks, table.stride };
    for (int32_t k = 0; k < n_rows; k++) {
        w->lane->ids[pass->n_rows + k] = ids != NULL ? ids[k] : 0;
        w->lane->positions[pass->n_rows + k] =
            ids != NULL ? n_before + k : min_i32(n_before + k, last);
    }
    pass->n_rows += n_rows;
}

static void add_item(struct work *w, int32_t i)
{
    struct run_lane *lane = w->lane;
    const struct batch_item *item = &w->batch->items[i];
    const struct request *request = &lane->view->requests[item->slot];
    const int32_t *tokens = engine_bodies_at(lane->view->bodies, request->body).tokens;
    int32_t n_blocks, n_end = request->n_computed + item->n_tokens;
    struct table table = { .blocks = kv_table(lane->view->kv, item->slot, &n_blocks) };
    if (w->pass.kv.is_by_head)
        table.blocks = kv_table_heads(lane->view->kv, item->slot, &table.stride);
    CHECK((int64_t)n_blocks * w->block_tokens >= n_end);
    for (int32_t n_before = request->n_computed; n_before < n_end;) {
        int32_t n_rows = min_i32(rows_left(w), n_end - n_before);
        add_rows(w, n_before, n_rows, table, tokens + n_before);
        n_before += n_rows;
    }
    if (n_end == request->n_tokens) {
        lane->logit_rows[w->pass.n_logit_rows] = w->pass.n_rows - 1;
        lane->item_of_logit[w->pass.n_logit_rows++] = i;
    }
}

/* ---- Padded batches. ---- */

/* A table for rows [n_before, n_end) of nobody's sequence: what they write is theirs alone, what
 * they read before is the block that is only read. NULL: too few blocks are left in this pass. */
static struct table pad_table(struct work *w, int32_t n_before, int32_t n_end)
{
    uint32_t n_read = (uint32_t)(n_before / w->block_tokens);
    uint32_t n = (uint32_t)kv_blocks_for(n_end, w->block_tokens);
    if (w->n_pads - w->n_pads_used < n - n_read ||
        w->n_table + (size_t)n * w->n_heads > w->lane->n_pad_table_max)
        return (struct table){ .blocks = NULL };
    uint32_t *blocks = w->lane->pad_table + w->n_table;
    w->n_table += (size_t)n * w->n_heads;
    for (uint32_t head = 0; head < w->n_heads; head++)
        for (uint32_t k = 0; k < n; k++) {
            uint32_t pad = k < n_read ? 0 : w->n_pads_used + k - n_read;
            blocks[head * n + k] = w->first_pad + pad * w->n_heads + head;
        }
    w->n_pads_used += n - n_read;
    return (struct table){ blocks, n };
}

static void add_pads(struct work *w, int32_t n_before, int32_t n_rows)
{
    int32_t n_end = n_before + n_rows;
    w->lane->n_pad_rows += n_rows;
    while (n_before < n_end) {
        int32_t n = min_i32(min_i32(rows_left(w), n_end - n_before), w->block_tokens);
        struct table table = pad_table(w, n_before, n_before + n);
        if (table.blocks == NULL) { /* the pass before took them all */
            CHECK(w->pass.n_sequences > 0);
            run_pass(w);
            continue;
        }
        add_rows(w, n_before, n, table, NULL);
        n_before += n;
    }
}

/* The table of pads must hold the longest row at least. */
static void make_pads(struct work *w)
{
    struct run_lane *lane = w->lane;
    int32_t n_lanes = lane->options.device->n_lanes;
    size_t n_most = (size_t)(w->batch->pad_to / w->block_tokens + 3) * w->n_heads;
    size_t n = n_most * (size_t)max_i32(w->batch->n_seats, 1);
    n = n < n_most + (1u << 20) ? n : n_most + (1u << 20);
    if (n > lane->n_pad_table_max) {
        lane->pad_table =
            mem_grow(lane->pad_table, lane->n_pad_table_max * sizeof(*lane->pad_table),
                     n * sizeof(*lane->pad_table));
        lane->n_pad_table_max = n;
    }
    int64_t n_pads = kv_pads(lane->view->kv, w->batch->service, &w->first_pad) / n_lanes;
    w->n_pads = (uint32_t)n_pads;
    w->first_pad += w->n_pads * (uint32_t)lane->index * w->n_heads;
    CHECK(w->n_pads >= 3); /* the one that is only read, and a row's two */
}

static int32_t width_of(const struct batch *batch)
{
    int32_t width = 0;
    for (int32_t i = 0; i < batch->n_items; i++)
        width = max_i32(width, batch->items[i].n_tokens);
    return width;
}

static void compute(struct work *w)
{
    const struct batch *batch = w->batch;
    int32_t width = batch->pad_to > 0 ? width_of(batch) : 0;
    begin_pass(w);
    if (batch->pad_to > 0)
        make_pads(w);
    for (int32_t i = 0; i < batch->n_items; i++) {
        add_item(w, i);
        if (width > batch->items[i].n_tokens)
            add_pads(w, 0, width - batch->items[i].n_tokens);
    }
    for (int32_t seat = batch->n_items; seat < batch->n_seats && batch->pad_to > 0; seat++)
        add_pads(w, max_i32(batch->pad_to - width, 0), width);
    run_pass(w);
}

/* ---- The lane. ---- */

void run_lane_scratch_open(struct run_lane_scratch *scratch, const struct run_lane_options *options,
                           int lane, const struct run_model *model)
{
    const struct compute_backend *backend = options->device->lanes[lane].backend;
    int32_t n_vocabulary = model->program.n_vocabulary, n_logits = options->n_logit_rows_max;
    size_t workspace_bytes =
        backend->workspace_bytes(backend->self, &model->program, options->n_rows_max, n_logits);
    size_t logits_bytes = sizeof(float) * (size_t)n_logits * (size_t)n_vocabulary;
    *scratch = (struct run_lane_scratch){ .workspace = mem_take(workspace_bytes),
                                          .logits = mem_take(logits_bytes),
                                          .n_samplers = run_model_n_samplers(backend, n_logits) };
    mem_wish_huge(scratch->workspace, workspace_bytes);
    mem_wish_huge(scratch->logits, logits_bytes);
    scratch->samplers = mem_take(sizeof *scratch->samplers * (size_t)scratch->n_samplers);
    for (int i = 0; i < scratch->n_samplers; i++)
        run_sampler_init(&scratch->samplers[i], backend->draw, n_vocabulary);
}

void run_lane_scratch_close(struct run_lane_scratch *scratch)
{
    mem_give(scratch->workspace);
    mem_give(scratch->logits);
    for (int i = 0; i < scratch->n_samplers; i++)
        run_sampler_free(&scratch->samplers[i]);
    mem_give(scratch->samplers);
    *scratch = (struct run_lane_scratch){ 0 };
}

void run_lane_run(struct run_lane *lane, const struct run_model *model,
                  const struct run_lane_scratch *scratch, const struct batch *batch,
                  struct run_lane_result *result)
{
    struct work w = {
        .lane = lane, .model = model, .scratch = scratch, .batch = batch, .result = result
    };
    memset(result->n_new, 0, sizeof(int32_t) * (size_t)batch->n_items);
    memset(result->logprobs, 0, sizeof(void *) * (size_t)batch->n_items);
    result->done = (struct engine_exec_done){ .batch = batch->id,
                                              .n_steps = 1,
                                              .n_new = result->n_new,
                                              .begin_ns = time_now_ns(),
                                              .is_failed = !model };
    if (batch->kind != BATCH_COMPUTE) {
        result->done.is_failed = false;
        for (int32_t i = 0; i < batch->n_items; i++)
            kv_host_copy(lane->view->kv, batch->service, batch->items[i].slot,
                         batch->kind == BATCH_COPY_OUT);
    } else if (model) {
        compute(&w);
    }
    result->done.end_ns = time_now_ns();
}

void run_lane_open(struct run_lane *lane, const struct run_lane_options *options, int index,
                   const struct engine_exec_view *view)
{
    size_t n_rows = (size_t)options->n_rows_max, n_logits = (size_t)options->n_logit_rows_max;
    *lane = (struct run_lane){ .options = *options, .view = view, .index = index };
    lane->ids = mem_take(sizeof *lane->ids * n_rows);
    lane->positions = mem_take(sizeof *lane->positions * n_rows);
    lane->logit_rows = mem_take(sizeof *lane->logit_rows * n_logits);
    lane->item_of_logit = mem_take(sizeof *lane->item_of_logit * n_logits);
    lane->sequences = mem_take(sizeof *lane->sequences * LANE_SEQUENCES_MAX);
}

void run_lane_close(struct run_lane *lane)
{
    mem_give(lane->ids);
    mem_give(lane->positions);
    mem_give(lane->logit_rows);
    mem_give(lane->item_of_logit);
    mem_give(lane->sequences);
    mem_give(lane->pad_table);
}
