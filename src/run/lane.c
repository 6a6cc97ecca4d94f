/* A lane's batches in flight: see lane.h. */
#include "run/lane.h"

#include "base/mem.h"
#include "base/time.h"
#include "engine/bodies.h"
#include "engine/scores.h"
#include "run/guides.h"
#include "run/rows.h"
#include <string.h>

static bool is_in_flight(const struct run_lane *lane)
{
    return lane->n_ended < lane->n_begun;
}

static struct compute_work *work_of(struct run_lane_slot *slot)
{
    return slot->is_copy ? &slot->copy.work : &slot->pass.work;
}

/* Returns how long the lane is kept: the model's time for these rows of the batch. */
static int64_t ns_least(const struct run_lane *lane, const struct batch *batch, int32_t n_rows)
{
    const struct perf *steady = &lane->shared->steady[batch->service];
    if (batch->kind != BATCH_COMPUTE || steady->c3_ps[0] + steady->c2_ps[0] <= 0)
        return 0;
    struct perf_load load = engine_exec_load(batch, lane->shared->view.requests);
    if (load.n_new + load.n_decodes == 0)
        return 0;
    return (int64_t)((double)(perf_step_ps(steady, &load) / 1000) * (double)n_rows /
                     (double)max_i64(run_rows_count(batch), 1));
}

/* Goes on to the next batch: the current one begins no more work. */
static void leave_batch(struct run_lane *lane)
{
    lane->results[lane->job.batch++].is_begun = true;
    lane->job.round = 0;
    lane->job.part = 0;
    lane->job.at = 0;
}

/* Fills the masks of a pass while its forward part runs. */
static void fill_masks(struct run_lane *lane, struct run_lane_slot *slot)
{
    const struct batch *batch = &lane->job.batches[slot->batch];
    struct run_lane_result *result = &lane->results[slot->batch];
    for (int32_t row = 0; row < slot->pass.n_logit_rows; row++) {
        int32_t i = slot->item_of_logit[row];
        if (slot->asks[row].mask == NULL ||
            run_guides_fill(lane->shared->guides, lane->shared->view.requests, batch->items[i].slot,
                            &slot->asks[row], slot->masks + slot->n_mask_words * (size_t)row))
            continue;
        result->is_broken[i] = true;
        result->done.is_broken = result->is_broken;
    }
    lane->options.device->masks(lane->options.device->self, &slot->pass);
}

/* Begins the next piece of the current batch. */
static void begin_next(struct run_lane *lane)
{
    struct run_lane_slot *slot = &lane->slots[lane->n_begun % RUN_LANE_DEPTH];
    struct compute_device *device = lane->options.device;
    const struct batch *batch = &lane->job.batches[lane->job.batch];
    struct run_lane_result *result = &lane->results[lane->job.batch];
    CHECK(slot->batch < 0);
    slot->batch = lane->job.batch;
    slot->round = lane->job.round;
    lane->n_chained += lane->job.round > result->n_read;
    bool is_whole = run_rows_fill(lane, slot);
    if (is_whole && ++lane->job.round < lane->job.n_rounds)
        lane->job.part = 0;
    else if (is_whole)
        leave_batch(lane);
    struct compute_work *work = work_of(slot);
    work->notify = lane->shared->notify;
    work->notify_arg = lane->shared->notify_arg;
    work->ns_least = slot->is_copy ? 0 : ns_least(lane, batch, slot->pass.n_rows);
    result->n_in_flight++;
    lane->n_begun++;
    device->begin(device->self, device->lanes[lane->index], work);
    if (!slot->is_copy && slot->pass.has_late_masks)
        fill_masks(lane, slot);
}

/* Ends a batch that can't be computed, without any work. */
static void skip_batch(struct run_lane *lane)
{
    lane->results[lane->job.batch].done.is_failed = true;
    leave_batch(lane);
}

static void pump(struct run_lane *lane)
{
    int depth = min_i32(lane->options.device->lanes[lane->index]->depth, RUN_LANE_DEPTH);
    while (lane->job.batch < lane->job.n_batches) {
        const struct batch *batch = &lane->job.batches[lane->job.batch];
        bool has_model = lane->shared->models[batch->service] != NULL;
        if ((batch->kind == BATCH_COMPUTE && !has_model) || lane->job.has_lost_kv ||
            lane->results[lane->job.batch].done.is_failed)
            skip_batch(lane);
        else if (lane->n_begun - lane->n_ended < (uint64_t)depth)
            begin_next(lane);
        else
            return;
    }
}

static bool is_chain(const struct run_lane *lane)
{
    return lane->job.n_rounds > 1;
}

void run_lane_cut(struct run_lane *lane)
{
    if (is_chain(lane) && lane->job.batch == 0 && lane->job.round > 0)
        leave_batch(lane);
}

/* Returns whether the row follows a draft that differs from the token drawn there, or a row that
 * does. The token before it was read already, since the rows of an item are in order. */
static bool is_refused(const struct request *request, int32_t n_new, const int32_t *tokens,
                       const struct compute_pass *pass, int32_t row)
{
    int32_t at = pass->positions[pass->logit_rows[row]], id = pass->ids[pass->logit_rows[row]];
    if (at < request->n_tokens || id < 0) /* no draft: a known token, or one of a chain */
        return false;
    return at >= request->n_tokens + n_new || tokens[at] != id;
}

/* Appends the tokens that a grammar forces behind the drawn one. Returns how many. */
static int32_t jump(const struct run_lane *lane, const struct batch *batch, int32_t i,
                    const struct compute_ask *ask, int32_t *tokens)
{
    const struct request *r = &lane->shared->view.requests[batch->items[i].slot];
    struct compute_ask behind = *ask;
    int32_t n_max = r->n_tokens_max - ask->n_tokens - 1;
    if ((r->flags & REQUEST_GUIDED) == 0 || (r->flags & REQUEST_WANTS_LOGPROBS) != 0 ||
        !batch_is_plain(batch) || request_body_stops(ask->body, tokens[ask->n_tokens]))
        return 0;
    if (r->n_lease > 0)
        n_max = min_i32(n_max, r->n_lease - 1);
    behind.n_tokens++;
    return run_guides_jump(lane->shared->guides, lane->shared->view.requests, batch->items[i].slot,
                           &behind, tokens, n_max);
}

/* Reads the draws of a pass. */
static void read_pass(struct run_lane *lane, struct run_lane_slot *slot)
{
    const struct compute_pass *pass = &slot->pass;
    const struct batch *batch = &lane->job.batches[slot->batch];
    struct run_lane_result *result = &lane->results[slot->batch];
    for (int32_t row = 0; row < pass->n_logit_rows; row++) {
        int32_t i = slot->item_of_logit[row];
        const struct request *request = &lane->shared->view.requests[batch->items[i].slot];
        struct engine_body body = engine_bodies_at(lane->shared->view.bodies, request->body);
        if (slot->asks[row].kind == COMPUTE_ASK_VECTOR)
            continue;
        if (slot->asks[row].kind == COMPUTE_ASK_SCORE) {
            engine_scores_put(body.scores, pass->positions[pass->logit_rows[row]] + 1,
                              &slot->scores[row]);
            continue;
        }
        int32_t at = pass->positions[pass->logit_rows[row]] + 1;
        if (is_refused(request, result->n_new[i], body.tokens, pass, row))
            continue;
        body.tokens[at] = pass->drawn[row];
        result->n_new[i] =
            at + 1 - request->n_tokens + jump(lane, batch, i, &slot->asks[row], body.tokens);
        if (result->logprobs[i] != NULL)
            result->done.logprobs = result->logprobs;
        if (is_chain(lane) && request_body_stops(body.head, pass->drawn[row]))
            run_lane_cut(lane);
    }
    result->n_read = result->done.n_steps = slot->round + 1;
}

/* Removes the oldest piece of work, once it has ended. */
static bool end_next(struct run_lane *lane)
{
    struct run_lane_slot *slot = &lane->slots[lane->n_ended % RUN_LANE_DEPTH];
    struct compute_device *device = lane->options.device;
    struct compute_work *work = work_of(slot);
    enum compute_state state = device->poll(device->self, work);
    if (state == COMPUTE_BEGUN)
        return false;
    struct run_lane_result *result = &lane->results[slot->batch];
    if (state != COMPUTE_DONE) {
        result->done.is_failed = true;
        result->done.is_lost |= state == COMPUTE_LOST;
        lane->job.has_lost_kv |= lane->job.batches[slot->batch].kind == BATCH_COPY_IN;
    } else if (!slot->is_copy) {
        read_pass(lane, slot);
    }
    if (result->done.begin_ns == 0)
        result->done.begin_ns = work->begin_ns;
    result->done.end_ns = work->end_ns;
    result->n_in_flight--;
    slot->batch = -1;
    lane->n_ended++;
    return true;
}

bool run_lane_poll(struct run_lane *lane, struct engine_exec_done *done)
{
    while (is_in_flight(lane) && end_next(lane))
        pump(lane);
    if (lane->job.n_told == lane->job.n_batches)
        return false;
    struct run_lane_result *result = &lane->results[lane->job.n_told];
    if (!result->is_begun || result->n_in_flight > 0)
        return false;
    bool is_compute = lane->job.batches[lane->job.n_told].kind == BATCH_COMPUTE;
    if (result->done.begin_ns == 0)
        result->done.begin_ns = result->done.end_ns = time_now_ns();
    if (is_compute && lane->job.has_lost_kv)
        result->done.is_failed = true;
    if (result->done.is_failed)
        result->done.logprobs = NULL;
    *done = result->done;
    lane->job.n_told++;
    return true;
}

bool run_lane_end(struct run_lane *lane)
{
    lane->job.n_batches = lane->job.batch; /* the other batches are given up */
    while (is_in_flight(lane) && end_next(lane))
        ;
    return !is_in_flight(lane);
}

/* Returns how many rounds of these batches form a chain. Every item of a chain draws one token in
 * every round, and all of them fit into a pass. */
static int32_t chain_of(const struct run_lane *lane, const struct batch *batches, int n_batches,
                        int32_t n_rounds)
{
    const struct batch *batch = &batches[0];
    if (n_batches > 1 || batch->kind != BATCH_COMPUTE || !batch_is_plain(batch) ||
        batch->n_items > min_i32(lane->options.n_rows_max, RUN_ROWS_SEQUENCES_MAX))
        return 1;
    for (int32_t i = 0; i < batch->n_items && n_rounds > 1; i++) {
        const struct request *r = &lane->shared->view.requests[batch->items[i].slot];
        if (batch->items[i].n_draft > 0 || r->kind != REQUEST_GENERATE ||
            r->n_tokens - r->n_computed != 1 ||
            (r->flags & (REQUEST_WANTS_LOGPROBS | REQUEST_GUIDED)) != 0)
            return 1;
        n_rounds = min_i32(n_rounds, engine_exec_rounds(r, 1));
    }
    return n_rounds;
}

/* Returns the most tokens that a round of the batch may draw. */
static int32_t n_draws_of(const struct batch *batch)
{
    int32_t n = batch->n_items;
    for (int32_t i = 0; i < batch->n_items; i++)
        n += batch->items[i].n_draft;
    return n;
}

void run_lane_begin(struct run_lane *lane, const struct batch *batches, int n_batches, int n_rounds)
{
    CHECK(n_batches <= LIMIT_BATCHES && lane->job.n_told == lane->job.n_batches);
    lane->job.n_batches = n_batches;
    lane->job.n_told = lane->job.batch = 0;
    lane->job.n_rounds = chain_of(lane, batches, n_batches, n_rounds);
    lane->job.round = lane->job.part = 0;
    lane->job.at = 0;
    lane->job.has_lost_kv = false;
    for (int i = 0; i < n_batches; i++) {
        const struct batch *batch = &batches[i];
        struct run_lane_result *result = &lane->results[i];
        CHECK(batch->n_items <= LIMIT_BATCH_ITEMS && batch->lane == lane->index);
        CHECK(batch->kind != BATCH_COMPUTE || n_draws_of(batch) <= lane->options.n_logit_rows_max);
        lane->job.batches[i] = *batch;
        lane->job.batches[i].items = lane->job.items[i];
        memcpy(lane->job.items[i], batch->items,
               sizeof(struct batch_item) * (size_t)batch->n_items);
        memset(result->n_new, 0, sizeof(int32_t) * (size_t)batch->n_items);
        memset(result->is_broken, 0, sizeof(bool) * (size_t)batch->n_items);
        memset(result->logprobs, 0, sizeof(void *) * (size_t)batch->n_items);
        result->done =
            (struct engine_exec_done){ .batch = batch->id, .n_steps = 1, .n_new = result->n_new };
        result->n_asked = result->n_read = 0;
        result->n_in_flight = 0;
        result->is_begun = false;
    }
    pump(lane);
    if (!is_in_flight(lane)) /* then no notification would come */
        lane->shared->notify(lane->shared->notify_arg);
}

/* ---- The parts of a lane. ---- */

enum status run_lane_put_model(struct run_lane *lane, int service, const struct run_model *model,
                               struct fault *fault)
{
    struct compute_device *device = lane->options.device;
    const struct compute_sizes sizes = { lane->options.n_rows_max, lane->options.n_logit_rows_max };
    return device->workspace_open(device->self, device->lanes[lane->index], &model->program, sizes,
                                  &lane->workspaces[service], fault);
}

void run_lane_remove_model(struct run_lane *lane, int service)
{
    struct compute_device *device = lane->options.device;
    if (lane->workspaces[service] != NULL)
        device->workspace_close(device->self, lane->workspaces[service]);
    lane->workspaces[service] = NULL;
}

static void open_slot(struct run_lane_slot *slot, const struct run_lane_options *o)
{
    size_t n_rows = (size_t)o->n_rows_max, n_logits = (size_t)o->n_logit_rows_max;
    *slot = (struct run_lane_slot){ .batch = -1 };
    slot->ids = mem_take(sizeof *slot->ids * n_rows);
    slot->positions = mem_take(sizeof *slot->positions * n_rows);
    slot->classes = mem_take(n_rows);
    slot->adapters = mem_take(sizeof *slot->adapters * n_rows);
    slot->logit_rows = mem_take(sizeof *slot->logit_rows * n_logits);
    slot->item_of_logit = mem_take(sizeof *slot->item_of_logit * n_logits);
    slot->drawn = mem_take(sizeof *slot->drawn * n_logits);
    slot->asks = mem_take(sizeof *slot->asks * n_logits);
    slot->scores = mem_take(sizeof *slot->scores * n_logits);
    slot->sequences = mem_take(sizeof *slot->sequences * RUN_ROWS_SEQUENCES_MAX);
    slot->vectors = mem_take(sizeof *slot->vectors * RUN_ROWS_SEQUENCES_MAX);
    slot->parts = mem_take(sizeof *slot->parts * RUN_ROWS_PARTS_MAX);
}

static void close_slot(struct run_lane_slot *slot)
{
    void *const owned[] = { slot->ids,           slot->positions, slot->classes, slot->logit_rows,
                            slot->item_of_logit, slot->drawn,     slot->asks,    slot->sequences,
                            slot->parts,         slot->pad_table, slot->masks,   slot->scores,
                            slot->vectors,       slot->adapters };
    for (size_t i = 0; i < COUNT_OF(owned); i++)
        mem_give(owned[i]);
}

void run_lane_open(struct run_lane *lane, const struct run_lane_options *options, int index,
                   const struct run_lane_shared *shared)
{
    *lane = (struct run_lane){ .options = *options, .shared = shared, .index = index };
    for (int i = 0; i < RUN_LANE_DEPTH; i++)
        open_slot(&lane->slots[i], options);
    for (int i = 0; i < LIMIT_BATCHES; i++)
        lane->results[i].store =
            mem_take(sizeof(struct token_logprobs) * (size_t)options->n_logit_rows_max);
}

void run_lane_close(struct run_lane *lane)
{
    CHECK(!is_in_flight(lane));
    for (int i = 0; i < RUN_LANE_DEPTH; i++)
        close_slot(&lane->slots[i]);
    for (int i = 0; i < LIMIT_BATCHES; i++)
        mem_give(lane->results[i].store);
    for (int i = 0; i < LIMIT_MODELS; i++)
        run_lane_remove_model(lane, i);
}
