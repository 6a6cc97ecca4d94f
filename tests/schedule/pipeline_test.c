/* Batches that follow one another: their number, their requests, their length, and their part of
 * the device. */
#include "scene.h"
#include "test.h"
#include "base/mem.h"
#include "base/time.h"

#define PS_PER_MS INT64_C(1000000000)

static uint32_t first(const void *state, const struct schedule_view *view, int service)
{
    (void)state;
    return view->services[service].first_waiting;
}
static uint32_t next(const void *state, const struct schedule_view *view, uint32_t slot)
{
    (void)state;
    return view->requests[slot].next;
}
static const struct schedule_order order = { .first = first,
                                             .next = next,
                                             .is_before = scene_by_slot };

/* One service, whose requests lie in the order of their slots, those that run first. A step takes
 * 10 ms and 1 ms for each request, a prompt's 10 ms and 0.1 ms for each token. Prompts have 1,000
 * tokens. */
static void draw(struct scene *s, uint32_t n_running, uint32_t n_waiting, double deep_part)
{
    scene_draw(s, 1);
    s->config.chunk_tokens = 2048;
    s->kv.n_units_open = s->kv.n_units_free = 10000;
    s->kv.services[0] = (struct kv_budget_service){ .block_tokens = 16,
                                                    .blocks_per_unit = 1,
                                                    .n_units_max = 10000 };
    s->services[0] =
        (struct schedule_service){ .is_open = true,
                                   .first_waiting = SCHEDULE_NONE,
                                   .n_running = n_running,
                                   .n_waiting = n_waiting,
                                   .running = s->slots,
                                   .solo_ns = TIME_NS_PER_S,
                                   .n_prompt_mean = 1000,
                                   .n_output_mean = 90,
                                   .weights_bytes = INT64_C(26032000000),
                                   .perf = { .c1_ps = 10 * PS_PER_MS,
                                             .k1_ps = PS_PER_MS / 10,
                                             .c3_ps = { 10 * PS_PER_MS, 10 * PS_PER_MS },
                                             .c2_ps = { PS_PER_MS, PS_PER_MS },
                                             .b_switch = 64,
                                             .prefill_scale = 1,
                                             .decode_scale = 1 } };
    for (uint32_t slot = n_running + n_waiting; slot-- > 0;) {
        bool runs = slot < n_running;
        s->n_table_blocks[slot] = runs ? 64 : 0;
        s->requests[slot] = (struct request){ .state = runs ? REQUEST_RUNNING : REQUEST_WAITING,
                                              .kind = REQUEST_GENERATE,
                                              .n_prompt = 1000,
                                              .n_tokens = runs ? 1001 : 1000,
                                              .n_computed = runs ? 1000 : 0,
                                              .n_tokens_max = 2000,
                                              .next = s->services[0].first_waiting };
        if (!runs)
            s->services[0].first_waiting = slot;
    }
    s->lanes[0] = (struct schedule_lane){ .share = 1, .conflicts = 6, .n_gpus = 1 };
    s->lanes[1] = s->lanes[2] =
        (struct schedule_lane){ .share = 0.5F, .conflicts = 1, .n_gpus = 1 };
    s->view.n_deep = 4;
    s->view.deep_part = deep_part;
}

/* Returns the number of items of the next batch, 0: none. They are under way from now on. */
static int32_t serve(struct scene *s, unsigned parts, int32_t n_deep, uint16_t lane)
{
    schedule_fill_begin(&s->fill, &s->view, &s->config, &order, &s->plan);
    s->fill.n_deep = n_deep > 0 ? n_deep : s->fill.n_deep;
    s->fill.lane = lane;
    if (schedule_fill_serve(&s->fill, 0, parts, SCHEDULE_NONE) != FILLED_BATCH)
        return 0;
    assert_null(schedule_check(&s->view, &s->plan));
    for (int32_t i = 0; i < s->batches[0].n_items; i++)
        s->requests[s->batches[0].items[i].slot].batch = 1;
    s->view.n_in_flight += (uint32_t)s->batches[0].n_items;
    return s->batches[0].n_items;
}

static void decodes_are_dealt_out(void **state)
{
    static struct scene s;
    (void)state;
    draw(&s, 12, 0, 0.25); /* stages alike: 10 + 12/k ms a round, least with four */
    for (int i = 0; i < 4; i++)
        assert_int_equal(serve(&s, FILL_ALL, 0, 0), 3);
    assert_int_equal(serve(&s, FILL_ALL, 0, 0), 0);
    draw(&s, 12, 0, 0.5); /* the slowest is half of all: 22, 16, 21, 26 ms */
    for (int i = 0; i < 2; i++)
        assert_int_equal(serve(&s, FILL_ALL, 0, 0), 6);
    assert_int_equal(serve(&s, FILL_ALL, 0, 0), 0);
    draw(&s, 12, 0, 0.25); /* a step does not depend on its requests */
    s.services[0].perf.c2_ps[0] = 0;
    assert_int_equal(serve(&s, FILL_ALL, 0, 0), 12);
    draw(&s, 12, 0, 0.25); /* a policy with one batch of a service */
    assert_int_equal(serve(&s, FILL_ALL, 1, 0), 12);
    draw(&s, 12, 0, 0.25); /* no pipeline */
    s.view.n_deep = 0;
    assert_int_equal(serve(&s, FILL_ALL, 0, 0), 12);
}

/* Nine requests in two batches: one batch has five and one four. A tenth that has just come waits
 * for either. */
static void who_would_be_alone_waits(void **state)
{
    static struct scene s;
    (void)state;
    draw(&s, 9, 0, 0.5);
    assert_int_equal(serve(&s, FILL_ALL, 0, 0), 5);
    assert_int_equal(serve(&s, FILL_ALL, 0, 0), 4);
    draw(&s, 11, 0, 0.5);
    for (int i = 0; i < 10; i++)
        s.requests[i].batch = 1;
    s.view.n_in_flight = 10;
    assert_int_equal(serve(&s, FILL_ALL, 0, 0), 0);
    for (int i = 0; i < 5; i++) /* a batch has come back */
        s.requests[i].batch = 0;
    s.view.n_in_flight = 5;
    assert_int_equal(serve(&s, FILL_ALL, 0, 0), 6);
}

/* A step of one decode takes 11 ms, so that of a chunk takes at most 22: 2,048 tokens halved until
 * they are 64. With prompts about, the decodes are dealt out to all batches. */
static void prompts_are_cut(void **state)
{
    static struct scene s;
    (void)state;
    draw(&s, 8, 6, 0.25);
    assert_int_equal(serve(&s, FILL_ALL, 0, 0), 3);
    assert_int_equal(s.batches[0].items[2].slot, 8);
    assert_int_equal(s.batches[0].items[2].n_tokens, 64);
    draw(&s, 0, 6, 0.25); /* alone, too: others come behind it */
    assert_int_equal(serve(&s, FILL_ALL, 0, 0), 1);
    assert_int_equal(s.batches[0].items[0].n_tokens, 64);
    draw(&s, 8, 6, 0.25); /* on a part of the device they wait for no decodes: two of six, whole */
    s.view.n_lanes = 3;
    assert_int_equal(serve(&s, FILL_WAITING, 0, 1), 2);
    assert_int_equal(s.batches[0].items[1].n_tokens, 1000);
    s.config.chunk_tokens = 0; /* whole prompts are wanted */
    draw(&s, 0, 6, 0.25);
    s.config.chunk_tokens = 0;
    assert_int_equal(serve(&s, FILL_ALL, 0, 0), 2);
    assert_int_equal(s.batches[0].items[0].n_tokens, 1000);
}

/* Plans with `value`, for requests that have all just come. The running ones have had one step,
 * which took no time. */
static void plan_value(struct scene *s)
{
    const struct schedule_policy *policy = schedule_find("value");
    const struct schedule_limits limits = { 1, SCENE_SLOTS, 3 };
    void *state = mem_take(policy->state_bytes(&limits));
    uint32_t n_running = s->services[0].n_running, n = n_running + s->services[0].n_waiting;
    s->view.n_lanes = 3;
    s->services[0].n_running = 0;
    policy->open(state, &limits, &s->config);
    for (uint32_t slot = 0; slot < n; slot++) {
        struct schedule_event event = { .what = SCHEDULE_ARRIVED, .slot = slot };
        policy->saw(state, &s->view, &event);
        if (slot >= n_running)
            continue;
        s->services[0].n_running++;
        struct batch_item item = { slot, 1, 0 };
        struct batch batch = { .n_items = 1, .items = &item };
        policy->saw(state, &s->view,
                    &(struct schedule_event){ .what = SCHEDULE_STARTED, .batch = &batch });
        policy->saw(state, &s->view,
                    &(struct schedule_event){ .what = SCHEDULE_DONE,
                                              .batch = &batch,
                                              .n_steps = 1,
                                              .n_new = &(int32_t){ 1 },
                                              .n_computed = &(int32_t){ 1 } });
    }
    policy->plan(state, &s->view, &s->plan);
    assert_null(schedule_check(&s->view, &s->plan));
    mem_give(state);
}

static void value_has_prompts_beside_decodes(void **state)
{
    static struct scene s;
    (void)state;
    /* A prompt takes 0.18 s on half of the device, its slowest stage a quarter of that: six wait
     * for 0.27 of a mean request's second. */
    draw(&s, 4, 6, 0.25);
    plan_value(&s);
    assert_int_equal(s.plan.n_batches, 2);
    assert_int_equal(s.plan.batches[0].lane, 1);
    assert_int_equal(s.plan.batches[0].n_items, 2);
    assert_int_equal(s.plan.batches[1].lane, 2);
    assert_int_equal(s.plan.batches[1].items[0].n_tokens, 1);
    /* Eight are too many: in chunks beside the decodes, through all of it. */
    draw(&s, 4, 8, 0.25);
    plan_value(&s);
    assert_int_equal(s.plan.n_batches, 1);
    assert_int_equal(s.plan.batches[0].lane, 0);
    assert_int_equal(s.plan.batches[0].items[0].n_tokens, 1);
    assert_int_equal(s.plan.batches[0].items[1].n_tokens, 64);
    /* The prompts' lane has as many as it may have, the decodes' one has not. */
    draw(&s, 4, 1, 0.25);
    s.lane_is_busy[1] = true;
    s.view.n_in_flight = 1;
    plan_value(&s);
    assert_int_equal(s.plan.n_batches, 1);
    assert_int_equal(s.plan.batches[0].lane, 2);
    /* No request has a prompt to compute, so the batch gets all of the device. */
    draw(&s, 4, 0, 0.25);
    plan_value(&s);
    assert_int_equal(s.plan.n_batches, 1);
    assert_int_equal(s.plan.batches[0].lane, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(decodes_are_dealt_out),
        cmocka_unit_test(who_would_be_alone_waits),
        cmocka_unit_test(prompts_are_cut),
        cmocka_unit_test(value_has_prompts_beside_decodes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
