/* The real executor: one thread that flattens batches, runs the forward pass and draws tokens.
 *
 * Handing over: the engine's thread fills `job` and sets n_begun; the lane's thread computes batch
 * after batch and publishes each by raising n_done; poll reads results[n_polled] once n_polled <
 * n_done. Nothing else is shared, so two counters are the whole protocol. */
#include "run/executor.h"

#include "base/mem.h"
#include "base/pace.h"
#include "base/team.h"
#include "base/time.h"
#include "base/wake.h"
#include "engine/bodies.h"
#include "kv/kv.h"
#include "run/sampler.h"
#include <stdio.h>
#include <string.h>

struct job {
    struct batch batches[LIMIT_BATCHES];
    struct batch_item items[LIMIT_BATCHES][LIMIT_BATCH_ITEMS];
    int n_batches;
};
struct result {
    struct engine_exec_done done;
    int32_t n_new[LIMIT_BATCH_ITEMS];
    const struct token_logprobs *logprobs[LIMIT_BATCH_ITEMS];
    struct token_logprobs *store; /* (n_logit_rows_max) */
};
struct run_executor {
    struct run_executor_options options;
    struct engine_exec_view view;
    const struct run_model
        *models[LIMIT_SERVICES]; /* written by the engine's thread between batches of a service */
    struct job job;
    struct result results[LIMIT_BATCHES];
    struct thread *thread;
    char name[16];
    struct wake job_wake, done_wake;
    _Atomic uint64_t n_begun, n_done; /* batches handed over, batches finished, ever */
    uint64_t n_polled;
    _Atomic bool is_closing;
    int64_t begun_ns;              /* when the job was handed over */
    struct pace pace, engine_pace; /* of the lane's thread, and of the engine's */
    /* scratch of the lane's thread */
    int32_t *ids, *positions, *logit_rows, *item_of_logit;
    struct compute_sequence *sequences;
    float *logits;
    int64_t logits_floats;
    void *workspace;
    size_t workspace_bytes;
    struct run_sampler sampler;
};

/* ---- One batch, on the lane's thread. ---- */

/* Lays the batch's tokens out as rows; returns the pass. */
static struct compute_pass flatten(struct run_executor *x, const struct batch *batch,
                                   const struct run_model *model)
{
    const struct kv_layout *layout = kv_layout(x->view.kv, batch->service);
    const struct model_spec *spec = weights_spec(model->weights);
    struct compute_pass pass = {
        .ids = x->ids,
        .positions = x->positions,
        .sequences = x->sequences,
        .n_sequences = batch->n_items,
        .logit_rows = x->logit_rows,
        .logits = x->logits,
        .kv = { .base = kv_base(x->view.kv),
                .unit_bytes = (uint64_t)kv_unit_bytes(x->view.kv),
                .block_bytes = (uint64_t)layout->block_bytes,
                .blocks_per_unit = (uint32_t)layout->blocks_per_unit,
                .block_tokens = layout->block_tokens,
                .dtype = x->options.kv_dtype,
                .n_layers = spec->n_layers,
                .n_kv_heads = spec->n_kv_heads,
                .head_dim = spec->head_dim },
    };
    for (int32_t i = 0; i < batch->n_items; i++) {
        const struct batch_item *item = &batch->items[i];
        const struct request *request = &x->view.requests[item->slot];
        const int32_t *tokens = engine_bodies_at(x->view.bodies, request->body).tokens;
        int32_t n_blocks;
        x->sequences[i] =
            (struct compute_sequence){ pass.n_rows, item->n_tokens, request->n_computed,
                                       kv_table(x->view.kv, item->slot, &n_blocks) };
        CHECK(pass.n_rows + item->n_tokens <= x->options.n_rows_max);
        CHECK((int64_t)n_blocks * layout->block_tokens >= request->n_computed + item->n_tokens);
        for (int32_t k = 0; k < item->n_tokens; k++) {
            x->ids[pass.n_rows + k] = tokens[request->n_computed + k];
            x->positions[pass.n_rows + k] = request->n_computed + k;
        }
        pass.n_rows += item->n_tokens;
        if (request->n_computed + item->n_tokens == request->n_tokens) {
            x->logit_rows[pass.n_logit_rows] = pass.n_rows - 1;
            x->item_of_logit[pass.n_logit_rows++] = i;
        }
    }
    return pass;
}

/* Draws a token for every request that caught up and writes it behind its known tokens. */
static void draw_tokens(struct run_executor *x, const struct batch *batch,
                        const struct compute_pass *pass, int32_t n_vocabulary,
                        struct result *result)
{
    bool has_logprobs = false;
    for (int32_t row = 0; row < pass->n_logit_rows; row++) {
        int32_t i = x->item_of_logit[row];
        const struct request *request = &x->view.requests[batch->items[i].slot];
        struct engine_body body = engine_bodies_at(x->view.bodies, request->body);
        struct token_logprobs *logprobs = NULL;
        if (request->flags & REQUEST_WANTS_LOGPROBS) {
            logprobs = &result->store[row];
            result->logprobs[i] = logprobs;
            has_logprobs = true;
        }
        const struct run_draw draw = { body.head, body.tokens, request->n_prompt,
                                       request->n_tokens };
        CHECK(request->n_tokens < request->n_tokens_max);
        body.tokens[request->n_tokens] = run_sampler_draw(
            &x->sampler, &draw, pass->logits + (int64_t)row * n_vocabulary, n_vocabulary, logprobs);
        result->n_new[i] = 1;
    }
    result->done.logprobs = has_logprobs ? result->logprobs : NULL;
}

/* Scratch grows, on the lane's thread, to the largest model's need and is shared by all: batches of
 * one lane run in turn. */
static void make_scratch(struct run_executor *x, const struct run_model *model)
{
    const struct run_executor_options *o = &x->options;
    const struct compute_backend *backend = o->device->backend;
    size_t workspace = backend->workspace_bytes(backend->self, &model->program, o->n_rows_max,
                                                o->n_logit_rows_max);
    int64_t floats = (int64_t)o->n_logit_rows_max * model->program.n_vocabulary;
    if (workspace > x->workspace_bytes) {
        mem_give(x->workspace);
        x->workspace = mem_take(workspace);
        x->workspace_bytes = workspace;
    }
    if (floats > x->logits_floats) {
        mem_give(x->logits);
        x->logits = mem_take(sizeof(float) * (size_t)floats);
        x->logits_floats = floats;
    }
    if (model->program.n_vocabulary > x->sampler.n_vocabulary_max) {
        run_sampler_free(&x->sampler);
        run_sampler_init(&x->sampler, model->program.n_vocabulary);
    }
}

static void run_batch(struct run_executor *x, const struct batch *batch, struct result *result)
{
    const struct run_model *model = x->models[batch->service];
    memset(result->n_new, 0, sizeof(int32_t) * (size_t)batch->n_items);
    memset(result->logprobs, 0, sizeof(void *) * (size_t)batch->n_items);
    result->done = (struct engine_exec_done){ .batch = batch->id,
                                              .n_steps = 1,
                                              .n_new = result->n_new,
                                              .begin_ns = time_now_ns(),
                                              .is_failed = !model };
    if (model) {
        make_scratch(x, model);
        struct compute_pass pass = flatten(x, batch, model);
        run_device_run(x->options.device, &model->program, &pass, x->workspace);
        draw_tokens(x, batch, &pass, model->program.n_vocabulary, result);
    }
    result->done.end_ns = time_now_ns();
}

static void lane_thread(void *arg)
{
    struct run_executor *x = arg;
    pace_begin(&x->pace, x->name);
    for (;;) {
        wake_wait(&x->job_wake, -1);
        wake_clear(&x->job_wake);
        if (atomic_load(&x->is_closing))
            return;
        uint64_t done = atomic_load(&x->n_done), begun = atomic_load(&x->n_begun);
        if (done < begun)
            (void)pace_due(&x->pace, x->begun_ns,
                           "woke for a batch later than it was handed over by");
        for (int i = 0; done < begun; i++, done++) {
            run_batch(x, &x->job.batches[i], &x->results[i]);
            atomic_store(&x->n_done, done + 1);
            wake_up(&x->done_wake);
        }
    }
}

/* ---- The contract, on the engine's thread. ---- */

static void attach(void *self, const struct engine_exec_view *view)
{
    ((struct run_executor *)self)->view = *view;
}

static void begin(void *self, const struct batch *batches, int n_batches, int n_rounds)
{
    struct run_executor *x = self;
    (void)n_rounds;
    CHECK(n_batches <= LIMIT_BATCHES && x->n_polled == atomic_load(&x->n_begun));
    x->job.n_batches = n_batches;
    for (int i = 0; i < n_batches; i++) {
        CHECK(batches[i].n_items <= LIMIT_BATCH_ITEMS &&
              batches[i].n_items <= x->options.n_logit_rows_max);
        x->job.batches[i] = batches[i];
        x->job.batches[i].items = x->job.items[i];
        memcpy(x->job.items[i], batches[i].items,
               sizeof(struct batch_item) * (size_t)batches[i].n_items);
    }
    x->begun_ns = time_now_ns();
    if (x->engine_pace.part[0] == '\0')
        pace_begin(&x->engine_pace, x->name);
    atomic_store(&x->n_begun, x->n_polled + (uint64_t)n_batches);
    wake_up(&x->job_wake);
}

static void cut(void *self, uint16_t lane)
{
    (void)self; /* one round at a time: there is nothing to cut short */
    (void)lane;
}

static bool poll(void *self, struct engine_exec_done *done)
{
    struct run_executor *x = self;
    wake_clear(&x->done_wake);
    if (x->n_polled == atomic_load(&x->n_done))
        return false;
    uint64_t first = atomic_load(&x->n_begun) - (uint64_t)x->job.n_batches;
    *done = x->results[x->n_polled - first].done;
    (void)pace_due(&x->engine_pace, done->end_ns, "the engine heard of a batch's end later by");
    x->n_polled++;
    return true;
}

static int wait_fd(void *self)
{
    return ((struct run_executor *)self)->done_wake.fd;
}

static int64_t next_ns(void *self)
{
    (void)self;
    return TIME_NEVER;
}

struct engine_exec run_executor_exec(struct run_executor *executor)
{
    return (struct engine_exec){ executor, attach, begin, cut, poll, wait_fd, next_ns };
}

struct run_executor *run_executor_open(const struct run_executor_options *options)
{
    struct run_executor *x = mem_take(sizeof *x);
    size_t n_rows = (size_t)options->n_rows_max, n_logits = (size_t)options->n_logit_rows_max;
    x->options = *options;
    x->ids = mem_take(sizeof *x->ids * n_rows);
    x->positions = mem_take(sizeof *x->positions * n_rows);
    x->logit_rows = mem_take(sizeof *x->logit_rows * n_logits);
    x->item_of_logit = mem_take(sizeof *x->item_of_logit * n_logits);
    x->sequences = mem_take(sizeof *x->sequences * LIMIT_BATCH_ITEMS);
    for (int i = 0; i < LIMIT_BATCHES; i++)
        x->results[i].store = mem_take(sizeof(struct token_logprobs) * n_logits);
    wake_open(&x->job_wake);
    wake_open(&x->done_wake);
    snprintf(x->name, sizeof x->name, "lane-%d", options->id);
    x->thread = thread_start(x->name, lane_thread, x);
    return x;
}

void run_executor_close(struct run_executor *x)
{
    atomic_store(&x->is_closing, true);
    wake_up(&x->job_wake);
    thread_join(x->thread);
    wake_close(&x->job_wake);
    wake_close(&x->done_wake);
    for (int i = 0; i < LIMIT_BATCHES; i++)
        mem_give(x->results[i].store);
    mem_give(x->ids);
    mem_give(x->positions);
    mem_give(x->logit_rows);
    mem_give(x->item_of_logit);
    mem_give(x->sequences);
    mem_give(x->logits);
    mem_give(x->workspace);
    run_sampler_free(&x->sampler);
    mem_give(x);
}

void run_executor_put_model(struct run_executor *x, int service, const struct run_model *model)
{
    x->models[service] = model;
}

void run_executor_remove_model(struct run_executor *x, int service)
{
    x->models[service] = NULL;
}
