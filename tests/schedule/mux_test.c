/* Scheduling on lanes. MuxServe's: which jobs run side by side on which lanes, turns, and the two
 * errors of the paper's listing that must not come back. And the default's. */
#include "loop.h"
#include "test.h"
#include "base/mem.h"
#include "base/time.h"

enum { N_SLOTS = 8 };

struct world {
    const struct schedule_policy *policy;
    void *state;
    struct schedule_config config;
    struct kv_budget kv;
    struct schedule_service services[3];
    struct request requests[N_SLOTS];
    uint32_t running[3][N_SLOTS];
    int32_t n_table_blocks[N_SLOTS];
    bool lane_is_busy[4];
    struct schedule_lane lanes[4];
    struct schedule_view view;
    struct batch batches[LIMIT_BATCHES];
    struct batch_item items[LIMIT_BATCH_ITEMS];
    uint32_t preempts[LIMIT_BATCH_ITEMS];
    bool swaps[LIMIT_BATCH_ITEMS];
    struct schedule_plan plan;
    struct batch flights[4]; /* by lane */
    struct batch_item flight_items[4];
    uint32_t n_slots, next_batch;
};

/* Three services; the whole device, seven tenths and three tenths of it; units of 16 tokens. */
static void draw(struct world *w, const char *policy, int64_t n_units)
{
    memset(w, 0, sizeof(*w));
    struct schedule_limits limits = { 3, N_SLOTS, 4 };
    schedule_config_init(&w->config);
    w->policy = schedule_find(policy);
    w->state = mem_take(w->policy->state_bytes(&limits));
    w->policy->open(w->state, &limits, &w->config);
    w->kv = (struct kv_budget){ .n_services = 3, .n_units_free = n_units, .n_units_open = n_units };
    w->lanes[0] = (struct schedule_lane){ 1, 6 };
    w->lanes[1] = (struct schedule_lane){ 0.7F, 1 };
    w->lanes[2] = (struct schedule_lane){ 0.3F, 1 };
    for (int i = 0; i < 3; i++) {
        w->kv.services[i] = (struct kv_budget_service){ .block_tokens = 16,
                                                        .blocks_per_unit = 1,
                                                        .n_units_max = n_units };
        w->services[i] = (struct schedule_service){ .is_open = true,
                                                    .first_waiting = SCHEDULE_NONE,
                                                    .running = w->running[i],
                                                    .rate_per_s = 1,
                                                    .n_prompt_mean = 16,
                                                    .n_output_mean = 16 };
    }
    w->view = (struct schedule_view){ .now_ns = TIME_NS_PER_S,
                                      .n_services = 3,
                                      .n_lanes = 3,
                                      .lanes = w->lanes,
                                      .services = w->services,
                                      .requests = w->requests,
                                      .kv = &w->kv,
                                      .n_table_blocks = w->n_table_blocks,
                                      .lane_is_busy = w->lane_is_busy };
    w->plan = (struct schedule_plan){ .batches = w->batches,
                                      .items = w->items,
                                      .n_items_max = LIMIT_BATCH_ITEMS,
                                      .preempts = w->preempts,
                                      .swaps = w->swaps };
}

static void tell(struct world *w, struct schedule_event event)
{
    event.now_ns = w->view.now_ns;
    w->policy->saw(w->state, &w->view, &event);
}

static uint32_t add(struct world *w, int service, bool runs, int32_t n_prompt)
{
    uint32_t slot = w->n_slots++;
    struct schedule_service *s = &w->services[service];
    w->requests[slot] = (struct request){ .id = slot,
                                          .service = (uint16_t)service,
                                          .state = runs ? REQUEST_RUNNING : REQUEST_WAITING,
                                          .n_prompt = n_prompt,
                                          .n_tokens = n_prompt + runs,
                                          .n_computed = runs ? n_prompt : 0,
                                          .n_tokens_max = 4000,
                                          .arrived_ns = slot,
                                          .next = SCHEDULE_NONE };
    if (runs) {
        w->running[service][s->n_running++] = slot;
        w->n_table_blocks[slot] = (int32_t)kv_blocks_for(n_prompt, 16);
        w->kv.services[service].n_units += w->n_table_blocks[slot];
        w->kv.n_units_free -= w->n_table_blocks[slot];
    } else {
        s->first_waiting = slot;
        s->n_waiting++;
    }
    tell(w, (struct schedule_event){ .what = SCHEDULE_ARRIVED, .slot = slot });
    if (runs) { /* it has had a batch */
        struct batch_item item = { slot, 1, 0 };
        struct batch batch = { .service = (uint16_t)service, .n_items = 1, .items = &item };
        int32_t n = 1;
        tell(w, (struct schedule_event){ .what = SCHEDULE_STARTED, .batch = &batch });
        tell(w, (struct schedule_event){ .what = SCHEDULE_DONE,
                                         .batch = &batch,
                                         .n_steps = 1,
                                         .n_new = &n,
                                         .n_computed = &n });
    }
    return slot;
}

/* The plan in one line: "0p1 1d2" is a prefill of service 0 on lane 1 and a decode of 1 on lane 2.
 */
static void assert_plan(struct world *w, const char *expected)
{
    char line[128] = "";
    w->policy->plan(w->state, &w->view, &w->plan);
    const char *wrong = schedule_check(&w->view, &w->plan);
    if (wrong != NULL)
        fail_msg("%s", wrong);
    for (int32_t i = 0; i < w->plan.n_batches; i++) {
        const struct batch *b = &w->batches[i];
        size_t n = strlen(line);
        snprintf(line + n, sizeof(line) - n, "%s%d%c%d", i > 0 ? " " : "", b->service,
                 b->items[0].n_tokens > 1 ? 'p' : 'd', b->lane);
    }
    assert_string_equal(line, expected);
}

/* The plan's batches take off. */
static void begin(struct world *w)
{
    for (int32_t i = 0; i < w->plan.n_batches; i++) {
        struct batch *b = &w->flights[w->batches[i].lane];
        *b = w->batches[i];
        assert_int_equal(b->n_items, 1);
        b->items = &w->flight_items[b->lane];
        b->items[0] = w->batches[i].items[0];
        b->id = ++w->next_batch;
        struct request *r = &w->requests[b->items[0].slot];
        if (r->state == REQUEST_WAITING) {
            w->services[b->service].first_waiting = SCHEDULE_NONE;
            w->services[b->service].n_waiting--;
            w->running[b->service][w->services[b->service].n_running++] = b->items[0].slot;
            r->state = REQUEST_RUNNING;
        }
        r->batch = b->id;
        w->view.n_in_flight++;
        w->lane_is_busy[b->lane] = true;
        tell(w, (struct schedule_event){ .what = SCHEDULE_STARTED, .batch = b });
    }
}

static void end(struct world *w, int lane)
{
    struct batch *b = &w->flights[lane];
    struct request *r = &w->requests[b->items[0].slot];
    int32_t n_new = 1, n_computed = b->items[0].n_tokens;
    r->n_computed += n_computed;
    r->n_tokens += n_new;
    int32_t n_blocks = (int32_t)kv_blocks_for(r->n_computed, 16);
    int32_t n_more = n_blocks - w->n_table_blocks[b->items[0].slot];
    w->n_table_blocks[b->items[0].slot] = n_blocks;
    w->kv.services[b->service].n_units += n_more;
    w->kv.n_units_free -= n_more;
    r->batch = 0;
    w->view.n_in_flight--;
    w->lane_is_busy[lane] = false;
    tell(w, (struct schedule_event){ .what = SCHEDULE_DONE,
                                     .batch = b,
                                     .n_steps = 1,
                                     .n_new = &n_new,
                                     .n_computed = &n_computed,
                                     .elapsed_ns = TIME_NS_PER_MS });
}

static void prompts_and_decodes_run_side_by_side(void **state)
{
    (void)state;
    static const char *const names[] = { "adbs", "mux-rr", "mux-fcfs" };
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        struct world w;
        draw(&w, names[i], 1000);
        (void)add(&w, 0, false, 100);
        (void)add(&w, 1, true, 20);
        (void)add(&w, 2, true, 20);
        assert_plan(&w, "0p1 1d2");
        begin(&w);
        assert_plan(&w, ""); /* no lane is left */
        end(&w, 2);
        /* One prefill at a time; the next model's turn; mux-fcfs: the older one's again. */
        assert_plan(&w, strcmp(names[i], "mux-fcfs") == 0 ? "1d2" : "2d2");
        begin(&w);
        end(&w, 1);
        w.n_slots = 3;
        (void)add(&w, 2, false, 50);
        if (strcmp(names[i], "mux-rr") == 0)
            assert_plan(&w, "2p1");
        mem_give(w.state);
    }
}

/* Lanes of 70 and 30 points: a service with a share of 50 decodes on the lane of 70 or waits for
 * it. */
static void decodes_keep_to_their_share(void **state)
{
    (void)state;
    struct world w;
    draw(&w, "adbs", 1000);
    w.services[1].share = 0.5F;
    w.services[2].share = 0.3F;
    (void)add(&w, 1, true, 20);
    (void)add(&w, 2, true, 20);
    assert_plan(&w, "1d1 2d2");
    w.services[1].share = 0.9F; /* more than any lane has: it gets the largest */
    assert_plan(&w, "1d1 2d2");
    begin(&w);
    end(&w, 2);
    assert_plan(&w, "2d2");
    w.services[2].share = 0.7F;
    assert_plan(&w, ""); /* the other has the lane, and 30 points are not enough */
    w.lanes[2].share = 0.6F;
    w.services[2].share = 0.5F;
    assert_plan(&w, ""); /* both are more than 120 points together */
    mem_give(w.state);
}

/* Two lanes of 30 points for decodes, and one for prompts: with 90 points it runs beside one of
 * them, with 95 beside none. */
static void draw_shares(struct world *w, float prompts, uint16_t conflicts)
{
    draw(w, "adbs", 1000);
    w->lanes[1] = (struct schedule_lane){ 0.3F, conflicts };
    w->lanes[2] = (struct schedule_lane){ 0.3F, conflicts };
    w->lanes[3] = (struct schedule_lane){ prompts, conflicts & 8 ? 7 : 1, 0, true };
    w->lanes[0].conflicts = 14;
    w->view.n_lanes = 4;
    w->services[1].share = w->services[2].share = 0.3F;
    (void)add(w, 1, true, 20);
    (void)add(w, 2, true, 20);
    assert_plan(w, "1d1 2d2"); /* and never on the prompts' lane */
    begin(w);
    (void)add(w, 0, false, 20);
    assert_plan(w, ""); /* nor a prompt on a lane of decodes */
    end(w, 2);
}

static void prompts_have_a_lane_of_their_own(void **state)
{
    (void)state;
    struct world w;
    draw_shares(&w, 0.9F, 1);
    assert_plan(&w, "0p3");
    mem_give(w.state);
    draw_shares(&w, 0.95F, 9);
    assert_plan(&w, ""); /* the prompt waits for points, so decodes do not start again */
    end(&w, 1);
    assert_plan(&w, "0p0"); /* alone after all */
    mem_give(w.state);
}

static void a_lone_job_takes_the_whole_device(void **state)
{
    (void)state;
    struct world w;
    draw(&w, "adbs", 1000);
    (void)add(&w, 1, true, 20);
    w.policy->plan(w.state, &w.view, &w.plan);
    assert_int_equal(w.plan.n_batches, 1);
    assert_int_equal(w.plan.batches[0].lane, 0);
    assert_true(w.plan.n_rounds > 1); /* nothing can change: a hold */
    mem_give(w.state);
    draw(&w, "adbs", 1000);
    (void)add(&w, 1, true, 20);
    w.config.has_fixed_parts = true; /* or keeps to its part */
    w.policy->open(w.state, &(struct schedule_limits){ 3, N_SLOTS, 4 }, &w.config);
    w.policy->plan(w.state, &w.view, &w.plan);
    assert_int_equal(w.plan.n_batches, 1);
    assert_int_not_equal(w.plan.batches[0].lane, 0);
    mem_give(w.state);
}

/* The listing's error: a prompt that finds no blocks must not hold decodes up. */
static void a_prompt_without_room_holds_nobody_up(void **state)
{
    (void)state;
    struct world w;
    draw(&w, "adbs", 8);
    (void)add(&w, 0, false, 100); /* 7 blocks; 4 are free */
    (void)add(&w, 1, true, 30);
    (void)add(&w, 2, true, 30);
    assert_plan(&w, "1d2 2d1");
    mem_give(w.state);
}

/* Quotas: service 0 holds more than its own quota, and another service waits below its own. So the
 * second prompt of service 0 waits and the other service's prompt starts, though its turn comes
 * later. */
static void who_is_above_his_quota_waits(void **state)
{
    (void)state;
    struct world w;
    draw(&w, "adbs", 60);
    (void)add(&w, 0, true, 16 * 30);
    (void)add(&w, 0, false, 16 * 2);
    (void)add(&w, 1, false, 16 * 2);
    assert_plan(&w, "1p1 0d2");
    struct schedule_report report = { 0 };
    w.policy->report(w.state, &w.view, &report);
    int64_t sum = 0;
    for (int i = 0; i < 3; i++)
        sum += report.services[i].n_units_quota;
    assert_int_equal(sum, 60);
    assert_true(report.services[0].r > 2.9); /* all that is used, a third is its own */
    mem_give(w.state);
    draw(&w, "mux-rr", 60); /* without quotas: in turn */
    (void)add(&w, 0, true, 16 * 30);
    (void)add(&w, 0, false, 16 * 2);
    (void)add(&w, 1, false, 16 * 2);
    assert_plan(&w, "0p1 0d2");
    mem_give(w.state);
}

/* One lane: prompts first, then decodes in turn. */
static void record(struct loop *loop, const struct batch *batch, void *self)
{
    char *trace = self;
    size_t n = strlen(trace);
    bool is_prompt = loop->requests[batch->items[0].slot].n_computed == 0;
    trace[n] = (char)((is_prompt ? 'A' : 'a') + batch->service);
}

static void one_lane_alternates(void **state)
{
    (void)state;
    struct loop loop;
    struct loop_options options = { .policy = schedule_find("adbs"),
                                    .n_services = 3,
                                    .unit_bytes = 1 << 16,
                                    .pool_bytes = 1 << 26,
                                    .n_requests_max = 100 };
    schedule_config_init(&options.config);
    options.config.n_rounds_max = 1;
    for (int i = 0; i < 3; i++)
        options.services[i] = (struct loop_service){ .perf = loop_unit_perf(TIME_NS_PER_MS),
                                                     .bytes_per_token = 64,
                                                     .solo_ns = TIME_NS_PER_S };
    char trace[64] = { 0 };
    loop_open(&loop, &options);
    loop.on_batch = record;
    loop.on_batch_self = trace;
    (void)loop_add(&loop, 0, 0, 10, 4);
    (void)loop_add(&loop, 0, 0, 10, 4);
    (void)loop_add(&loop, 2, 0, 10, 3);
    loop_run(&loop);
    assert_string_equal(trace, "ACacaca");
    loop_close(&loop);
}

/* The default on parts of a GPU: prompts beside decodes. The service that gathered most since
 * its last batch began decodes first. L-hat is 1, 1 and 4 s, one request each. On parts
 * of cores, which are no faster side by side, one job after the other has all of them. */
static void value_takes_who_gathered_most(void **state)
{
    (void)state;
    for (uint8_t n_gpus = 0; n_gpus < 2; n_gpus++) {
        struct world w;
        draw(&w, "value", 1000);
        for (int i = 0; i < 3; i++) {
            w.lanes[i].n_gpus = n_gpus;
            w.services[i].perf = loop_unit_perf(TIME_NS_PER_MS);
            w.services[i].weights_bytes = INT64_C(13476000000);
            w.services[i].solo_ns = (i == 2 ? 4 : 1) * TIME_NS_PER_S;
        }
        (void)add(&w, 0, false, 100);
        (void)add(&w, 1, true, 20);
        (void)add(&w, 2, true, 20);
        w.policy->plan(w.state, &w.view, &w.plan);
        if (n_gpus == 0) {
            assert_true(w.plan.n_batches == 1 && w.plan.batches[0].lane == 0);
            mem_give(w.state);
            continue;
        }
        assert_plan(&w, "0p1 1d2");
        begin(&w);
        assert_plan(&w, "");
        w.view.now_ns += TIME_NS_PER_S; /* 1 against a quarter */
        end(&w, 2);
        assert_plan(&w, "1d2");
        begin(&w);
        w.view.now_ns += TIME_NS_PER_S / 10; /* 0.1 against 1.1 quarters */
        end(&w, 2);
        assert_plan(&w, "2d2");
        begin(&w);
        end(&w, 1); /* the prompt is done, no other service has one, and 0 never had its decodes */
        assert_plan(&w, "0d1");
        mem_give(w.state);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(prompts_and_decodes_run_side_by_side),
        cmocka_unit_test(decodes_keep_to_their_share),
        cmocka_unit_test(prompts_have_a_lane_of_their_own),
        cmocka_unit_test(a_lone_job_takes_the_whole_device),
        cmocka_unit_test(a_prompt_without_room_holds_nobody_up),
        cmocka_unit_test(who_is_above_his_quota_waits),
        cmocka_unit_test(one_lane_alternates),
        cmocka_unit_test(value_takes_who_gathered_most),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
