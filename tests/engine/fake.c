/* The executor of the engine's tests: see fake.h. */
#include "fake.h"

#include "../late.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/time.h"
#include "kv/host.h"
#include <string.h>

static uint64_t mix(uint64_t a, uint64_t b)
{
    uint64_t pair[2] = { a, b };
    return hash_fast(pair, sizeof(pair), 1).low;
}

static bool is_stop(const struct request_body *body, int32_t token)
{
    for (uint32_t i = 0; i < body->n_stop_ids; i++)
        if (request_body_stop_ids(body)[i] == token)
            return true;
    return false;
}

static int32_t draw(const struct request_body *body, int32_t n_prompt, int32_t position,
                    uint64_t state)
{
    uint64_t dice = mix(state, mix(body->seed, (uint64_t)position));
    if (body->seed % 2 == 0 && dice % 6 > 0) /* it often repeats itself */
        dice = mix(body->seed, (uint64_t)position % 5);
    int32_t n_generated = position + 1 - n_prompt;
    while (n_generated <= body->sampling.n_tokens_min &&
           is_stop(body, (int32_t)(dice % FAKE_VOCABULARY)))
        dice = mix(dice, 0);
    return (int32_t)(dice % FAKE_VOCABULARY);
}

int32_t fake_expect(const struct request_body *body, int32_t n_prompt, int32_t n_tokens_max,
                    int32_t *tokens)
{
    uint64_t state = 0;
    int32_t n = n_prompt;
    memcpy(tokens, request_body_tokens(body), (size_t)n_prompt * sizeof(*tokens));
    for (int32_t position = 0; position < n_tokens_max; position++) {
        if (position == n) {
            tokens[n++] = draw(body, n_prompt, position, state);
            if (position + 1 - n_prompt > body->sampling.n_tokens_min &&
                is_stop(body, tokens[position]))
                break;
        }
        state = mix(state, (uint64_t)tokens[position]);
    }
    return n;
}

float fake_logprob(int32_t token)
{
    return -(float)token / 8;
}

/* ---- Computing. ---- */

static uint64_t *state_at(struct fake *f, uint16_t service, uint32_t slot, int32_t position)
{
    const struct kv_layout *layout = kv_layout(f->view.kv, service);
    int32_t n_blocks;
    const uint32_t *table = kv_table(f->view.kv, slot, &n_blocks);
    CHECK(position / layout->block_tokens < n_blocks);
    uint32_t id = table[position / layout->block_tokens];
    uint32_t per_unit = (uint32_t)layout->blocks_per_unit;
    unsigned char *at = late_private(f->device, f->pool) +
                        id / per_unit * kv_unit_bytes(f->view.kv) +
                        id % per_unit * layout->block_bytes +
                        position % layout->block_tokens * layout->bytes_per_token;
    return (void *)at;
}

/* All rounds of one item. */
static void compute(struct fake *f, const struct batch *batch, int32_t i, int n_rounds)
{
    const struct batch_item *item = &batch->items[i];
    const struct request *r = &f->view.requests[item->slot];
    struct engine_body body = engine_bodies_at(f->view.bodies, r->body);
    struct engine_progress progress = engine_exec_progress_of(r, item, n_rounds);
    int32_t n_tokens = r->n_tokens;
    int32_t drafts[LIMIT_BATCH_ITEMS];
    memcpy(drafts, body.tokens + n_tokens, (size_t)item->n_draft * sizeof(*drafts));
    bool is_refused = false;
    uint64_t state =
        r->n_computed > 0 ? *state_at(f, batch->service, item->slot, r->n_computed - 1) : 0;
    f->n_chunks += progress.n_new == 0;
    f->logprobs_at[i] = f->logprobs[i];
    for (int32_t p = r->n_computed; p < r->n_computed + progress.n_computed; p++) {
        int32_t draft = item->n_draft > 0 && p >= r->n_tokens ? drafts[p - r->n_tokens] : -1;
        is_refused |= draft >= 0 && draft != body.tokens[p];
        state = mix(state, (uint64_t)(is_refused ? draft : body.tokens[p]));
        *state_at(f, batch->service, item->slot, p) = state;
        if (p + 1 == n_tokens && progress.n_new > 0 && !is_refused) {
            int32_t k = n_tokens - r->n_tokens;
            body.tokens[n_tokens] = draw(body.head, r->n_prompt, n_tokens, state);
            if (k < 4)
                f->logprobs[i][k].logprob = fake_logprob(body.tokens[n_tokens]);
            n_tokens++;
        }
    }
    f->n_new[i] = n_tokens - r->n_tokens;
    f->n_drafted += item->n_draft;
    f->n_accepted += item->n_draft > 0 ? f->n_new[i] - 1 : 0;
    CHECK(f->n_new[i] == progress.n_new || is_refused);
}

/* ---- The contract. ---- */

static int64_t end_ns(const struct fake *f, const struct fake_lane *lane, int i)
{
    int64_t n_before = (int64_t)(lane->n_rounds - 1) * lane->n_batches + i;
    return lane->begin_ns + (n_before + 1) * f->step_ns;
}

static bool back(void *self, int64_t from, int64_t to)
{
    struct fake *f = self;
    return f->device->memory_back(f->device->self, f->pool, from, to);
}

static void drop(void *self, int64_t from, int64_t to)
{
    struct fake *f = self;
    f->device->memory_drop(f->device->self, f->pool, from, to);
}

static struct compute_memory *open_range(struct fake *f, int64_t n_bytes, bool is_host)
{
    const struct compute_memory_options options = { .n_bytes = n_bytes,
                                                    .is_host = is_host,
                                                    .is_reserved = !is_host };
    struct compute_memory *memory;
    CHECK(f->device->memory_open(f->device->self, &options, &memory, NULL) == STATUS_OK);
    return memory;
}

static void open_memory(struct fake *f)
{
    const struct kv_memory memory = { f, back, drop };
    f->device = late_or_plain(compute_reference_open(COMPUTE_ARITHMETIC_CPU));
    f->pool = open_range(f, kv_range_bytes(f->view.kv), false);
    f->host = open_range(f, kv_host_bytes(f->view.kv), true);
    CHECK(kv_lend(f->view.kv, &memory));
}

/* Virtual time has no place for waiting: copies end when their batch does. */
static void copy(struct fake *f, uint32_t slot, bool is_out)
{
    struct copy_part parts[64];
    struct compute_copy copy = { .work = { .kind = COMPUTE_WORK_COPY },
                                 .from = is_out ? f->pool : f->host,
                                 .to = is_out ? f->host : f->pool,
                                 .parts = parts };
    for (int64_t first = 0;; first += copy.n_parts) {
        copy.n_parts =
            kv_host_parts(f->view.kv, slot, is_out, first, parts, (int32_t)COUNT_OF(parts));
        if (copy.n_parts == 0)
            return;
        CHECK(compute_device_wait(f->device, f->device->lanes[0], &copy.work) == COMPUTE_DONE);
    }
}

static void attach(void *self, const struct engine_exec_view *view)
{
    struct fake *f = self;
    size_t n_items = (size_t)LIMIT_BATCHES * LIMIT_BATCH_ITEMS;
    f->view = *view;
    open_memory(f);
    struct batch_item *items = mem_take(LIMIT_LANES * n_items * sizeof(*items));
    for (int i = 0; i < LIMIT_LANES; i++)
        f->lanes[i].items = items + (size_t)i * n_items;
}

static void begin(void *self, const struct batch *batches, int n_batches, int n_rounds)
{
    struct fake *f = self;
    struct fake_lane *lane = &f->lanes[batches[0].lane];
    CHECK(lane->n_polled == lane->n_batches && n_batches > 0 && n_rounds > 0);
    for (int i = 0; i < LIMIT_LANES; i++)
        f->n_side_by_side += &f->lanes[i] != lane && f->lanes[i].n_polled < f->lanes[i].n_batches;
    lane->n_batches = n_batches;
    lane->n_polled = 0;
    lane->has_lost_kv = false;
    lane->n_rounds = n_rounds;
    lane->begin_ns = *f->clock_ns;
    for (int i = 0; i < n_batches; i++) {
        CHECK(batches[i].lane == batches[0].lane && batches[i].id != 0);
        lane->batches[i] = batches[i];
        lane->batches[i].items = lane->items + i * LIMIT_BATCH_ITEMS;
        memcpy(lane->batches[i].items, batches[i].items,
               (size_t)batches[i].n_items * sizeof(*batches[i].items));
    }
    f->n_begun += n_batches;
    f->n_rounds_saved += n_rounds - 1;
}

static void cut(void *self, uint16_t lane_index)
{
    struct fake *f = self;
    struct fake_lane *lane = &f->lanes[lane_index];
    int64_t round_ns = lane->n_batches * f->step_ns;
    int64_t n = max_i64(div_up_i64(*f->clock_ns - lane->begin_ns, round_ns), 1);
    if (n >= lane->n_rounds)
        return;
    f->n_cuts++;
    f->n_rounds_saved -= lane->n_rounds - n;
    lane->n_rounds = (int)n;
}

static struct fake_lane *first_lane(struct fake *f)
{
    struct fake_lane *first = NULL;
    for (int i = 0; i < LIMIT_LANES; i++) {
        struct fake_lane *lane = &f->lanes[i];
        if (lane->n_polled < lane->n_batches &&
            (first == NULL || end_ns(f, lane, lane->n_polled) < end_ns(f, first, first->n_polled)))
            first = lane;
    }
    return first;
}

static bool poll(void *self, struct engine_exec_done *done)
{
    struct fake *f = self;
    struct fake_lane *lane = first_lane(f);
    if (lane == NULL || end_ns(f, lane, lane->n_polled) > *f->clock_ns)
        return false;
    const struct batch *batch = &lane->batches[lane->n_polled];
    *done = (struct engine_exec_done){
        .batch = batch->id,
        .n_steps = lane->n_rounds,
        .begin_ns = lane->begin_ns,
        .end_ns = end_ns(f, lane, lane->n_polled),
        .n_new = f->n_new,
        .logprobs = f->logprobs_at,
        .is_lost = f->lose_behind > 0 && f->n_told >= f->lose_behind,
    };
    done->is_failed = done->is_lost || (f->fail_one > 0 && batch->id % f->fail_one == 0) ||
                      (lane->has_lost_kv && batch->kind == BATCH_COMPUTE);
    lane->has_lost_kv |= done->is_failed && batch->kind == BATCH_COPY_IN;
    f->n_failed_in += done->is_failed && batch->kind == BATCH_COPY_IN;
    f->n_told++;
    f->n_failed += done->is_failed;
    for (int32_t i = 0; i < batch->n_items && !done->is_failed; i++) {
        if (batch->kind == BATCH_COMPUTE)
            compute(f, batch, i, lane->n_rounds);
        else
            copy(f, batch->items[i].slot, batch->kind == BATCH_COPY_OUT);
    }
    f->n_copied += batch->kind == BATCH_COPY_IN ? batch->n_items : 0;
    lane->n_polled++;
    return true;
}

static int wait_fd(void *self)
{
    (void)self;
    return -1;
}

static int64_t next_ns(void *self)
{
    const struct fake_lane *lane = first_lane(self);
    return lane == NULL ? TIME_NEVER : end_ns(self, lane, lane->n_polled);
}

void fake_init(struct fake *f, const int64_t *clock_ns, int64_t step_ns)
{
    memset(f, 0, sizeof(*f));
    f->clock_ns = clock_ns;
    f->step_ns = step_ns;
}

void fake_free(struct fake *f)
{
    mem_give(f->lanes[0].items);
    if (f->device == NULL)
        return;
    f->device->memory_close(f->device->self, f->pool);
    f->device->memory_close(f->device->self, f->host);
    f->device->close(f->device->self);
}

static unsigned char *host(void *self)
{
    struct fake *f = self;
    return f->host != NULL ? f->host->base : NULL;
}

struct engine_exec fake_exec(struct fake *f)
{
    return (struct engine_exec){ .self = f,
                                 .attach = attach,
                                 .begin = begin,
                                 .cut = cut,
                                 .poll = poll,
                                 .wait_fd = wait_fd,
                                 .next_ns = next_ns,
                                 .host = host };
}
