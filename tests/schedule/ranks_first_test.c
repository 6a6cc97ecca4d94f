/* The first running requests by every order: after random starts, batches and leaves, the lists
 * agree with a look at all requests. */
#include "test.h"
#include "base/mem.h"
#include "base/rng.h"
#include "base/time.h"
#include "schedule/ranks.h"

enum { N_SLOTS = 48 };

struct world {
    struct schedule_ranks ranks;
    unsigned char *block;
    struct schedule_service service;
    struct request requests[N_SLOTS];
    uint32_t running[N_SLOTS];
    struct schedule_view view;
    struct rng rng;
    int64_t n_first; /* checked */
};

static void world_open(struct world *w, unsigned orders, uint64_t seed)
{
    struct schedule_limits limits = { 1, N_SLOTS, 1 };
    struct schedule_config config;
    schedule_config_init(&config);
    memset(w, 0, sizeof(*w));
    unsigned char *at = w->block = mem_take(schedule_ranks_bytes(&limits));
    schedule_ranks_open(&w->ranks, &at, &limits, &config, orders);
    assert_true(at == w->block + schedule_ranks_bytes(&limits));
    w->service = (struct schedule_service){ .running = w->running, .tpot_ns = 10 };
    w->service.perf = (struct perf){ .prefill_scale = 1, .decode_scale = 1, .b_switch = 1 };
    w->view = (struct schedule_view){
        .n_services = 1, .n_lanes = 1, .services = &w->service, .requests = w->requests
    };
    rng_init(&w->rng, seed, orders);
}

static int64_t draw(struct world *w, uint32_t n)
{
    return (int64_t)rng_below(&w->rng, n);
}

static void start(struct world *w)
{
    uint32_t slot = 0;
    while (slot < N_SLOTS && w->requests[slot].state == REQUEST_RUNNING)
        slot++;
    if (slot == N_SLOTS)
        return;
    w->requests[slot] = (struct request){ .state = REQUEST_RUNNING,
                                          .n_prompt = 1,
                                          .n_tokens = 1 + (int32_t)(draw(w, 4) == 0),
                                          .first_ns = 1 + draw(w, 9),
                                          .served_ns = draw(w, 3),
                                          .deadline_ns = draw(w, 2) * 1000000,
                                          .priority = (int16_t)(draw(w, 3) - 1) };
    struct schedule_rank *own = &w->ranks.slots[slot];
    *own = (struct schedule_rank){ .budget_ps = draw(w, 20) * 1000,
                                   .seq = ++w->ranks.seq,
                                   .has_deadline = w->requests[slot].deadline_ns > 0 };
    own->key = schedule_ranks_budget_key(own, w->requests[slot].priority);
    w->ranks.first_ns[slot] = 0;
    w->running[w->service.n_running++] = slot;
    schedule_ranks_first_start(&w->ranks, &w->view, slot);
}

static void leave(struct world *w)
{
    if (w->service.n_running == 0)
        return;
    uint32_t i = (uint32_t)draw(w, w->service.n_running), slot = w->running[i];
    w->service.n_running--;
    memmove(&w->running[i], &w->running[i + 1], (w->service.n_running - i) * sizeof(uint32_t));
    w->requests[slot].state = REQUEST_FREE;
    schedule_ranks_first_leave(&w->ranks, &w->view, slot);
}

static void run(struct world *w)
{
    struct batch_item items[N_SLOTS];
    struct batch batch = { .items = items };
    uint32_t part = 1 + (uint32_t)draw(w, 5);
    w->view.now_ns += 1 + draw(w, 3);
    for (uint32_t i = 0; i < w->service.n_running; i++) {
        if (draw(w, part) != 0)
            continue;
        struct request *r = &w->requests[w->running[i]];
        struct schedule_rank *own = &w->ranks.slots[w->running[i]];
        items[batch.n_items++].slot = w->running[i];
        r->n_tokens += (int32_t)draw(w, 2);
        own->spent_ps += draw(w, 5);
        own->budget_ps += draw(w, 10) * 1000 - 7000;
        own->key = schedule_ranks_budget_key(own, r->priority);
        w->ranks.served_ns[w->running[i]] = r->served_ns = w->view.now_ns;
    }
    if (batch.n_items > 0)
        schedule_ranks_first_ran(&w->ranks, &w->view, &batch);
}

/* The oldest and the last by a look at all. */
static void check_firsts(struct world *w)
{
    struct schedule_first oldest = { INT64_MAX, UINT64_MAX, SCHEDULE_NONE }, last = oldest;
    for (uint32_t i = 0; i < w->service.n_running; i++) {
        const struct schedule_rank *own = &w->ranks.slots[w->running[i]];
        struct schedule_first a = { w->ranks.served_ns[w->running[i]], own->seq, w->running[i] };
        struct schedule_first b = { -own->key, ~own->seq, w->running[i] };
        oldest = schedule_first_is_before(&a, &oldest) ? a : oldest;
        last = schedule_first_is_before(&b, &last) ? b : last;
    }
    if ((w->ranks.orders >> RANKS_OLDEST & 1) != 0)
        assert_int_equal(schedule_ranks_first(w->ranks.services, RANKS_OLDEST).slot, oldest.slot);
    assert_int_equal(schedule_ranks_first(w->ranks.services, RANKS_LAST).slot, last.slot);
    w->n_first += last.slot != SCHEDULE_NONE;
}

static void lists_say_what_a_look_says(void **state)
{
    static const unsigned orders[] = {
        1U << RANKS_BEST | 1U << RANKS_LAST,
        1U << RANKS_BEST | 1U << RANKS_LAST | 1U << RANKS_OLDEST | 1U << RANKS_SPENT,
        (1U << RANKS_ORDERS) - 1 - (1U << RANKS_BEST),
        (1U << RANKS_ORDERS) - 1,
    };
    (void)state;
    for (size_t v = 0; v < COUNT_OF(orders); v++) {
        struct world w;
        world_open(&w, orders[v], test_seed(3));
        for (int i = 0; i < 20000; i++) {
            int64_t what = draw(&w, 8);
            if (what < 3)
                start(&w);
            else if (what < 5 || (what == 5 && i / 1000 % 2 == 0))
                leave(&w);
            else
                run(&w);
            assert_true(schedule_ranks_first_is_sound(&w.ranks, &w.view, 0));
            check_firsts(&w);
        }
        assert_true(w.n_first > 10000);
        mem_give(w.block);
    }
}

/* An hour a token and a whole context generated: the key fits, and the order is that of due
 * times. */
static void an_hour_a_token(void **state)
{
    (void)state;
    struct world *w = mem_take(sizeof(*w));
    world_open(w, 1U << RANKS_TIGHTEST, 1);
    w->service.tpot_ns = LIMIT_TPOT_MS * TIME_NS_PER_MS;
    static const int32_t n_generated[] = { LIMIT_CONTEXT - 1, LIMIT_CONTEXT - 2, 1 };
    static const int64_t first_ns[] = { 1, INT64_C(1) << 60, INT64_C(1) << 60 };
    for (uint32_t slot = 0; slot < 3; slot++) {
        w->requests[slot] = (struct request){ .state = REQUEST_RUNNING,
                                              .n_prompt = 1,
                                              .n_tokens = 1 + n_generated[slot],
                                              .first_ns = first_ns[slot] };
        w->running[w->service.n_running++] = slot;
        schedule_ranks_first_start(&w->ranks, &w->view, slot);
    }
    const struct schedule_firsts *list = &w->ranks.services->first[RANKS_TIGHTEST];
    assert_int_equal(list->n, 3);
    assert_true(list->at[0].slot == 2 && list->at[1].slot == 0 && list->at[2].slot == 1);
    assert_true(list->at[2].key == (INT64_C(1) << 60) + w->service.tpot_ns * (LIMIT_CONTEXT - 3));
    mem_give(w->block);
    mem_give(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(lists_say_what_a_look_says),
                                        cmocka_unit_test(an_hour_a_token) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
