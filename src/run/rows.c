/* A batch is a list of parts: runs of rows, for its items and for the other rows of a static batch.
 * A pass takes rows of these parts until it is full. A copy takes the parts of items: part i is all
 * of item i.
 *
 * In round k of a chain each item has k tokens more than its record says. The last one is unknown
 * while the round before is in flight. Item i is row i of each pass there, so that row drew it. */
#include "run/rows.h"

#include "base/mem.h"
#include "engine/bodies.h"
#include "engine/scores.h"
#include "engine/vector.h"
#include "kv/host.h"
#include "run/pads.h"

/* Part i of a plain batch is item i. */
static int32_t n_parts_of(const struct batch *batch)
{
    return batch_is_plain(batch) ? batch->n_items : run_pads_parts(batch);
}

static struct run_part part_of(const struct batch *batch, int32_t width, int32_t part)
{
    if (batch_is_plain(batch))
        return (struct run_part){ part, 0, batch->items[part].n_tokens };
    return run_pads_part(batch, width, part);
}

int64_t run_rows_count(const struct batch *batch)
{
    int32_t width = batch_is_plain(batch) ? 0 : batch_width(batch);
    int64_t n = 0;
    for (int32_t part = 0; part < n_parts_of(batch); part++)
        n += part_of(batch, width, part).n_rows;
    return n;
}

/* Returns how many more rows fit into this pass; 0: it is full. */
static int32_t rows_left(const struct run_filling *f)
{
    const struct compute_pass *pass = &f->slot->pass;
    const struct run_lane_options *o = &f->lane->options;
    if (pass->n_sequences == RUN_ROWS_SEQUENCES_MAX || pass->n_logit_rows == o->n_logit_rows_max)
        return 0;
    return o->n_rows_max - pass->n_rows;
}

/* Returns whether the last token of the items is being drawn by the pass before. */
static bool is_last_unknown(const struct run_filling *f)
{
    CHECK(f->slot->round - f->result->n_read <= 1);
    return f->slot->round > f->result->n_read;
}

/* Returns the place of the next row's mask, which is filled after the pass is begun. */
static const uint32_t *add_mask(struct run_filling *f)
{
    struct run_lane_slot *slot = f->slot;
    size_t n_words = ((size_t)weights_spec(f->model->weights)->n_vocabulary + 31) / 32;
    if (slot->n_mask_words < n_words) {
        CHECK(!slot->pass.has_late_masks);
        mem_give(slot->masks);
        slot->masks = mem_take(4 * n_words * (size_t)f->lane->options.n_logit_rows_max);
        slot->n_mask_words = n_words;
    }
    slot->pass.has_late_masks = true;
    return slot->masks + slot->n_mask_words * (size_t)slot->pass.n_logit_rows;
}

/* Adds the ask of one of the last rows of item i, which has caught up with it: n_more rows follow
 * it. It is behind as many drafts as `draft` says. */
static void ask_token(struct run_filling *f, int32_t i, int32_t draft, int32_t n_more)
{
    struct run_lane_slot *slot = f->slot;
    struct compute_pass *pass = &slot->pass;
    const struct request *request = &f->lane->shared->view.requests[f->batch->items[i].slot];
    struct engine_body body = engine_bodies_at(f->lane->shared->view.bodies, request->body);
    struct token_logprobs *logprobs = NULL;
    if (request->flags & REQUEST_WANTS_LOGPROBS)
        logprobs = &f->result->store[f->result->n_asked];
    if (draft == 0)
        f->result->logprobs[i] = logprobs; /* those of its drafts follow */
    bool is_unknown = is_last_unknown(f);
    const uint32_t *mask = request->flags & REQUEST_GUIDED ? add_mask(f) : NULL;
    CHECK(mask == NULL || (!is_unknown && f->batch->items[i].n_draft == 0));
    CHECK(request->n_tokens + slot->round + draft < request->n_tokens_max);
    slot->logit_rows[pass->n_logit_rows] = pass->n_rows - 1 - n_more;
    slot->item_of_logit[pass->n_logit_rows] = i;
    slot->asks[pass->n_logit_rows++] =
        (struct compute_ask){ .kind = COMPUTE_ASK_TOKEN,
                              .body = body.head,
                              .tokens = body.tokens,
                              .n_prompt = request->n_prompt,
                              .n_tokens = request->n_tokens + slot->round + draft - is_unknown,
                              .follows = is_unknown ? compute_drawn(i) : 0,
                              .mask = mask,
                              .logprobs = logprobs };
    f->result->n_asked++;
}

static bool is_scored(const struct run_filling *f, int32_t i)
{
    const struct engine_exec_view *view = &f->lane->shared->view;
    return engine_bodies_at(view->bodies, view->requests[f->batch->items[i].slot].body).scores !=
           NULL;
}

static bool is_embedded(const struct run_filling *f, int32_t i)
{
    return f->lane->shared->view.requests[f->batch->items[i].slot].kind == REQUEST_EMBED;
}

/* Adds the asks for the scores of prompt tokens behind the last n rows of the pass, which are item
 * i's from position n_before on. */
static void ask_scores(struct run_filling *f, int32_t i, int32_t n_before, int32_t n)
{
    struct run_lane_slot *slot = f->slot;
    struct compute_pass *pass = &slot->pass;
    const struct request *request = &f->lane->shared->view.requests[f->batch->items[i].slot];
    struct engine_body body = engine_bodies_at(f->lane->shared->view.bodies, request->body);
    for (int32_t k = 0; k < n && n_before + k + 1 < request->n_prompt; k++) {
        if (n_before + k + 1 < body.scores->n_known)
            continue; /* it was preempted, and computes its prompt again */
        slot->logit_rows[pass->n_logit_rows] = pass->n_rows - n + k;
        slot->item_of_logit[pass->n_logit_rows] = i;
        slot->asks[pass->n_logit_rows] =
            (struct compute_ask){ .kind = COMPUTE_ASK_SCORE,
                                  .id = body.tokens[n_before + k + 1],
                                  .n_top = body.head->sampling.n_top_scores,
                                  .logprobs = &slot->scores[pass->n_logit_rows] };
        pass->n_logit_rows++;
    }
}

/* Marks row `row` of the pass as one that counts in a vector. */
static void keep_row(struct run_filling *f, int32_t i, int32_t row)
{
    struct run_lane_slot *slot = f->slot;
    slot->logit_rows[slot->pass.n_logit_rows] = row;
    slot->item_of_logit[slot->pass.n_logit_rows] = i;
    slot->asks[slot->pass.n_logit_rows++] = (struct compute_ask){ .kind = COMPUTE_ASK_VECTOR };
}

/* Returns whether vectors are made of rows of the stream itself, and not of logit rows. */
static bool pools_stream(const struct model_spec *spec)
{
    return spec->is_encoder && spec->n_labels == 0;
}

/* Adds what the last n rows of the pass give to the vector of item i, whose positions from n_before
 * on they are. */
static void ask_vector(struct run_filling *f, int32_t i, int32_t n_before, int32_t n)
{
    const struct model_spec *spec = weights_spec(f->model->weights);
    const struct request *request = &f->lane->shared->view.requests[f->batch->items[i].slot];
    struct run_lane_slot *slot = f->slot;
    struct compute_pass *pass = &slot->pass;
    struct engine_vector *vector =
        engine_bodies_at(f->lane->shared->view.bodies, request->body).vector;
    int32_t from = 0, to = request->n_prompt; /* positions that it is made of */
    if (spec->pooling == POOLING_FIRST)
        to = 1;
    else if (spec->pooling == POOLING_LAST)
        from = to - 1;
    from = max_i32(max_i32(from, n_before), vector->n_known); /* a preempted one has some */
    to = min_i32(to, n_before + n);
    if (from >= to)
        return;
    int32_t first = pass->n_rows - n + from - n_before;
    int32_t first_logit = pass->n_logit_rows;
    for (int32_t k = 0; k < to - from && !pools_stream(spec); k++)
        keep_row(f, i, first + k);
    slot->vectors[pass->n_vectors++] = (struct compute_vector){
        .first = pools_stream(spec) ? first : first_logit, .n = to - from, .sum = vector->sum
    };
}

/* Gives the tokens of a pair's second text the places of the second type. */
static void set_types(struct run_filling *f, const struct request *request, int32_t n)
{
    const struct model_spec *spec = weights_spec(f->model->weights);
    int32_t n_first =
        (int32_t)engine_bodies_at(f->lane->shared->view.bodies, request->body).head->n_first;
    int32_t *positions = f->slot->positions + f->slot->pass.n_rows - n;
    for (int32_t k = n_first; n_first > 0 && spec->n_types > 1 && k < n; k++)
        positions[k] += spec->n_positions_max + spec->position_offset;
}

/* Adds rows [at, at + n) of the computed ones of item i. */
static void add_item(struct run_filling *f, int32_t i, int32_t at, int32_t n)
{
    const struct engine_exec_view *view = &f->lane->shared->view;
    const struct batch_item *item = &f->batch->items[i];
    const struct request *request = &view->requests[item->slot];
    const int32_t *tokens = engine_bodies_at(view->bodies, request->body).tokens;
    const int32_t drawn = compute_drawn(i);
    int32_t n_blocks, n_before = request->n_computed + f->slot->round + at;
    int32_t first_row = f->slot->pass.n_rows;
    struct run_table table = { .blocks = kv_table(view->kv, item->slot, &n_blocks) };
    if (f->slot->pass.kv.is_by_head)
        table.blocks = kv_table_heads(view->kv, item->slot, &table.stride);
    CHECK((int64_t)n_blocks * f->block_tokens >= n_before + n);
    run_filling_add(f, n_before, n, table, is_last_unknown(f) ? &drawn : tokens + n_before);
    for (int32_t k = max_i32(request->n_prompt - n_before, 0); k < n; k++)
        f->slot->classes[first_row + k] = COMPUTE_ROW_GENERATED;
    if (is_scored(f, i))
        ask_scores(f, i, n_before, n);
    if (request->kind == REQUEST_EMBED) {
        set_types(f, request, n);
        ask_vector(f, i, n_before, n);
    }
    if (n_before + n != request->n_tokens + f->slot->round + item->n_draft ||
        request->kind != REQUEST_GENERATE)
        return;
    for (int32_t draft = 0; draft <= item->n_draft; draft++)
        ask_token(f, i, draft, item->n_draft - draft);
}

/* ---- A pass, a copy. ---- */

static void begin_pass(struct run_filling *f)
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
        .vectors = slot->vectors,
        .kv = { .memory = lane->shared->pool,
                .unit_bytes = (uint64_t)kv_unit_bytes(kv),
                .block_bytes = (uint64_t)layout->block_bytes,
                .blocks_per_unit = (uint32_t)layout->blocks_per_unit,
                .block_tokens = layout->block_tokens,
                .dtype = f->model->kv_dtype,
                .n_layers = spec->n_layers,
                .n_kv_heads = spec->n_kv_heads,
                .head_dim = spec->head_dim,
                .is_by_head = kv_kind(kv) == KV_HEADS,
                .has_keys_only = spec->latent.rank > 0 },
    };
}

/* Returns whether n rows that draw a token each fit into this pass. An empty pass has room
 * for a request's drafts. */
static bool has_room(const struct run_filling *f, int32_t n)
{
    const struct compute_pass *pass = &f->slot->pass;
    bool has = n <= f->lane->options.n_rows_max - pass->n_rows &&
               n <= f->lane->options.n_logit_rows_max - pass->n_logit_rows;
    CHECK(has || pass->n_rows > 0);
    return has;
}

/* Adds some rows of a part. Returns 0 when the pass is full. */
static int32_t add_some(struct run_filling *f, struct run_part part, int32_t at)
{
    int32_t n = min_i32(part.n_rows - at, rows_left(f));
    if (n == 0)
        return 0;
    if (part.item < 0)
        return run_pads_add(f, part.n_before + at, n);
    if (f->batch->items[part.item].n_draft > 0 && !has_room(f, part.n_rows))
        return 0; /* its rows stay together, since drafts are accepted one by one */
    const struct model_spec *spec = weights_spec(f->model->weights);
    if (spec->is_encoder && n < part.n_rows) { /* a text is computed whole */
        CHECK(at == 0 && f->slot->pass.n_rows > 0);
        return 0;
    }
    bool is_mean = spec->pooling == POOLING_MEAN && !pools_stream(spec);
    if (is_scored(f, part.item) || (is_mean && is_embedded(f, part.item)))
        n = min_i32(n, f->lane->options.n_logit_rows_max - f->slot->pass.n_logit_rows);
    add_item(f, part.item, at, n);
    return n;
}

static bool fill_pass(struct run_lane *lane, struct run_lane_slot *slot)
{
    struct run_filling f = { .lane = lane,
                             .slot = slot,
                             .batch = &lane->job.batches[lane->job.batch],
                             .result = &lane->results[lane->job.batch] };
    f.model = lane->shared->models[f.batch->service];
    begin_pass(&f);
    if (!batch_is_plain(f.batch))
        run_pads_begin(&f);
    int32_t n_parts = n_parts_of(f.batch);
    while (lane->job.part < n_parts) {
        struct run_part part = part_of(f.batch, f.pads.width, lane->job.part);
        if (lane->job.at == part.n_rows) {
            lane->job.part++;
            lane->job.at = 0;
            continue;
        }
        int32_t n = add_some(&f, part, (int32_t)lane->job.at);
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
    while (lane->job.part < batch->n_items) {
        int32_t n = kv_host_parts(lane->shared->view.kv, batch->items[lane->job.part].slot, is_out,
                                  lane->job.at, slot->parts + slot->copy.n_parts,
                                  RUN_ROWS_PARTS_MAX - slot->copy.n_parts);
        slot->copy.n_parts += n;
        lane->job.at += n;
        if (slot->copy.n_parts == RUN_ROWS_PARTS_MAX)
            return false;
        lane->job.part++;
        lane->job.at = 0;
    }
    return true;
}

bool run_rows_fill(struct run_lane *lane, struct run_lane_slot *slot)
{
    slot->is_copy = lane->job.batches[lane->job.batch].kind != BATCH_COMPUTE;
    return slot->is_copy ? fill_copy(lane, slot) : fill_pass(lane, slot);
}
