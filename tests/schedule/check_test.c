/* The legality check: a good plan passes, and each way to break it is named in the message. */
#include "test.h"
#include "base/time.h"
#include "schedule/policy.h"

struct world {
    struct kv_budget kv;
    struct schedule_service services[2];
    struct request requests[4];
    uint32_t running[2];
    int32_t n_table_blocks[4];
    bool lane_is_busy[2];
    struct schedule_lane lanes[2];
    struct schedule_view view;
    struct batch batches[2];
    struct batch_item items[4];
    uint32_t preempts[4];
    bool swaps[4];
    struct schedule_plan plan;
};

/* Slot 0 runs, 1 waits (service 0); 2 waits (service 1); 3 is free. The plan: 1, then 2. */
static void draw(struct world *w)
{
    *w = (struct world){
        .kv = { .n_services = 2, .n_units_free = 8, .n_units_open = 9 },
        .requests = { { .state = REQUEST_RUNNING,
                        .n_tokens = 20,
                        .n_computed = 19,
                        .n_tokens_max = 100 },
                      { .state = REQUEST_WAITING, .n_tokens = 50, .n_tokens_max = 100 },
                      { .state = REQUEST_WAITING,
                        .service = 1,
                        .n_tokens = 64,
                        .n_tokens_max = 100 } },
        .n_table_blocks = { 2, 0, 0, 0 },
        .items = { { 1, 50, 0 }, { 0, 1, 0 }, { 2, 64, 0 } },
        .batches = { { .service = 0, .n_items = 2 }, { .service = 1, .n_items = 1 } },
    };
    for (int i = 0; i < 2; i++) {
        w->kv.services[i] = (struct kv_budget_service){ 16, 1, 0, 0, 0, 0, INT32_MAX };
        w->services[i] = (struct schedule_service){ .is_open = true };
    }
    w->services[0].n_running = 1;
    w->services[0].running = w->running;
    w->batches[0].items = w->items;
    w->batches[1].items = w->items + 2;
    w->view = (struct schedule_view){ .now_ns = 5,
                                      .n_services = 2,
                                      .n_lanes = 2,
                                      .services = w->services,
                                      .requests = w->requests,
                                      .kv = &w->kv,
                                      .n_table_blocks = w->n_table_blocks,
                                      .lanes = w->lanes,
                                      .lane_is_busy = w->lane_is_busy };
    w->plan = (struct schedule_plan){ .n_batches = 2,
                                      .batches = w->batches,
                                      .items = w->items,
                                      .n_items = 3,
                                      .n_items_max = 4,
                                      .n_rounds = 1,
                                      .until_ns = TIME_NEVER,
                                      .preempts = w->preempts,
                                      .swaps = w->swaps };
}

#define ASSERT_WRONG(sentence, change)                                                             \
    do {                                                                                           \
        struct world w;                                                                            \
        draw(&w);                                                                                  \
        assert_null(schedule_check(&w.view, &w.plan));                                             \
        change;                                                                                    \
        assert_non_null(schedule_check(&w.view, &w.plan));                                         \
        assert_string_equal(schedule_check(&w.view, &w.plan), sentence);                           \
    } while (0)

static void each_mistake_is_named(void **state)
{
    (void)state;
    ASSERT_WRONG("a request that is neither waiting nor running", w.items[0].slot = 3);
    ASSERT_WRONG("a request in flight", w.requests[0].batch = 7);
    ASSERT_WRONG("a request of another service", w.items[2].slot = 0);
    ASSERT_WRONG("tokens that the request does not lack", w.items[1].n_tokens = 2);
    ASSERT_WRONG("tokens that the request does not lack", w.items[0].n_tokens = 0);
    ASSERT_WRONG("drafts that the request does not have", w.items[0].n_draft = 50);
    ASSERT_WRONG("a request twice in a batch", w.items[1] = (w.items[0].n_tokens = 1, w.items[0]));
    ASSERT_WRONG("a batch of a service that is not open", w.services[1].is_open = false);
    ASSERT_WRONG("a batch on a lane that is busy, in conflict or not there", w.batches[1].lane = 2);
    ASSERT_WRONG("a batch on a lane that is busy, in conflict or not there",
                 w.lane_is_busy[0] = true);
    ASSERT_WRONG("a batch on a lane that is busy, in conflict or not there",
                 (w.lane_is_busy[1] = true, w.lanes[0].conflicts = 2));
    ASSERT_WRONG("batches on lanes in conflict", (w.batches[1].lane = 1, w.lanes[1].conflicts = 1));
    ASSERT_WRONG("a padded batch of fewer rows than members",
                 (w.batches[0].pads = (struct pads){ 50, 1 }));
    ASSERT_WRONG("a row longer than the batch's padding",
                 (w.batches[0].pads = (struct pads){ 49, 2 }));
    ASSERT_WRONG("two cohorts in a padded batch",
                 (w.batches[0].pads = (struct pads){ 50, 2 }, w.requests[0].cohort = 9));
    ASSERT_WRONG("a batch with no or too many items", w.batches[0].n_items = 0);
    ASSERT_WRONG("a batch whose items are not in the plan's", w.plan.n_items = 2);
    ASSERT_WRONG("a batch whose blocks the pool does not have", w.kv.n_units_free = 7);
    ASSERT_WRONG("a batch whose blocks the pool does not have", w.plan.n_rounds = 20);
    ASSERT_WRONG("no round", w.plan.n_rounds = 0);
    ASSERT_WRONG("counts out of range", w.plan.n_batches = LIMIT_BATCHES + 1);
    ASSERT_WRONG("an empty plan although requests run and none is in flight", w.plan.n_batches = 0);
    ASSERT_WRONG("an empty plan, for good, although no request runs and one that fits waits",
                 (w.plan.n_batches = 0, w.services[0].n_running = 0, w.kv.n_units_free = 9,
                  w.services[1].n_waiting = 1, w.services[1].first_waiting = 2));
    ASSERT_WRONG("a request both run and preempted", w.plan.n_preempts = 1);
    ASSERT_WRONG("preempts a request that holds nothing",
                 (w.preempts[0] = 2, w.plan.n_preempts = 1));
    ASSERT_WRONG("a hold until a time that has passed",
                 (w.plan.until = UNTIL_TIME, w.plan.until_ns = 5));
}

/* No request runs and none is planned: that is right when the waiting requests will be planned
 * later or can never run. */
static void some_wait_rightly(void **state)
{
    struct world w;
    (void)state;
    draw(&w);
    w.plan.n_batches = 0;
    w.services[0].n_running = 0;
    w.services[1].n_waiting = 1;
    w.services[1].first_waiting = 2;
    assert_null(schedule_check(&w.view, &w.plan)); /* blocks are held: they come back */
    w.kv.n_units_free = 9;
    assert_non_null(schedule_check(&w.view, &w.plan));
    w.plan.until = UNTIL_TIME;
    w.plan.until_ns = 6;
    assert_null(schedule_check(&w.view, &w.plan)); /* the policy is asked again */
    w.plan.until = 0;
    w.requests[2].n_tokens_max = 9 * 16 + 1;
    assert_null(schedule_check(&w.view, &w.plan)); /* it can never run */
}

static void positions_of_rounds(void **state)
{
    (void)state;
    struct request r = { .n_tokens = 20, .n_computed = 0, .n_tokens_max = 24 };
    struct batch_item whole = { 0, 20, 0 }, chunk = { 0, 8, 0 };
    assert_int_equal(schedule_positions(&r, &whole, 1), 20);
    assert_int_equal(schedule_positions(&r, &chunk, 1), 8);
    assert_int_equal(schedule_positions(&r, &chunk, 2), 16);
    assert_int_equal(schedule_positions(&r, &chunk, 3), 20);
    assert_int_equal(schedule_positions(&r, &chunk, 5), 22);
    assert_int_equal(schedule_positions(&r, &chunk, 50), 23); /* the last token needs no place */
    r.n_computed = 19;
    struct batch_item decode = { 0, 1, 0 };
    assert_int_equal(schedule_positions(&r, &decode, 1), 20);
    assert_int_equal(schedule_positions(&r, &decode, 3), 22);
    r.n_lease = 2;
    assert_int_equal(schedule_positions(&r, &decode, 3), 21);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_mistake_is_named),
        cmocka_unit_test(some_wait_rightly),
        cmocka_unit_test(positions_of_rounds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
