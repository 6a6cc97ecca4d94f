/* A very small engine around a policy. See loop.h. */
#include "../kv_open.h"
#include "loop.h"
#include "test.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/time.h"
#include "predict/preset.h"

struct perf loop_unit_perf(int64_t unit_ns)
{
    return (struct perf){ .c1_ps = unit_ns * 1000,
                          .c3_ps = { unit_ns * 1000, unit_ns * 1000 },
                          .b_switch = INT32_MAX,
                          .prefill_scale = 1,
                          .decode_scale = 1 };
}

struct perf loop_a100_perf(const char *model)
{
    return preset_find(predict_model_find(model), predict_device_find("a100"), 1)->perf;
}

static void plan_open(struct schedule_plan *plan)
{
    *plan = (struct schedule_plan){
        .batches = mem_take(LIMIT_BATCHES * sizeof(*plan->batches)),
        .items = mem_take(LIMIT_BATCH_ITEMS * sizeof(*plan->items)),
        .n_items_max = LIMIT_BATCH_ITEMS,
        .preempts = mem_take(LIMIT_BATCH_ITEMS * sizeof(*plan->preempts)),
        .swaps = mem_take(LIMIT_BATCH_ITEMS * sizeof(*plan->swaps)),
    };
}

static void plan_close(struct schedule_plan *plan)
{
    mem_give(plan->batches);
    mem_give(plan->items);
    mem_give(plan->preempts);
    mem_give(plan->swaps);
}

static void open_pool(struct loop *loop)
{
    struct kv_service_options services[LOOP_SERVICES] = { 0 };
    int64_t bytes[LOOP_SERVICES];
    struct kv_layout layouts[LOOP_SERVICES];
    double waste;
    const struct loop_options *options = &loop->options;
    for (int i = 0; i < options->n_services; i++)
        bytes[i] = options->services[i].bytes_per_token;
    int64_t unit =
        kv_choose_layout(options->n_services, bytes, options->unit_bytes, layouts, &waste);
    for (int i = 0; i < options->n_services; i++)
        services[i] = (struct kv_service_options){ layouts[i], options->services[i].bytes_min,
                                                   options->services[i].bytes_max };
    struct kv_options kv = { .pool_bytes_max = options->pool_bytes,
                             .pool_bytes = options->pool_bytes,
                             .unit_bytes = unit,
                             .n_requests_max = options->n_requests_max,
                             .n_tokens_max = 16384,
                             .is_virtual = true };
    loop->kv = kv_open_with(&kv, services, options->n_services);
}

void loop_open(struct loop *loop, const struct loop_options *options)
{
    uint32_t n = options->n_requests_max;
    *loop = (struct loop){ .options = *options, .n_free = n };
    struct schedule_limits limits = { options->n_services, (int32_t)n, 1 };
    loop->state = mem_take(options->policy->state_bytes(&limits));
    options->policy->open(loop->state, &limits, &options->config);
    loop->requests = mem_take(n * sizeof(*loop->requests));
    loop->coming = mem_take(n * sizeof(*loop->coming));
    loop->results = mem_take(n * sizeof(*loop->results));
    loop->free_slots = mem_take(n * sizeof(*loop->free_slots));
    loop->n_table_blocks = mem_take(n * sizeof(*loop->n_table_blocks));
    for (uint32_t i = 0; i < n; i++)
        loop->free_slots[i] = n - 1 - i;
    open_pool(loop);
    for (int i = 0; i < options->n_services; i++) {
        const struct loop_service *s = &options->services[i];
        loop->running[i] = mem_take(n * sizeof(*loop->running[i]));
        loop->last_waiting[i] = SCHEDULE_NONE;
        loop->services[i] = (struct schedule_service){
            .is_open = true,
            .first_waiting = SCHEDULE_NONE,
            .running = loop->running[i],
            .perf = s->perf,
            .solo_ns = s->solo_ns,
            .solo_deviation_ns = s->deviation_ns,
            .rate_per_s = s->rate_per_s,
            .n_prompt_mean = s->n_prompt_mean,
            .n_output_mean = s->n_output_mean,
        };
    }
    loop->view = (struct schedule_view){ .n_services = options->n_services,
                                         .n_lanes = 1,
                                         .services = loop->services,
                                         .requests = loop->requests,
                                         .kv = kv_budget(loop->kv),
                                         .n_table_blocks = loop->n_table_blocks,
                                         .lane_is_busy = loop->lane_is_busy };
    plan_open(&loop->plan);
    plan_open(&loop->again);
}

void loop_close(struct loop *loop)
{
    assert_true(loop->n_alive > 0 || (kv_is_idle(loop->kv) && kv_is_sound(loop->kv)));
    kv_close(loop->kv);
    for (int i = 0; i < loop->options.n_services; i++)
        mem_give(loop->running[i]);
    mem_give(loop->n_table_blocks);
    mem_give(loop->free_slots);
    mem_give(loop->results);
    mem_give(loop->coming);
    mem_give(loop->requests);
    mem_give(loop->state);
    plan_close(&loop->plan);
    plan_close(&loop->again);
}

uint64_t loop_add(struct loop *loop, int service, int64_t arrived_ns, int32_t n_prompt,
                  int32_t n_output)
{
    assert_true(loop->n_coming < loop->options.n_requests_max);
    uint64_t id = loop->n_coming;
    loop->coming[loop->n_coming++] = (struct request){ .id = id,
                                                       .service = (uint16_t)service,
                                                       .n_prompt = n_prompt,
                                                       .n_tokens = n_prompt,
                                                       .n_tokens_max = n_prompt + n_output,
                                                       .arrived_ns = arrived_ns,
                                                       .deadline_ns = TIME_NEVER,
                                                       .served_ns = arrived_ns };
    return id;
}

static void tell(struct loop *loop, struct schedule_event event)
{
    event.now_ns = loop->view.now_ns;
    loop->options.policy->saw(loop->state, &loop->view, &event);
}

/* ---- Queues, as the engine keeps them: priority, then arrival, then id. ---- */

static bool is_after(const struct request *a, const struct request *b)
{
    if (a->priority != b->priority)
        return a->priority > b->priority;
    return a->arrived_ns != b->arrived_ns ? a->arrived_ns > b->arrived_ns : a->id > b->id;
}

static void wait_in(struct loop *loop, uint32_t slot)
{
    struct request *r = &loop->requests[slot];
    struct schedule_service *s = &loop->services[r->service];
    uint32_t before = loop->last_waiting[r->service];
    while (before != SCHEDULE_NONE && is_after(&loop->requests[before], r))
        before = loop->requests[before].prev;
    r->prev = before;
    r->next = before == SCHEDULE_NONE ? s->first_waiting : loop->requests[before].next;
    if (before == SCHEDULE_NONE)
        s->first_waiting = slot;
    else
        loop->requests[before].next = slot;
    if (r->next == SCHEDULE_NONE)
        loop->last_waiting[r->service] = slot;
    else
        loop->requests[r->next].prev = slot;
    r->state = REQUEST_WAITING;
    s->n_waiting++;
}

static void start_one(struct loop *loop, uint32_t slot)
{
    struct request *r = &loop->requests[slot];
    struct schedule_service *s = &loop->services[r->service];
    if (r->state == REQUEST_RUNNING)
        return;
    if (r->prev == SCHEDULE_NONE)
        s->first_waiting = r->next;
    else
        loop->requests[r->prev].next = r->next;
    if (r->next == SCHEDULE_NONE)
        loop->last_waiting[r->service] = r->prev;
    else
        loop->requests[r->next].prev = r->prev;
    s->n_waiting--;
    r->state = REQUEST_RUNNING;
    loop->running[r->service][s->n_running++] = slot;
}

static void stop_one(struct loop *loop, uint32_t slot)
{
    uint16_t service = loop->requests[slot].service;
    struct schedule_service *s = &loop->services[service];
    uint32_t i = 0;
    while (loop->running[service][i] != slot)
        assert_true(++i < s->n_running);
    s->n_running--;
    memmove(&loop->running[service][i], &loop->running[service][i + 1],
            (s->n_running - i) * sizeof(uint32_t));
    kv_release(loop->kv, slot);
    loop->n_table_blocks[slot] = 0;
    loop->requests[slot].n_computed = 0;
}

void loop_arrive(struct loop *loop)
{
    while (loop->next_coming < loop->n_coming &&
           loop->coming[loop->next_coming].arrived_ns <= loop->view.now_ns && loop->n_free > 0) {
        uint32_t slot = loop->free_slots[--loop->n_free];
        loop->requests[slot] = loop->coming[loop->next_coming++];
        loop->n_alive++;
        wait_in(loop, slot);
        tell(loop, (struct schedule_event){ .what = SCHEDULE_ARRIVED, .slot = slot });
    }
}

static void end(struct loop *loop, uint32_t slot)
{
    struct request *r = &loop->requests[slot];
    struct loop_result *result = &loop->results[r->id];
    result->first_ns = r->first_ns;
    result->end_ns = loop->view.now_ns;
    result->n_preempted = r->n_preempted;
    tell(loop, (struct schedule_event){ .what = SCHEDULE_GONE, .slot = slot });
    stop_one(loop, slot);
    r->state = REQUEST_FREE;
    loop->free_slots[loop->n_free++] = slot;
    loop->n_alive--;
}

/* ---- A batch. ---- */

/* The number of tokens that this round computes of the request: none once it has all. */
static int32_t tokens_of(const struct request *r, const struct batch_item *item)
{
    return r->n_tokens >= r->n_tokens_max && r->first_ns > 0
               ? 0
               : min_i32(item->n_tokens, r->n_tokens - r->n_computed);
}

static struct perf_load load_of(const struct loop *loop, const struct batch *batch, int32_t round)
{
    struct perf_load load = { 0 };
    if (!batch_is_plain(batch))
        return perf_load_of_rows(batch_n_rows(batch), round > 0 ? 1 : batch_width(batch),
                                 batch->pads.row_tokens + round);
    for (int32_t i = 0; i < batch->n_items; i++) {
        const struct request *r = &loop->requests[batch->items[i].slot];
        int64_t n = tokens_of(r, &batch->items[i]);
        if (n == 1 && r->n_computed >= r->n_prompt) {
            load.n_decodes++;
            load.n_decode_context += r->n_tokens;
        } else {
            load.n_new += (int32_t)n;
            load.n_new_squared += n * n;
            load.n_new_context += n * r->n_computed;
        }
    }
    return load;
}

/* One round on the records; true when some request has all its tokens. */
static bool advance(struct loop *loop, const struct batch *batch, int32_t round, int32_t *n_new,
                    int32_t *n_computed)
{
    bool has_ended = false;
    struct perf_load load = load_of(loop, batch, round);
    loop->view.now_ns +=
        max_i64(1, perf_step_ps(&loop->services[batch->service].perf, &load) / 1000);
    uint64_t line[3] = { loop->trace, (uint64_t)loop->view.now_ns, batch->service };
    loop->trace = hash_fast(line, sizeof(line), 0).low;
    loop->n_mixed += load.n_decodes > 0 && load.n_new > 0;
    loop->n_steps++;
    for (int32_t i = 0; i < batch->n_items; i++) {
        struct request *r = &loop->requests[batch->items[i].slot];
        int32_t n = tokens_of(r, &batch->items[i]);
        if (n == 0)
            continue;
        uint64_t item[3] = { loop->trace, r->id, (uint64_t)n };
        loop->trace = hash_fast(item, sizeof(item), 0).low;
        r->n_computed += n;
        n_computed[i] += n;
        loop->n_chunks += r->n_computed < r->n_tokens;
        if (r->n_computed == r->n_tokens) {
            r->n_tokens++;
            n_new[i]++;
            r->first_ns = r->first_ns == 0 ? loop->view.now_ns : r->first_ns;
        }
        struct loop_result *result = &loop->results[r->id];
        result->served_gap_ns = max_i64(result->served_gap_ns, loop->view.now_ns - r->served_ns);
        r->served_ns = loop->view.now_ns;
        has_ended |= r->n_tokens >= r->n_tokens_max;
    }
    return has_ended;
}

static void reserve(struct loop *loop, const struct batch *batch, int32_t n_rounds)
{
    struct kv_need needs[LIMIT_BATCH_ITEMS];
    for (int32_t i = 0; i < batch->n_items; i++) {
        const struct request *r = &loop->requests[batch->items[i].slot];
        int64_t n = schedule_positions(r, &batch->items[i], n_rounds);
        needs[i] = (struct kv_need){ batch->items[i].slot, (int32_t)n,
                                     r->n_computed + batch->items[i].n_tokens };
    }
    assert_true(kv_reserve(loop->kv, batch->service, needs, batch->n_items));
}

static void run(struct loop *loop, const struct batch *batch)
{
    static int32_t n_new[LIMIT_BATCH_ITEMS], n_computed[LIMIT_BATCH_ITEMS];
    const struct schedule_plan *plan = &loop->plan;
    int64_t begun_ns = loop->view.now_ns;
    memset(n_new, 0, sizeof(n_new));
    memset(n_computed, 0, sizeof(n_computed));
    reserve(loop, batch, plan->n_rounds);
    if (loop->on_batch != NULL)
        loop->on_batch(loop, batch, loop->on_batch_self);
    for (int32_t i = 0; i < batch->n_items; i++)
        start_one(loop, batch->items[i].slot);
    tell(loop, (struct schedule_event){ .what = SCHEDULE_STARTED, .batch = batch });
    int32_t n_steps = 0;
    bool is_over = false;
    while (n_steps < plan->n_rounds && !is_over) {
        bool has_ended = advance(loop, batch, n_steps, n_new, n_computed);
        n_steps++;
        is_over = ((plan->until & UNTIL_FINISH) != 0 && has_ended) ||
                  ((plan->until & UNTIL_ARRIVAL) != 0 && loop->next_coming < loop->n_coming &&
                   loop->coming[loop->next_coming].arrived_ns <= loop->view.now_ns) ||
                  ((plan->until & UNTIL_TIME) != 0 && plan->until_ns <= loop->view.now_ns);
    }
    for (int32_t i = 0; i < batch->n_items; i++) {
        kv_trim(loop->kv, batch->items[i].slot, loop->requests[batch->items[i].slot].n_computed);
        (void)kv_table(loop->kv, batch->items[i].slot, &loop->n_table_blocks[batch->items[i].slot]);
    }
    loop->n_holds += plan->n_rounds > 1;
    for (int32_t i = 0; i < batch->n_items; i++) {
        const struct request *r = &loop->requests[batch->items[i].slot];
        int32_t n_generated = r->n_tokens - r->n_prompt;
        if (r->n_predicted > 0 && n_generated > r->n_predicted &&
            n_generated - n_new[i] <= r->n_predicted)
            tell(loop, (struct schedule_event){ .what = SCHEDULE_EXCEEDED,
                                                .slot = batch->items[i].slot });
    }
    struct schedule_event done = { .what = SCHEDULE_DONE,
                                   .now_ns = loop->view.now_ns,
                                   .batch = batch,
                                   .n_steps = n_steps,
                                   .n_new = n_new,
                                   .n_computed = n_computed,
                                   .elapsed_ns = loop->view.now_ns - begun_ns };
    tell(loop, done);
    if (loop->on_done != NULL)
        loop->on_done(loop, &done, loop->on_done_self);
    for (int32_t i = 0; i < batch->n_items; i++) {
        const struct request *r = &loop->requests[batch->items[i].slot];
        if (r->n_tokens >= r->n_tokens_max)
            end(loop, batch->items[i].slot);
    }
}

static void ask(struct loop *loop, struct schedule_plan *plan)
{
    loop->options.policy->plan(loop->state, &loop->view, plan);
}

static void check_plan(struct loop *loop)
{
    const struct schedule_plan *a = &loop->plan, *b = &loop->again;
    ask(loop, &loop->again);
    assert_int_equal(a->n_batches, b->n_batches);
    assert_int_equal(a->n_items, b->n_items);
    assert_int_equal(a->n_preempts, b->n_preempts);
    assert_int_equal(a->n_rounds, b->n_rounds);
    assert_int_equal(a->until, b->until);
    assert_memory_equal(a->items, b->items, (size_t)a->n_items * sizeof(*a->items));
    assert_memory_equal(a->preempts, b->preempts, (size_t)a->n_preempts * sizeof(*a->preempts));
    const char *wrong = schedule_check(&loop->view, a);
    if (wrong != NULL)
        fail_msg("%s: %s", loop->options.policy->name, wrong);
}

/* There is nothing to do now, but the policy wants to be asked again later. */
static bool sleeps(struct loop *loop)
{
    if ((loop->plan.until & UNTIL_TIME) == 0 || loop->plan.n_batches > 0)
        return false;
    assert_true(loop->plan.until_ns > loop->view.now_ns);
    loop->view.now_ns = loop->plan.until_ns;
    if (loop->next_coming < loop->n_coming)
        loop->view.now_ns = min_i64(loop->view.now_ns, loop->coming[loop->next_coming].arrived_ns);
    return true;
}

bool loop_step(struct loop *loop)
{
    for (int n_asks = 0;; n_asks++) {
        assert_true(n_asks < 2000);
        ask(loop, &loop->plan);
        loop->n_plans++;
        if (!loop->options.is_unchecked)
            check_plan(loop);
        const struct schedule_plan *plan = &loop->plan;
        for (int32_t i = 0; i < plan->n_preempts; i++) {
            uint32_t slot = plan->preempts[i];
            stop_one(loop, slot);
            loop->requests[slot].n_preempted++;
            loop->n_preempts++;
            wait_in(loop, slot);
            tell(loop, (struct schedule_event){ .what = SCHEDULE_PREEMPTED, .slot = slot });
        }
        for (int32_t i = 0; i < plan->n_batches; i++)
            run(loop, &plan->batches[i]);
        if (plan->n_batches > 0 || plan->n_preempts == 0)
            return plan->n_batches > 0 || sleeps(loop);
    }
}

void loop_run(struct loop *loop)
{
    while (loop->n_alive > 0 || loop->next_coming < loop->n_coming) {
        if (loop->n_alive == 0)
            loop->view.now_ns =
                max_i64(loop->view.now_ns, loop->coming[loop->next_coming].arrived_ns);
        loop_arrive(loop);
        if (!loop_step(loop))
            fail_msg("%s: %u requests left and nothing to do", loop->options.policy->name,
                     loop->n_alive);
    }
}
