/* Charging: by the work as if alone or by wall time, budgets that double when they are spent, a
 * hold charged as its single steps. */
#include "test.h"
#include "base/mem.h"
#include "base/rng.h"
#include "base/time.h"
#include "schedule/charge.h"

enum { N_SLOTS = 4 };

struct world {
    struct schedule_ranks ranks;
    unsigned char *block;
    struct kv_budget kv;
    struct schedule_service service;
    struct request requests[N_SLOTS];
    uint32_t running[N_SLOTS];
    int32_t n_table_blocks[N_SLOTS];
    struct schedule_view view;
};

static void world_open(struct world *w)
{
    struct schedule_limits limits = { 1, N_SLOTS, 1 };
    struct schedule_config config;
    schedule_config_init(&config);
    *w = (struct world){
        .block = mem_take(schedule_ranks_bytes(&limits)),
        .service = { .is_open = true,
                     .first_waiting = SCHEDULE_NONE,
                     .perf = { .c1_ps = 1000,
                               .k1_ps = 100,
                               .c3_ps = { 500, 500 },
                               .c2_ps = { 20, 20 },
                               .k2_ps = { 3, 3 },
                               .b_switch = INT32_MAX,
                               .prefill_scale = 1,
                               .decode_scale = 1 },
                     .solo_ns = 40,
                     .solo_deviation_ns = 10 },
        .kv = { .n_services = 1, .services = { { .block_tokens = 16 } } },
    };
    w->service.running = w->running;
    w->view = (struct schedule_view){ .n_services = 1,
                                      .n_lanes = 1,
                                      .services = &w->service,
                                      .requests = w->requests,
                                      .n_table_blocks = w->n_table_blocks,
                                      .kv = &w->kv };
    unsigned char *at = w->block;
    schedule_ranks_open(&w->ranks, &at, &limits, &config, 1U << RANKS_BEST);
}

/* A request of 10 prompt tokens arrives in slot 0 and starts. */
static void begin(struct world *w)
{
    w->requests[0] = (struct request){
        .n_prompt = 10, .n_tokens = 10, .n_tokens_max = 100000, .state = REQUEST_WAITING
    };
    schedule_ranks_arrive(&w->ranks, &w->view, 0);
    w->ranks.slots[0].budget_ps = schedule_work_usual_ps(&w->service);
    schedule_ranks_wait(&w->ranks, &w->view, 0, 0, true);
    w->requests[0].state = REQUEST_RUNNING;
    w->service.n_running = 1;
    schedule_ranks_start(&w->ranks, &w->view, 0, 0);
}

static void done_with(struct world *w, struct batch_item item, int32_t n_computed, int32_t n_new,
                      int32_t n_steps)
{
    struct batch batch = { .n_items = 1, .items = &item };
    w->requests[0].n_computed += n_computed;
    w->requests[0].n_tokens += n_new;
    schedule_charge_batch(&w->ranks, &w->view,
                          &(struct schedule_event){ .what = SCHEDULE_DONE,
                                                    .batch = &batch,
                                                    .n_steps = n_steps,
                                                    .n_new = &n_new,
                                                    .n_computed = &n_computed,
                                                    .elapsed_ns = 7 });
}

static void done(struct world *w, int32_t n_computed, int32_t n_new, int32_t n_steps)
{
    done_with(w, (struct batch_item){ 0, 1, 0 }, n_computed, n_new, n_steps);
}

/* An accepted draft costs a token, and a refused one a row more. */
static void drafts_are_charged(void **state)
{
    (void)state;
    struct world w;
    world_open(&w);
    begin(&w);
    done(&w, 10, 1, 1);
    int64_t left = w.ranks.slots[0].budget_ps;
    done_with(&w, (struct batch_item){ 0, 4, 3 }, 4, 4, 1); /* all accepted */
    left -= 4 * 520 + 3 * (11 + 12 + 13 + 14);
    assert_int_equal(w.ranks.slots[0].budget_ps, left);
    done_with(&w, (struct batch_item){ 0, 4, 3 }, 2, 2, 1); /* two refused */
    left -= 2 * 520 + 3 * (15 + 16) + 2 * (20 + 3 * 15);
    assert_int_equal(w.ranks.slots[0].budget_ps, left);
    done_with(&w, (struct batch_item){ 0, 4, 3 }, 1, 1, 1); /* all refused */
    left -= 520 + 3 * 17 + 3 * (20 + 3 * 17);
    assert_int_equal(w.ranks.slots[0].budget_ps, left);
    mem_give(w.block);
}

static void work_is_charged_as_if_alone(void **state)
{
    (void)state;
    struct world w;
    world_open(&w);
    begin(&w);
    assert_int_equal(w.ranks.slots[0].budget_ps, 50000);
    done(&w, 4, 0, 1); /* a chunk: 1000 + 4 * 100 */
    assert_int_equal(w.ranks.slots[0].budget_ps, 50000 - 1400);
    done(&w, 6, 1, 1); /* the rest: to 1000 + 10 * 100 in all */
    assert_int_equal(w.ranks.slots[0].budget_ps, 50000 - 2000);
    done(&w, 1, 1, 1); /* a token at context 11 */
    assert_int_equal(w.ranks.slots[0].budget_ps, 48000 - 553);
    assert_int_equal(w.ranks.slots[0].level, 0);
    mem_give(w.block);
}

static void a_spent_budget_doubles(void **state)
{
    (void)state;
    struct world w;
    world_open(&w);
    begin(&w);
    done(&w, 10, 1, 1);
    int64_t left = w.ranks.slots[0].budget_ps, context = 11;
    while (w.ranks.slots[0].level == 0) {
        left -= 500 + 20 + 3 * context++;
        done(&w, 1, 1, 1);
    }
    assert_true(left <= 0 && left > -1000);
    assert_int_equal(w.ranks.slots[0].level, 1);
    assert_int_equal(w.ranks.slots[0].budget_ps, 2 * 50000);
    mem_give(w.block);
}

static void a_hold_is_charged_as_its_steps(void **state)
{
    (void)state;
    struct rng rng;
    rng_init(&rng, test_seed(1), 0);
    for (int round = 0; round < 300; round++) {
        struct world held, stepped;
        world_open(&held);
        world_open(&stepped);
        begin(&held);
        begin(&stepped);
        done(&held, 10, 1, 1);
        done(&stepped, 10, 1, 1);
        for (int k = 0; k < 4; k++) {
            int32_t n = 1 + (int32_t)rng_below(&rng, 400);
            done(&held, n, n, n);
            for (int32_t i = 0; i < n; i++)
                done(&stepped, 1, 1, 1);
            assert_int_equal(held.ranks.slots[0].budget_ps, stepped.ranks.slots[0].budget_ps);
            assert_int_equal(held.ranks.slots[0].level, stepped.ranks.slots[0].level);
            assert_int_equal(held.ranks.slots[0].spent_ps, stepped.ranks.slots[0].spent_ps);
        }
        mem_give(held.block);
        mem_give(stepped.block);
    }
}

static void wall_time_is_charged_when_it_is_asked_for(void **state)
{
    (void)state;
    struct world w;
    world_open(&w);
    begin(&w);
    w.ranks.config.db_counts_wall = true;
    done(&w, 10, 1, 1);
    done(&w, 1, 1, 1);
    assert_int_equal(w.ranks.slots[0].attained_ps, 14000);
    assert_int_equal(w.ranks.slots[0].spent_ps, 14000);
    assert_int_equal(w.ranks.slots[0].budget_ps, 50000 - 14000);
    mem_give(w.block);
}

/* A batch notes more than the charge: the key, the price of the service, and the blocks that the
 * member has booked (11 known tokens and a block ahead, with a table of one block). */
static void a_batch_notes_key_price_and_blocks(void **state)
{
    (void)state;
    struct world w;
    world_open(&w);
    begin(&w);
    w.n_table_blocks[0] = 1;
    w.requests[0].priority = 2;
    done(&w, 10, 1, 1);
    assert_int_equal(w.ranks.slots[0].key, schedule_ranks_key(48, 2));
    assert_int_equal(w.ranks.services[0].price.first_ps, 520);
    assert_int_equal(w.ranks.services[0].price.slope_ps, 3);
    assert_int_equal(w.ranks.services[0].price.usual_ps, 50000);
    assert_int_equal(w.ranks.services[0].booked.n_blocks, 1);
    mem_give(w.block);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(work_is_charged_as_if_alone),
        cmocka_unit_test(drafts_are_charged),
        cmocka_unit_test(a_spent_budget_doubles),
        cmocka_unit_test(a_hold_is_charged_as_its_steps),
        cmocka_unit_test(wall_time_is_charged_when_it_is_asked_for),
        cmocka_unit_test(a_batch_notes_key_price_and_blocks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
