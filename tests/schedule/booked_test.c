/* The blocks that are booked for requests in any state. */
#include "test.h"
#include "base/rng.h"
#include "schedule/booked.h"

enum { N_SLOTS = 24, BLOCK = 8 };

struct world {
    struct schedule_config config;
    struct schedule_service service;
    struct request requests[N_SLOTS];
    uint32_t running[N_SLOTS];
    int32_t n_table_blocks[N_SLOTS];
    struct kv_budget kv;
    struct schedule_view view;
    struct rng rng;
};

static void world_open(struct world *w, uint64_t stream)
{
    memset(w, 0, sizeof(*w));
    schedule_config_init(&w->config);
    rng_init(&w->rng, test_seed(5), stream);
    w->config.ahead_blocks = (int32_t)rng_below(&w->rng, 4);
    w->kv.n_services = 1;
    w->kv.services[0].block_tokens = BLOCK;
    w->service.running = w->running;
    w->view = (struct schedule_view){ .n_services = 1,
                                      .n_lanes = 1,
                                      .services = &w->service,
                                      .requests = w->requests,
                                      .n_table_blocks = w->n_table_blocks,
                                      .kv = &w->kv };
}

static uint32_t add(struct world *w, int32_t n_tokens, int32_t n_blocks)
{
    uint32_t slot = w->service.n_running;
    w->requests[slot] = (struct request){ .state = REQUEST_RUNNING, .n_tokens = n_tokens };
    w->n_table_blocks[slot] = n_blocks;
    w->running[w->service.n_running++] = slot;
    return slot;
}

static void what_each_lacks_is_summed(void **state)
{
    int64_t sum = 0;
    (void)state;
    for (uint64_t i = 0; i < 200; i++) {
        struct world w;
        int64_t expected = 0;
        world_open(&w, i);
        for (int k = (int)rng_below(&w.rng, N_SLOTS); k > 0; k--) {
            int32_t n_tokens = 1 + (int32_t)rng_below(&w.rng, 60);
            int32_t n_blocks = (int32_t)rng_below(&w.rng, 10);
            uint32_t slot = add(&w, n_tokens, n_blocks);
            int32_t n_ahead = n_tokens + w.config.ahead_blocks * BLOCK;
            if (rng_below(&w.rng, 4) == 0)
                w.requests[slot].batch = 1; /* its batch got what it needs */
            else
                while (n_blocks * BLOCK < n_ahead) {
                    n_blocks++;
                    expected++;
                }
        }
        assert_int_equal(schedule_booked_count(&w.view, &w.config, 0), expected);
        sum += expected;
    }
    assert_true(sum > 1000);
}

/* Requests that run, end and give way in any order: the kept sums are those that a look at all
 * requests finds. */
static void what_is_kept_is_what_a_look_finds(void **state)
{
    struct world w;
    struct schedule_booked booked = { 0 };
    uint32_t own[N_SLOTS] = { 0 };
    int32_t n_most = 0;
    (void)state;
    world_open(&w, 7);
    for (int k = 0; k < N_SLOTS; k++)
        (void)add(&w, 1 + (int32_t)rng_below(&w.rng, 60), 0);
    uint32_t slots[N_SLOTS];
    memcpy(slots, w.running, sizeof(slots));
    w.service.n_running = 0;
    for (int i = 0; i < 4000; i++) {
        uint32_t slot = slots[rng_below(&w.rng, N_SLOTS)], at = 0;
        struct request *r = &w.requests[slot];
        int32_t n_catching_up = 0;
        while (at < w.service.n_running && w.running[at] != slot)
            at++;
        bool leaves = at < w.service.n_running && rng_below(&w.rng, 4) == 0;
        if (at == w.service.n_running)
            w.running[w.service.n_running++] = slot;
        r->n_tokens += (int32_t)rng_below(&w.rng, 3);
        r->n_computed =
            r->n_tokens - 1 - (int32_t)rng_below(&w.rng, 2) * min_i32(r->n_tokens - 1, 5);
        w.n_table_blocks[slot] = (r->n_computed + BLOCK - 1) / BLOCK;
        schedule_booked_note(&booked, &own[slot], r, w.n_table_blocks[slot], BLOCK,
                             w.config.ahead_blocks * BLOCK);
        if (leaves) {
            w.running[at] = w.running[--w.service.n_running];
            schedule_booked_forget(&booked, &own[slot]);
        }
        for (uint32_t n = 0; n < w.service.n_running; n++)
            n_catching_up += schedule_lacking(&w.requests[w.running[n]]) > 1;
        assert_int_equal(booked.n_blocks, schedule_booked_count(&w.view, &w.config, 0));
        assert_int_equal(booked.n_catching_up, n_catching_up);
        n_most = max_i32(n_most, n_catching_up);
    }
    assert_true(n_most > 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(what_each_lacks_is_summed),
                                        cmocka_unit_test(what_is_kept_is_what_a_look_finds) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
