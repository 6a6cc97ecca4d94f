/* Re-balancing: a case by hand, and on random ones the sum of errors never grows. */
#include "../test.h"
#include "base/rng.h"
#include "base/time.h"
#include "route/rebalance.h"
#include "world.h"

/* delta of a request: 1000 ps a token of prompt and prediction, and 10 ps. */
static const struct perf model = { .k1_ps = 1,
                                   .c3_ps = { 1000, 1000 },
                                   .c2_ps = { 10, 10 },
                                   .k2_ps = { 1000, 1000 },
                                   .b_switch = 1000,
                                   .prefill_scale = 1,
                                   .decode_scale = 1 };
enum { N = 5 };
static struct route_worker workers[WORLD_ENGINES];
static uint64_t sets[WORLD_ENGINES * ROUTE_WORKER_SETS];
static struct route_worker_link links[WORLD_REQUESTS];
static struct route_choice choices[64];

static int64_t sum_of_errors(int n)
{
    int64_t sum = 0;
    for (int e = 0; e < n; e++)
        sum += workers[e].error_ps < 0 ? -workers[e].error_ps : workers[e].error_ps;
    return sum;
}

static void choose(struct world *w, const struct route_fit *fit, struct route_plan *plan,
                   uint32_t slot, int engine)
{
    (void)w;
    route_worker_add(fit, engine, slot);
    choices[plan->n_choices++] = (struct route_choice){ .slot = slot, .engine = (uint16_t)engine };
}

/* Engine 0 is off by +500,000 ps, engine 1 by -300,000. Engine 0 has requests worth 100,010,
 * 250,010 and 400,010, and the third gains most: 800,000 - 99,990 - 100,010. Then engine 1 is
 * above, too, and nothing gains any more. */
static void test_by_hand(void **state)
{
    (void)state;
    struct world *w = world_new(2, 1, 8);
    const struct route_fit fit = { &w->config, &w->view, workers, sets, 1, links };
    struct route_plan plan = { .choices = choices };
    int32_t n_room[2] = { 5, 5 };
    w->services[0].perf = model;
    world_open(w, "least");
    for (int e = 0; e < 2; e++)
        route_worker_clear(&fit, e);
    for (int i = 0; i < 3; i++)
        choose(w, &fit, &plan, world_arrive(w, 0, 40, 60 + 150 * i), 0);
    workers[0].error_ps = 500000;
    workers[1].error_ps = -300000;
    assert_int_equal(route_rebalance(&fit, &plan, n_room), 1);
    assert_int_equal(choices[0].engine, 0);
    assert_int_equal(choices[1].engine, 0);
    assert_int_equal(choices[2].engine, 1);
    assert_int_equal(sum_of_errors(2), 200000);
    world_close(w);
}

static void test_never_worse(void **state)
{
    (void)state;
    struct rng rng;
    int n_moves = 0;
    rng_init(&rng, 9, 0);
    for (int round = 0; round < 500; round++) {
        struct world *w = world_new(N, 1, 100);
        const struct route_fit fit = { &w->config, &w->view, workers, sets, 1, links };
        struct route_plan plan = { .choices = choices };
        int32_t n_room[N], n_free = 0, n_free_after = 0;
        uint16_t before[64];
        w->services[0].perf = model;
        w->services[0].kv_bytes_per_token = 1;
        w->config.kv_bytes = 4000;
        world_open(w, "least");
        for (int e = 0; e < N; e++) {
            route_worker_clear(&fit, e);
            n_room[e] = (int32_t)rng_below(&rng, 4);
            n_free += n_room[e];
        }
        for (int i = 0; i < 20; i++)
            choose(w, &fit, &plan,
                   world_arrive(w, 0, 1 + (int32_t)rng_below(&rng, 200),
                                1 + (int32_t)rng_below(&rng, 300)),
                   (int)rng_below(&rng, N));
        choices[3].is_forced = true;
        for (int i = 0; i < 20; i++)
            before[i] = choices[i].engine;
        for (int e = 0; e < N; e++)
            workers[e].error_ps = (int64_t)rng_below(&rng, 2000000) - 1000000;
        int64_t sum = sum_of_errors(N), total = 0, total_after = 0;
        for (int e = 0; e < N; e++)
            total += workers[e].error_ps;
        int32_t n = route_rebalance(&fit, &plan, n_room), n_changed = 0;
        assert_true(n == 0 ? sum_of_errors(N) == sum : sum_of_errors(N) < sum);
        for (int e = 0; e < N; e++) {
            assert_true(n_room[e] >= 0);
            n_free_after += n_room[e];
            total_after += workers[e].error_ps;
        }
        for (int i = 0; i < 20; i++)
            n_changed += choices[i].engine != before[i];
        assert_int_equal(choices[3].engine, before[3]); /* forced */
        assert_int_equal(n_free, n_free_after);
        assert_true(total == total_after);
        assert_true(n_changed <= n);
        n_moves += n;
        /* It stopped, so no single move is left that gains and is allowed. */
        for (int i = 0; i < 20; i++) {
            for (int y = 0; y < N; y++) {
                int x = choices[i].engine;
                int64_t d = route_worker_delta_ps(&fit, x, choices[i].slot);
                int64_t gain = llabs(workers[x].error_ps) + llabs(workers[y].error_ps) -
                               llabs(workers[x].error_ps - d) - llabs(workers[y].error_ps + d);
                if (x == y || gain <= 0 || choices[i].is_forced || n_room[y] == 0)
                    continue;
                assert_false(route_worker_takes(&fit, y, choices[i].slot));
            }
        }
        world_close(w);
    }
    assert_true(n_moves > 500);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_by_hand),
                                        cmocka_unit_test(test_never_worse) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
