/* The state that the doubling-budget policies keep beside their ranks: the work that is left under
 * db-exact, the levels that requests leave and win back under mlfq, the buckets of device time
 * under db-share. */
#include "test.h"
#include "base/mem.h"
#include "base/time.h"
#include "schedule/db.h"
#include "schedule/policies.h"

enum { N_SLOTS = 4 };

struct world {
    struct db *db;
    struct kv_budget kv;
    struct schedule_service service;
    struct request requests[N_SLOTS];
    uint32_t running[N_SLOTS];
    int32_t n_table_blocks[N_SLOTS];
    struct schedule_view view;
};

/* A prompt of n tokens takes n ms alone, a token 1 ms. */
static void world_open(struct world *w, const struct schedule_policy *policy)
{
    struct schedule_limits limits = { 1, N_SLOTS, 1 };
    struct schedule_config config;
    schedule_config_init(&config);
    config.mlfq_n_steps = 5;
    config.mlfq_ns_idle = 50 * TIME_NS_PER_MS;
    *w = (struct world){
        .db = mem_take(schedule_db_state_bytes(&limits)),
        .service = { .is_open = true,
                     .first_waiting = SCHEDULE_NONE,
                     .perf = { .k1_ps = 1000 * TIME_NS_PER_MS,
                               .c3_ps = { 1000 * TIME_NS_PER_MS, 1000 * TIME_NS_PER_MS },
                               .b_switch = INT32_MAX,
                               .prefill_scale = 1,
                               .decode_scale = 1 },
                     .solo_ns = 40 * TIME_NS_PER_MS,
                     .solo_deviation_ns = 10 * TIME_NS_PER_MS,
                     .n_output_mean = 20 },
        .kv = { .n_services = 1, .services = { { .block_tokens = 16 } } },
    };
    w->service.running = w->running;
    w->view = (struct schedule_view){ .n_services = 1,
                                      .n_lanes = 1,
                                      .services = &w->service,
                                      .requests = w->requests,
                                      .n_table_blocks = w->n_table_blocks,
                                      .kv = &w->kv };
    policy->open(w->db, &limits, &config);
}

static void tell(struct world *w, struct schedule_event event)
{
    event.now_ns = w->view.now_ns;
    schedule_db_state_saw(w->db, &w->view, &event);
}

static void arrive(struct world *w, uint32_t slot, int32_t n_prompt)
{
    w->requests[slot] =
        (struct request){ .n_prompt = n_prompt, .n_tokens = n_prompt, .state = REQUEST_WAITING };
    w->requests[slot].served_ns = w->view.now_ns;
    w->service.n_waiting++;
    tell(w, (struct schedule_event){ .what = SCHEDULE_ARRIVED, .slot = slot });
}

/* The request runs alone for `ms` milliseconds and gets n_new more tokens. */
static void serve(struct world *w, uint32_t slot, int32_t n_new, int64_t ms)
{
    struct batch_item item = { slot, 1, 0 };
    struct batch batch = { .n_items = 1, .items = &item };
    struct request *r = &w->requests[slot];
    int32_t n_computed = r->n_tokens + n_new - 1 - r->n_computed;
    if (r->state == REQUEST_WAITING) {
        r->state = REQUEST_RUNNING;
        w->running[w->service.n_running++] = slot;
        w->service.n_waiting--;
        tell(w, (struct schedule_event){ .what = SCHEDULE_STARTED, .batch = &batch });
    }
    w->view.now_ns += ms * TIME_NS_PER_MS;
    r->n_computed += n_computed;
    r->n_tokens += n_new;
    r->served_ns = w->view.now_ns;
    tell(w, (struct schedule_event){ .what = SCHEDULE_DONE,
                                     .batch = &batch,
                                     .n_steps = n_new,
                                     .elapsed_ns = ms * TIME_NS_PER_MS,
                                     .n_new = &n_new,
                                     .n_computed = &n_computed });
}

static int64_t budget_ms(const struct world *w, uint32_t slot)
{
    return w->db->ranks.slots[slot].budget_ps / 1000 / TIME_NS_PER_MS;
}

/* 20 tokens are expected after a prompt of 10, the first of them with the prompt. */
static void exact_budgets_are_what_is_left(void **state)
{
    (void)state;
    struct world w;
    world_open(&w, &schedule_db_exact);
    arrive(&w, 0, 10);
    assert_int_equal(budget_ms(&w, 0), 10 + 19);
    serve(&w, 0, 5, 100);
    assert_int_equal(budget_ms(&w, 0), 15);
    assert_int_equal(w.db->ranks.slots[0].key, 15 * TIME_NS_PER_MS);
    serve(&w, 0, 30, 100); /* beyond the expected length: the next token may be the last */
    assert_int_equal(budget_ms(&w, 0), 1);
    w.requests[0].n_tokens -= 30;
    w.requests[0].n_computed = 0; /* preempted: 15 known tokens to compute again */
    w.requests[0].state = REQUEST_WAITING;
    w.service.n_waiting++;
    tell(&w, (struct schedule_event){ .what = SCHEDULE_PREEMPTED, .slot = 0 });
    w.service.n_running = 0;
    assert_int_equal(budget_ms(&w, 0), 15 + 14);
    assert_int_equal(tree_first(&w.db->ranks.services[0].waiting), 0);
    tell(&w, (struct schedule_event){ .what = SCHEDULE_GONE, .slot = 0 });
    assert_int_equal(tree_first(&w.db->ranks.services[0].waiting), TREE_NONE);
    mem_give(w.db);
}

static void budgets_start_at_the_usual_work(void **state)
{
    (void)state;
    struct world w;
    world_open(&w, &schedule_db_turn);
    arrive(&w, 0, 10);
    assert_int_equal(budget_ms(&w, 0), 50);
    serve(&w, 0, 1, 10);
    assert_int_equal(budget_ms(&w, 0), 40);
    serve(&w, 0, 40, 40);
    assert_int_equal(budget_ms(&w, 0), 100);
    mem_give(w.db);
}

/* Quanta of 10, 20, 40 ms. A prompt of 15 tokens joins level 1 and sinks after more than 20 ms
 * there. Every 5 steps the requests that idled for 50 ms rise. */
static void levels_are_left_and_won_back(void **state)
{
    (void)state;
    struct world w;
    world_open(&w, &schedule_db_mlfq);
    const struct schedule_rank *slots = w.db->ranks.slots;
    arrive(&w, 0, 5);
    arrive(&w, 1, 15);
    arrive(&w, 2, 30);
    assert_true(slots[0].level == 0 && slots[1].level == 1 && slots[2].level == 2);
    assert_int_equal(tree_first(&w.db->ranks.services[0].unserved), 1); /* 0 has nowhere to rise */
    serve(&w, 1, 1, 20);
    assert_true(slots[1].level == 1 && slots[1].spent_ps == 20 * 1000 * TIME_NS_PER_MS);
    serve(&w, 1, 1, 1);
    assert_true(slots[1].level == 2 && slots[1].spent_ps == 0);
    assert_int_equal(slots[1].key, 2);
    serve(&w, 0, 2, 28);
    assert_true(slots[0].level == 1 && slots[2].level == 2);
    serve(&w, 0, 1, 1); /* the fifth step: 2 waits since 0, for 50 ms */
    assert_true(slots[2].level == 0 && slots[1].level == 2);
    serve(&w, 0, 5, 21);
    assert_true(slots[1].level == 0 && slots[1].key == 0); /* it ran until 21 ms */
    assert_int_equal(tree_first(&w.db->ranks.services[0].unserved), TREE_NONE);
    mem_give(w.db);
}

static void device_time_is_charged_to_the_bucket(void **state)
{
    (void)state;
    struct world w;
    world_open(&w, &schedule_db_share);
    int64_t depth_ns = w.db->ranks.config.share_ns_depth;
    arrive(&w, 0, 10);
    w.db->buckets[0].phi = SHARE_ONE / 2;
    int64_t before = schedule_share_level(&w.db->buckets[0], w.view.now_ns, depth_ns);
    serve(&w, 0, 1, 10);
    int64_t after = schedule_share_level(&w.db->buckets[0], w.view.now_ns, depth_ns);
    assert_int_equal(before - after, 5 * TIME_NS_PER_MS * SHARE_ONE);
    mem_give(w.db);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exact_budgets_are_what_is_left),
        cmocka_unit_test(budgets_start_at_the_usual_work),
        cmocka_unit_test(levels_are_left_and_won_back),
        cmocka_unit_test(device_time_is_charged_to_the_bucket),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
