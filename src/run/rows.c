/* A batch is a list of runs of rows. Run 2 i is the rows that item i computes, and run 2 i + 1 its
 * pads. Behind them each empty seat is a run of pads. A pass takes rows of these runs until it is
 * full. A copy takes the parts of items: run i is all of item i. */
#include "run/rows.h"

#include "base/mem.h"
#include "engine/bodies.h"
#include "kv/host.h"

struct filling {
    struct run_lane *lane;
    struct run_lane_slot *slot;
    const struct batch *batch;
    const struct run_model *model;
    struct run_lane_result *result;
    int32_t block_tokens, width;             /* width: of a padded batch its longest item */
    uint32_t first_pad, n_pads, n_pads_used; /* blocks for pads; the first is only read */
    uint32_t n_heads;                        /* rows of a table: of all heads of all layers, or 1 */
    size_t n_table;                          /* the used part of pad_table */
};

static int32_t width_of(const struct batch *batch)
{
    int32_t width = 0;
    for (int32_t i = 0; i < batch->n_items && batch->pad_to > 0; i++)
        width = max_i32(width, batch->items[i].n_tokens);
    return width;
}

static int32_t n_runs_of(const struct batch *batch)
{
    int32_t n_empty = batch->pad_to > 0 ? max_i32(batch->n_seats - batch->n_items, 0) : 0;
    return 2 * batch->n_items + n_empty;
}

static int32_t run_rows(const struct batch *batch, int32_t run, int32_t width)
{
    if (run >= 2 * batch->n_items)
        return width;
    int32_t n = batch->items[run / 2].n_tokens;
    return run % 2 == 0 ? n : max_i32(width - n, 0);
}

int64_t run_rows_count(const struct batch *batch)
{
    int32_t width = width_of(batch);
    int64_t n = 0;
    for (int32_t run = 0; run < n_runs_of(batch); run++)
        n += run_rows(batch, run, width);
    return n;
}

/* Returns how many more rows fit into this pass; 0: it is full. */
static int32_t rows_left(const struct filling *f)
{
    const struct compute_pass *pass = &f->slot->pass;
    const struct run_lane_options *o = &f->lane->options;
    if (pass->n_sequences == RUN_ROWS_SEQUENCES_MAX || pass->n_logit_rows == o->n_logit_rows_max)
        return 0;
    return o->n_rows_max - pass->n_rows;
}

struct table { /* see struct compute_sequence */
    const uint32_t *blocks;
    uint32_t stride;
};

/* Adds rows. Rows without ids are padding. A padded batch may grow beyond the model's last
 * position; its pads then stay on that position, since the model has not learned later ones. */
static void add_rows(struct filling *f, int32_t n_before, int32_t n_rows, struct table table,
                     const int32_t *ids)
{
    struct run_lane_slot *slot = f->slot;
    struct compute_pass *pass = &slot->pass;
    int32_t last = weights_spec(f->model->weights)->n_positions_max - 1;
    slot->sequences[pass->n_sequences++] =
        (struct compute_sequence){ pass->n_rows, n_rows, n_before, table.blocks, table.stride };
    for (int32_t k = 0; k < n_rows; k++) {
        slot->ids[pass->n_rows + k] = ids != NULL ? ids[k] : 0;
        slot->positions[pass->n_rows + k] =
            ids != NULL ? n_before + k : min_i32(n_before + k, last);
        slot->classes[pass->n_rows + k] = COMPUTE_ROW_PROMPT;
    }
    pass->n_rows += n_rows;
}

/* Adds the ask of the last added row, for an item that catches up with it. */
static void ask_token(struct filling *f, int32_t i, const struct request *request)
{
    struct run_lane_slot *slot = f->slot;
    struct compute_pass *pass = &slot->pass;
    struct engine_body body = engine_bodies_at(f->lane->shared->view.bodies, request->body);
    struct token_logprobs *logprobs = NULL;
    if (request->flags & REQUEST_WANTS_LOGPROBS)
        f->result->logprobs[i] = logprobs = &f->result->store[f->result->n_asked];
    CHECK(request->n_tokens < request->n_tokens_max);
    slot->logit_rows[pass->n_logit_rows] = pass->n_rows - 1;
    slot->item_of_logit[pass->n_logit_rows] = i;
    slot->asks[pass->n_logit_rows++] = (struct compute_ask){ .kind = COMPUTE_ASK_TOKEN,
                                                             .body = body.head,
                                                             .tokens = body.tokens,
                                                             .n_prompt = request->n_prompt,
                                                             .n_tokens = request->n_tokens,
                                                             .logprobs = logprobs };
    f->result->n_asked++;
}

/* Adds rows [at, at + n) of the computed ones of item i. */
static void add_item(struct filling *f, int32_t i, int32_t at, int32_t n)
{
    const struct engine_exec_view *view = &f->lane->shared->view;
    const struct batch_item *item = &f->batch->items[i];
    const struct request *request = &view->requests[item->slot];
    const int32_t *tokens = engine_bodies_at(view->bodies, request->body).tokens;
    int32_t n_blocks, n_before = request->n_computed + at;
    int32_t first_row = f->slot->pass.n_rows;
    struct table table = { .blocks = kv_table(view->kv, item->slot, &n_blocks) };
    if (f->slot->pass.kv.is_by_head)
        table.blocks = kv_table_heads(view->kv, item->slot, &table.stride);
    CHECK((int64_t)n_blocks * f->block_tokens >= n_before + n);
    add_rows(f, n_before, n, table, tokens + n_before);
    for (int32_t k = max_i32(request->n_prompt - n_before, 0); k < n; k++)
        f->slot->classes[first_row + k] = COMPUTE_ROW_GENERATED;
    if (n_before + n == request->n_tokens)
        ask_token(f, i, request);
}

/* ---- Padded batches. ---- */

/* Returns a table for rows [n_before, n_end) of padding. The rows write to blocks of their own, and
 * what they read before is the read-only block. Returns NULL when too few blocks are left in this
 * pass. */
static struct table pad_table(struct filling *f, int32_t n_before, int32_t n_end)
{
    uint32_t n_read = (uint32_t)(n_before / f->block_tokens);
    uint32_t n = (uint32_t)kv_blocks_for(n_end, f->block_tokens);
    if (f->n_pads - f->n_pads_used < n - n_read ||
        f->n_table + (size_t)n * f->n_heads > f->slot->n_pad_table_max)
        return (struct table){ .blocks = NULL };
    uint32_t *blocks = f->slot->pad_table + f->n_table;
    f->n_table += (size_t)n * f->n_heads;
    for (uint32_t head = 0; head < f->n_heads; head++)
        for (uint32_t k = 0; k < n; k++) {
            uint32_t pad = k < n_read ? 0 : f->n_pads_used + k - n_read;
            blocks[head * n + k] = f->first_pad + pad * f->n_heads + head;
        }
    f->n_pads_used += n - n_read;
    return (struct table){ blocks, n };
}

/* Adds at most n pads from position n_before on. Returns how many. */
static int32_t add_pads(struct filling *f, int32_t n_before, int32_t n)
{
    n = min_i32(n, f->block_tokens);
    struct table table = pad_table(f, n_before, n_before + n);
    if (table.blocks == NULL) { /* the rows before took all of them */
        CHECK(f->slot->pass.n_sequences > 0);
        return 0;
    }
    add_rows(f, n_before, n, table, NULL);
    f->lane->n_pad_rows += n;
    return n;
}

/* Makes the table of pads, which must hold at least the longest row. */
static void make_pads(struct filling *f)
{
    struct run_lane *lane = f->lane;
    struct run_lane_slot *slot = f->slot;
    int32_t n_lanes = lane->options.device->n_lanes;
    size_t n_most = (size_t)(f->batch->pad_to / f->block_tokens + 3) * f->n_heads;
    size_t n = n_most * (size_t)max_i32(f->batch->n_seats, 1);
    n = n < n_most + (1u << 20) ? n : n_most + (1u << 20);
    if (n > slot->n_pad_table_max) {
        slot->pad_table =
            mem_grow(slot->pad_table, slot->n_pad_table_max * sizeof(*slot->pad_table),
                     n * sizeof(*slot->pad_table));
        slot->n_pad_table_max = n;
    }
    int64_t n_pads = kv_pads(lane->shared->view.kv, f->batch->service, &f->first_pad) / n_lanes;
    f->n_pads = (uint32_t)n_pads;
    f->n_pads_used = 1;
    f->first_pad += f->n_pads * (uint32_t)lane->index * f->n_heads;
    CHECK(f->n_pads >= 3); /* the read-only one, and a row's two */
}

/* ---- A pass, a copy. ---- */

static void begin_pass(struct filling *f)
{
    struct run_lane_slot *slot = f->slot;
    const struct run_lane *lane = f->lane;
    struct kv *kv = lane->shared->view.kv;
    const struct kv_layout *layout = kv_layout(kv, f->batch->service);
    const struct model_spec *spec = weights_spec(f->model->weights);
    f->block_tokens = layout->block_tokens;
    f->n_heads = (uint32_t)layout->units_per_block;
    slot->pass = (struct compute_pass){
        .work = { .kind = COMPUTE_WORK_PASS },
        .program = &f->model->program,
        .workspace = lane->workspaces[f->batch->service],
        .ids = slot->ids,
        .classes = slot->classes,
        .positions = slot->positions,
        .sequences = slot->sequences,
        .logit_rows = slot->logit_rows,
        .asks = slot->asks,
        .drawn = slot->drawn,
        .kv = { .memory = lane->shared->pool,
                .unit_bytes = (uint64_t)kv_unit_bytes(kv),
                .block_bytes = (uint64_t)layout->block_bytes,
                .blocks_per_unit = (uint32_t)layout->blocks_per_unit,
                .block_tokens = layout->block_tokens,
                .dtype = f->model->kv_dtype,
                .n_layers = spec->n_layers,
                .n_kv_heads = spec->n_kv_heads,
                .head_dim = spec->head_dim,
                .is_by_head = kv_kind(kv) == KV_HEADS },
    };
}

/* Adds some rows of a run. Returns 0 when the pass is full. */
static int32_t add_some(struct filling *f, int32_t run, int32_t at)
{
    const struct batch *batch = f->batch;
    int32_t n = min_i32(run_rows(batch, run, f->width) - at, rows_left(f));
    if (n == 0)
        return 0;
    if (run >= 2 * batch->n_items)
        return add_pads(f, max_i32(batch->pad_to - f->width, 0) + at, n);
    if (run % 2 == 1)
        return add_pads(f, at, n);
    add_item(f, run / 2, at, n);
    return n;
}

static bool fill_pass(struct run_lane *lane, struct run_lane_slot *slot)
{
    struct filling f = { .lane = lane,
                         .slot = slot,
                         .batch = &lane->job.batches[lane->job.batch],
                         .result = &lane->results[lane->job.batch] };
    f.model = lane->shared->models[f.batch->service];
    f.width = width_of(f.batch);
    begin_pass(&f);
    if (f.batch->pad_to > 0)
        make_pads(&f);
    int32_t n_runs = n_runs_of(f.batch);
    while (lane->job.run < n_runs) {
        if (lane->job.at == run_rows(f.batch, lane->job.run, f.width)) {
            lane->job.run++;
            lane->job.at = 0;
            continue;
        }
        int32_t n = add_some(&f, lane->job.run, (int32_t)lane->job.at);
        if (n == 0)
            return false;
        lane->job.at += n;
    }
    return true;
}

static bool fill_copy(struct run_lane *lane, struct run_lane_slot *slot)
{
    const struct batch *batch = &lane->job.batches[lane->job.batch];
    bool is_out = batch->kind == BATCH_COPY_OUT;
    slot->copy = (struct compute_copy){ .work = { .kind = COMPUTE_WORK_COPY },
                                        .from = is_out ? lane->shared->pool : lane->shared->host,
                                        .to = is_out ? lane->shared->host : lane->shared->pool,
                                        .parts = slot->parts };
    while (lane->job.run < batch->n_items) {
        int32_t n = kv_host_parts(lane->shared->view.kv, batch->items[lane->job.run].slot, is_out,
                                  lane->job.at, slot->parts + slot->copy.n_parts,
                                  RUN_ROWS_PARTS_MAX - slot->copy.n_parts);
        slot->copy.n_parts += n;
        lane->job.at += n;
        if (slot->copy.n_parts == RUN_ROWS_PARTS_MAX)
            return false;
        lane->job.run++;
        lane->job.at = 0;
    }
    return true;
}

bool run_rows_fill(struct run_lane *lane, struct run_lane_slot *slot)
{
    slot->is_copy = lane->job.batches[lane->job.batch].kind != BATCH_COMPUTE;
    return slot->is_copy ? fill_copy(lane, slot) : fill_pass(lane, slot);
}
