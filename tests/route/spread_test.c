/* The routers that decide one by one: which engine gets which request, worked by hand, and the
 * rules that all of them keep. */
#include "../test.h"
#include "base/rng.h"
#include "base/time.h"
#include "world.h"

static const char *const rows[] = { "least", "jsq",       "rr",     "random",
                                    "p2c",   "token-jsq", "static", "least-finish" };

static const struct perf model = { .c1_ps = 1000000,
                                   .k1_ps = 1000,
                                   .c3_ps = { 10000000, 10000000 },
                                   .c2_ps = { 1000, 1000 },
                                   .k2_ps = { 10, 10 },
                                   .b_switch = 64,
                                   .prefill_scale = 1,
                                   .decode_scale = 1 };

static void assert_engines(const struct world *w, int n, const uint16_t *expected)
{
    for (int i = 0; i < n; i++)
        assert_int_equal(w->engine_of[i], expected[i]);
}

static void test_least_spreads_and_breaks_ties_by_number(void **state)
{
    (void)state;
    for (int row = 0; row < 2; row++) {
        struct world *w = world_new(3, 2, 4);
        world_open(w, rows[row]);
        world_arrive(w, 0, 10, 10);
        assert_int_equal(world_send(w), 1);
        for (int i = 0; i < 4; i++)
            world_arrive(w, 0, 10, 10);
        assert_int_equal(world_send(w), 4);
        assert_engines(w, 5, (const uint16_t[]){ 0, 1, 2, 0, 1 });
        world_end(w, 1);
        world_end(w, 4);
        world_arrive(w, 1, 10, 10);
        world_arrive(w, 1, 10, 10);
        assert_int_equal(world_send(w), 2);
        assert_engines(w, 7, (const uint16_t[]){ 0, 1, 2, 0, 1, 1, 1 });
        world_close(w);
    }
}

static void test_only_where_it_is_served(void **state)
{
    (void)state;
    struct world *w = world_new(3, 3, 4);
    w->engines[0].services = w->engines[1].services = (struct set){ { 1 } };
    w->engines[2].services = (struct set){ { 3 } };
    world_open(w, "least");
    uint32_t nowhere = world_arrive(w, 2, 10, 10);
    uint32_t second = world_arrive(w, 1, 10, 10);
    assert_int_equal(world_send(w), 1);
    assert_int_equal(w->engine_of[second], 2);
    assert_int_equal(w->held.n, 1); /* it waits, and no request behind it */
    w->engines[1].services = (struct set){ { 5 } };
    world_engine(w, 1);
    assert_int_equal(world_send(w), 1);
    assert_int_equal(w->engine_of[nowhere], 1);
    world_close(w);
}

static void test_full_and_closed_engines_get_nothing(void **state)
{
    (void)state;
    for (size_t row = 0; row < COUNT_OF(rows); row++) {
        if (strcmp(rows[row], "static") == 0)
            continue;
        struct world *w = world_new(3, 1, 2);
        w->services[0].perf = model;
        w->engines[0].is_open = false;
        world_open(w, rows[row]);
        for (int i = 0; i < 5; i++)
            world_arrive(w, 0, 10, 10);
        assert_int_equal(world_send(w), 4);
        assert_int_equal(w->engines[1].n_sent, 2);
        assert_int_equal(w->engines[2].n_sent, 2);
        w->engines[0].is_open = true;
        world_engine(w, 0);
        assert_int_equal(world_send(w), 1);
        assert_int_equal(w->engine_of[4], 0);
        world_close(w);
    }
}

static void test_inflight_limit(void **state)
{
    (void)state;
    struct world *w = world_new(3, 1, 4);
    w->config.n_inflight_max = 2;
    world_open(w, "least");
    for (int i = 0; i < 8; i++)
        world_arrive(w, 0, 10, 10);
    assert_int_equal(world_send(w), 6);
    world_close(w);
}

static void test_priority_then_arrival(void **state)
{
    (void)state;
    struct world *w = world_new(1, 2, 1);
    world_open(w, "least");
    world_arrive(w, 0, 10, 10);
    assert_int_equal(world_send(w), 1);
    uint32_t late = world_arrive(w, 0, 10, 10);
    w->view.now_ns += 5;
    uint32_t urgent = world_arrive(w, 1, 10, 10);
    route_held_remove(&w->held, urgent);
    w->requests[urgent].priority = -1;
    route_held_add(&w->held, urgent);
    world_return(w, 0, SERVICE_FULL); /* it came first, so it stands before `late` */
    assert_int_equal(world_send(w), 1);
    assert_true(w->is_sent[urgent]);
    world_end(w, urgent);
    assert_int_equal(world_send(w), 1);
    assert_true(w->is_sent[0]);
    world_end(w, 0);
    assert_int_equal(world_send(w), 1);
    assert_true(w->is_sent[late]);
    world_close(w);
}

static void test_rr_goes_on_after_the_last(void **state)
{
    (void)state;
    struct world *w = world_new(3, 1, 8);
    world_open(w, "rr");
    for (int i = 0; i < 4; i++)
        world_arrive(w, 0, 10, 10);
    world_send(w);
    w->engines[1].is_open = false;
    world_engine(w, 1);
    for (int i = 0; i < 3; i++)
        world_arrive(w, 0, 10, 10);
    world_send(w);
    assert_engines(w, 7, (const uint16_t[]){ 0, 1, 2, 0, 2, 0, 2 });
    world_close(w);
}

static void test_random_is_uniform_and_seeded(void **state)
{
    (void)state;
    uint16_t first[4000];
    for (int run = 0; run < 3; run++) {
        struct world *w = world_new(5, 1, 4000);
        int n_same = 0;
        w->config.seed = run < 2 ? 7 : 8;
        w->engines[3].services = (struct set){ { 0 } }; /* as if it were not there */
        world_open(w, "random");
        for (int i = 0; i < 4000; i++)
            world_arrive(w, 0, 10, 10);
        assert_int_equal(world_send(w), 4000);
        for (int i = 0; i < 4000 && run > 0; i++)
            n_same += first[i] == w->engine_of[i];
        memcpy(first, w->engine_of, sizeof first);
        for (int e = 0; e < 5; e++)
            assert_in_range(w->engines[e].n_sent, e == 3 ? 0 : 880, e == 3 ? 0 : 1120);
        assert_true(run == 0 || (run == 1) == (n_same == 4000));
        world_close(w);
    }
}

/* With two engines, power of two sees both. It takes the one with less to generate, or with fewer
 * requests, and follows the tokens that have come already. */
static void test_p2c_both_loads(void **state)
{
    (void)state;
    for (int counts = 0; counts < 2; counts++) {
        struct world *w = world_new(2, 1, 8);
        w->config.p2c_counts = counts;
        w->engines[1].is_open = false;
        world_open(w, "p2c");
        world_arrive(w, 0, 10, 500); /* to engine 0 */
        world_send(w);
        w->engines[1].is_open = true;
        w->engines[0].is_open = false;
        world_engine(w, 0);
        world_engine(w, 1);
        world_arrive(w, 0, 10, 100); /* two to engine 1 */
        world_arrive(w, 0, 10, 100);
        world_send(w);
        w->engines[0].is_open = true;
        world_engine(w, 0);
        uint32_t next = world_arrive(w, 0, 10, 100);
        world_send(w);
        assert_int_equal(w->engine_of[next], counts ? 0 : 1);
        w->requests[0].n_tokens = 10 + 450; /* 50 left there, 300 here */
        next = world_arrive(w, 0, 10, 100);
        world_send(w);
        assert_int_equal(w->engine_of[next], 0);
        world_close(w);
    }
}

static void test_token_jsq(void **state)
{
    (void)state;
    struct world *w = world_new(2, 1, 8);
    world_open(w, "token-jsq");
    world_arrive(w, 0, 1000, 10); /* 0: 1010 */
    world_arrive(w, 0, 100, 300); /* 1: 400 */
    world_arrive(w, 0, 100, 400); /* 1: 900 */
    world_arrive(w, 0, 100, 100); /* 1: 1100 */
    world_arrive(w, 0, 10, 10);   /* 0 */
    world_send(w);
    assert_engines(w, 5, (const uint16_t[]){ 0, 1, 1, 1, 0 });
    world_end(w, 2); /* 1: 600 */
    uint32_t next = world_arrive(w, 0, 10, 10);
    world_send(w);
    assert_int_equal(w->engine_of[next], 1);
    world_close(w);
}

static void test_static_map(void **state)
{
    (void)state;
    struct world *w = world_new(3, 3, 1);
    w->config.engine_of[0] = 2;
    w->config.engine_of[1] = 1;
    w->engines[0].services =
        (struct set){ { 3 } }; /* service 2, unmapped: the first that serves it is engine 1 */
    world_open(w, "static");
    for (int i = 0; i < 4; i++)
        world_arrive(w, i % 3, 10, 10);
    assert_int_equal(world_send(w), 2); /* service 2 waits for engine 1, the second of 0 for 2 */
    assert_engines(w, 2, (const uint16_t[]){ 2, 1 });
    world_end(w, 1);
    assert_int_equal(world_send(w), 1);
    assert_int_equal(w->engine_of[2], 1);
    world_close(w);
}

/* A map to an engine that does not exist, or that lacks the model, counts as no map. */
static void test_static_map_to_nowhere(void **state)
{
    (void)state;
    struct world *w = world_new(2, 3, 4);
    w->config.engine_of[0] = 5;
    w->config.engine_of[1] = 0;
    w->config.engine_of[2] = 1;
    w->engines[0].services = (struct set){ { 5 } };
    world_open(w, "static");
    for (int s = 0; s < 3; s++)
        world_arrive(w, s, 10, 10);
    assert_int_equal(world_send(w), 3);
    assert_engines(w, 3, (const uint16_t[]){ 0, 1, 1 });
    w->engines[0].services = (struct set){ { 7 } }; /* it has been loaded where it belongs */
    world_engine(w, 0);
    uint32_t slot = world_arrive(w, 1, 10, 10);
    assert_int_equal(world_send(w), 1);
    assert_int_equal(w->engine_of[slot], 0);
    world_close(w);
}

/* A map to an unhealthy engine: the router waits for it, then the next engine that has the model
 * serves. The mapped engine is back in its place as soon as it is open again. */
static void test_static_map_to_the_unhealthy(void **state)
{
    (void)state;
    struct world *w = world_new(3, 1, 4);
    w->config.engine_of[0] = 1;
    world_open(w, "static");
    w->view.now_ns = 100;
    w->engines[1].is_open = false;
    world_engine(w, 1);
    w->view.now_ns = 200;
    world_engine(w, 1); /* still: the time runs from the first report of it */
    uint32_t slot = world_arrive(w, 0, 10, 10);
    assert_int_equal(world_send(w), 0);
    world_plan(w);
    int64_t wake_ns = w->plan.wake_ns;
    assert_int_equal(wake_ns, 100 + w->config.static_ns_wait);
    w->view.now_ns = wake_ns - 1;
    assert_int_equal(world_send(w), 0);
    w->view.now_ns = wake_ns;
    assert_int_equal(world_send(w), 1);
    assert_int_equal(w->engine_of[slot], 0);
    w->engines[0].is_open = false; /* the second choice goes, too: the same wait */
    world_engine(w, 0);
    slot = world_arrive(w, 0, 10, 10);
    assert_int_equal(world_send(w), 0);
    w->view.now_ns += w->config.static_ns_wait;
    assert_int_equal(world_send(w), 1);
    assert_int_equal(w->engine_of[slot], 2);
    w->engines[1].is_open = true;
    world_engine(w, 1);
    slot = world_arrive(w, 0, 10, 10);
    assert_int_equal(world_send(w), 1);
    assert_int_equal(w->engine_of[slot], 1);
    w->engines[1].is_open = false; /* a new spell begins a new wait */
    world_engine(w, 1);
    world_arrive(w, 0, 10, 10);
    assert_int_equal(world_send(w), 0);
    world_close(w);
}

/* Engine 0 has one long request, engine 1 three short ones. A short request ends earlier beside the
 * one, whatever its own length; "least" would choose 0 too. A prompt that is not computed yet
 * reverses it. In picoseconds, n_left = 10: engine 0: prompt 20 * 1000 + 10 steps of
 * (1000 + 10 * c). */
static void test_least_finish(void **state)
{
    (void)state;
    struct world *w = world_new(2, 1, 8);
    w->services[0].perf = model;
    w->engines[1].is_open = false;
    world_open(w, "least-finish");
    world_arrive(w, 0, 30000, 2000); /* engine 0: prompt of 30,000,000 ps */
    world_send(w);
    w->engines[1].is_open = true;
    w->engines[0].is_open = false;
    world_engine(w, 0);
    world_engine(w, 1);
    for (int i = 0; i < 3; i++)
        world_arrive(w, 0, 100, 20);
    world_send(w);
    w->engines[0].is_open = true;
    world_engine(w, 0);
    uint32_t next = world_arrive(w, 0, 20, 10);
    world_send(w);
    assert_int_equal(w->engine_of[next], 1);
    /* Its prompt is computed now: 10 * (1000 + 10 * 30,005) = 3,010,500 ps there. Engine 1 has
     * prompts of 320,000 ps and four requests, which is still less. */
    w->requests[0].first_ns = 1;
    next = world_arrive(w, 0, 20, 10);
    world_send(w);
    assert_int_equal(w->engine_of[next], 1);
    world_end(w, 0);
    next = world_arrive(w, 0, 20, 10);
    world_send(w);
    assert_int_equal(w->engine_of[next], 0);
    world_close(w);
}

/* A million tokens to compute and as many to generate on a slow machine: more picoseconds than 64
 * bits hold. The engine with such a request is still the busier one, and engines share many of them
 * evenly. */
static void test_least_finish_does_not_wrap(void **state)
{
    (void)state;
    struct world *w = world_new(2, 1, 400);
    w->services[0].perf = model;
    w->services[0].perf.k2_ps[0] = INT64_C(1) << 24;
    world_open(w, "least-finish");
    for (int i = 0; i < 400; i++) {
        world_arrive(w, 0, 1 << 20, 1 << 20);
        assert_int_equal(world_send(w), 1);
        assert_int_equal(w->engine_of[i], i % 2);
    }
    for (uint32_t i = 0; i < 400; i++)
        world_end(w, i);
    world_arrive(w, 0, 20, 10);
    world_arrive(w, 0, 20, 10);
    assert_int_equal(world_send(w), 2);
    assert_int_equal(w->engine_of[400] + w->engine_of[401], 1);
    world_close(w);
}

/* Random lives: no request is lost, every plan is legal (world_plan asks), and all is a function of
 * the seed. A request stays held only while no engine takes it. */
static void play(const char *router, uint64_t seed, uint16_t *engines)
{
    struct world *w = world_new(7, 3, 5);
    struct rng rng;
    rng_init(&rng, seed, 0);
    for (int s = 0; s < 3; s++)
        w->services[s].perf = model;
    w->engines[2].services = (struct set){ { 1 } };
    w->engines[4].services = (struct set){ { 6 } };
    world_open(w, router);
    for (int i = 0; i < 1500; i++) {
        w->view.now_ns += rng_below(&rng, 3);
        uint32_t slot = w->n_requests > 0 ? rng_below(&rng, w->n_requests) : 0;
        uint32_t dice = rng_below(&rng, 10);
        int e = (int)rng_below(&rng, 7);
        if (dice < 4)
            world_arrive(w, (int)rng_below(&rng, 3), 1 + (int32_t)rng_below(&rng, 900),
                         (int32_t)rng_below(&rng, 300));
        else if (dice < 7 && w->is_sent[slot])
            world_end(w, slot);
        else if (dice == 7 && w->is_sent[slot])
            world_return(w, slot, SERVICE_FULL);
        else if (dice == 8 && w->is_sent[slot])
            w->requests[slot].n_tokens++;
        else if (dice == 9) {
            w->engines[e].is_open = !w->engines[e].is_open;
            world_engine(w, e);
        }
        world_send(w);
    }
    for (int s = 0; s < 3 && strcmp(router, "static") != 0; s++) {
        for (int e = 0; e < 7 && w->services[s].n_held > 0; e++)
            assert_true(!w->engines[e].is_open || !set_has(&w->engines[e].services, s) ||
                        w->engines[e].n_sent == 5);
    }
    memcpy(engines, w->engine_of, sizeof(uint16_t) * 600);
    world_close(w);
}

static void test_random_lives(void **state)
{
    (void)state;
    uint16_t first[600], second[600];
    for (size_t row = 0; row < COUNT_OF(rows); row++) {
        for (uint64_t seed = 0; seed < 20; seed++) {
            play(rows[row], seed, first);
            play(rows[row], seed, second);
            assert_memory_equal(first, second, sizeof first);
        }
    }
}

/* What other gateways have on an engine counts like what was sent: their requests, or, where a
 * request has a load of its own, their sum. */
static void test_others_count(void **state)
{
    static const char *const names[] = { "least", "jsq", "p2c", "token-jsq", "least-finish" };
    const struct route_others others = { .n = 2, .n_expected = 50, .n_new = 10 };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        struct world *w = world_new(2, 1, 8);
        w->services[0].perf = model;
        world_open(w, names[i]);
        w->engines[0].others = &others;
        w->engines[0].n_others = others.n;
        w->engines[0].load_others = INT64_C(1) << 45;
        world_engine(w, 0);
        world_arrive(w, 0, 10, 10);
        assert_int_equal(world_send(w), 1);
        assert_int_equal(w->engine_of[0], 1);
        assert_int_equal(w->sent[0].load > 0, i >= 3);
        w->engines[0].others = NULL;
        w->engines[0].n_others = 0;
        w->engines[0].load_others = 0;
        world_engine(w, 0);
        world_arrive(w, 0, 10, 10);
        assert_int_equal(world_send(w), 1);
        assert_int_equal(w->engine_of[1], 0);
        world_close(w);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_least_spreads_and_breaks_ties_by_number),
        cmocka_unit_test(test_only_where_it_is_served),
        cmocka_unit_test(test_full_and_closed_engines_get_nothing),
        cmocka_unit_test(test_inflight_limit),
        cmocka_unit_test(test_priority_then_arrival),
        cmocka_unit_test(test_rr_goes_on_after_the_last),
        cmocka_unit_test(test_random_is_uniform_and_seeded),
        cmocka_unit_test(test_p2c_both_loads),
        cmocka_unit_test(test_token_jsq),
        cmocka_unit_test(test_static_map),
        cmocka_unit_test(test_static_map_to_nowhere),
        cmocka_unit_test(test_static_map_to_the_unhealthy),
        cmocka_unit_test(test_least_finish),
        cmocka_unit_test(test_least_finish_does_not_wrap),
        cmocka_unit_test(test_others_count),
        cmocka_unit_test(test_random_lives),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
