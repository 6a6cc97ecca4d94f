/* Budgets: charged by work alone, doubled when spent, a hold charged as its single steps. */
#include "test.h"
#include "base/mem.h"
#include "base/rng.h"
#include "base/time.h"
#include "schedule/db.h"
#include "schedule/policy.h"

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

static void world_open(struct world *w)
{
    struct schedule_limits limits = { 1, N_SLOTS, 1 };
    struct schedule_config config;
    schedule_config_init(&config);
    *w = (struct world){
        .db = mem_take(schedule_db_state_bytes(&limits)),
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
    schedule_db_state_open(w->db, &limits, &config, DB_TURN);
}

static void tell(struct world *w, struct schedule_event event)
{
    schedule_db_state_saw(w->db, &w->view, &event);
}

/* A request of 10 prompt tokens arrives in slot 0 and starts. */
static void begin(struct world *w)
{
    w->requests[0] = (struct request){
        .n_prompt = 10, .n_tokens = 10, .n_tokens_max = 100000, .state = REQUEST_WAITING
    };
    tell(w, (struct schedule_event){ .what = SCHEDULE_ARRIVED, .slot = 0 });
    assert_int_equal(tree_first(&w->db->services[0].waiting), 0);
    w->requests[0].state = REQUEST_RUNNING;
    w->service.n_running = 1;
    struct batch_item item = { 0, 10, 0 };
    struct batch batch = { .n_items = 1, .items = &item };
    tell(w, (struct schedule_event){ .what = SCHEDULE_STARTED, .batch = &batch });
    assert_int_equal(tree_first(&w->db->services[0].waiting), TREE_NONE);
    assert_int_equal(w->db->services[0].first[DB_BEST].at[0].slot, 0);
}

static void done(struct world *w, int32_t n_computed, int32_t n_new, int32_t n_steps)
{
    struct batch_item item = { 0, 1, 0 };
    struct batch batch = { .n_items = 1, .items = &item };
    w->requests[0].n_computed += n_computed;
    w->requests[0].n_tokens += n_new;
    tell(w, (struct schedule_event){ .what = SCHEDULE_DONE,
                                     .batch = &batch,
                                     .n_steps = n_steps,
                                     .n_new = &n_new,
                                     .n_computed = &n_computed });
}

static void work_is_charged_as_if_alone(void **state)
{
    (void)state;
    struct world w;
    world_open(&w);
    begin(&w);
    assert_int_equal(w.db->slots[0].budget_ps, 50000);
    done(&w, 4, 0, 1); /* a chunk: 1000 + 4 * 100 */
    assert_int_equal(w.db->slots[0].budget_ps, 50000 - 1400);
    done(&w, 6, 1, 1); /* the rest: to 1000 + 10 * 100 in all */
    assert_int_equal(w.db->slots[0].budget_ps, 50000 - 2000);
    done(&w, 1, 1, 1); /* a token at context 11 */
    assert_int_equal(w.db->slots[0].budget_ps, 48000 - 553);
    assert_int_equal(w.db->slots[0].level, 0);
    mem_give(w.db);
}

static void a_spent_budget_doubles(void **state)
{
    (void)state;
    struct world w;
    world_open(&w);
    begin(&w);
    done(&w, 10, 1, 1);
    int64_t left = w.db->slots[0].budget_ps, context = 11;
    while (w.db->slots[0].level == 0) {
        left -= 500 + 20 + 3 * context++;
        done(&w, 1, 1, 1);
    }
    assert_true(left <= 0 && left > -1000);
    assert_int_equal(w.db->slots[0].level, 1);
    assert_int_equal(w.db->slots[0].budget_ps, 2 * 50000);
    mem_give(w.db);
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
            assert_int_equal(held.db->slots[0].budget_ps, stepped.db->slots[0].budget_ps);
            assert_int_equal(held.db->slots[0].level, stepped.db->slots[0].level);
            assert_int_equal(held.db->slots[0].spent_ps, stepped.db->slots[0].spent_ps);
        }
        mem_give(held.db);
        mem_give(stepped.db);
    }
}

static void a_service_without_data_has_a_budget(void **state)
{
    (void)state;
    struct schedule_service service = { .perf = { .c1_ps = 1000000,
                                                  .c3_ps = { 5000, 5000 },
                                                  .prefill_scale = 1,
                                                  .decode_scale = 1,
                                                  .b_switch = INT32_MAX } };
    assert_int_equal(schedule_db_state_budget_ps(&service), (1000000 + 127 * 5000) / 1000 * 1000);
    service.solo_ns = INT64_MAX / 4; /* nonsense does not overflow */
    assert_true(schedule_db_state_budget_ps(&service) > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(work_is_charged_as_if_alone),
        cmocka_unit_test(a_spent_budget_doubles),
        cmocka_unit_test(a_hold_is_charged_as_its_steps),
        cmocka_unit_test(a_service_without_data_has_a_budget),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
