/* Aladdin's best fit: Fig. 3, the heartbeat, holding and forcing, against brute force. */
#include "../test.h"
#include "base/rng.h"
#include "base/time.h"
#include "world.h"

static const struct perf model = { .c1_ps = 5000000000,
                                   .k1_ps = 100000000,
                                   .c3_ps = { 10000000000, 10000000000 },
                                   .c2_ps = { 1000000000, 1000000000 },
                                   .k2_ps = { 1000000, 1000000 },
                                   .b_switch = 1000,
                                   .prefill_scale = 1,
                                   .decode_scale = 1 };

static struct world *open_with(int n_engines, int64_t kv_bytes, const char *router)
{
    struct world *w = world_new(n_engines, 1, 64);
    w->services[0].perf = model;
    w->services[0].kv_bytes_per_token = 1;
    w->config.block_tokens = 1;
    for (int e = 0; e < n_engines; e++)
        w->engines[e].kv_bytes = kv_bytes;
    world_open(w, router);
    return w;
}

/* The most memory that an engine holds, token by token. */
static int64_t demand(const struct world *w, int engine)
{
    int64_t most = 0;
    for (int32_t step = 1; step < 2000; step++) {
        int64_t held = 0;
        for (uint32_t i = 0; i < w->n_requests; i++) {
            const struct route_request *r = &w->requests[i];
            if (w->is_sent[i] && w->engine_of[i] == engine && step <= r->n_predicted)
                held += r->n_prompt + step;
        }
        most = max_i64(most, held);
    }
    return most;
}

/* Fig. 3: memory for 9 tokens, long prompts (4, 1) and long outputs (1, 4) in turn. Join the
 * shortest queue puts like with like: both engines need 10. Best fit mixes them: 7. */
static void test_figure_3(void **state)
{
    (void)state;
    static const char *const routers[] = { "jsq", "best-fit" };
    for (int i = 0; i < 2; i++) {
        struct world *w = open_with(2, 9, routers[i]);
        for (int k = 0; k < 4; k++)
            world_arrive(w, 0, k % 2 == 0 ? 4 : 1, k % 2 == 0 ? 1 : 4);
        assert_int_equal(world_send(w), 4);
        for (int k = 0; k < 4; k++)
            assert_int_equal(w->engine_of[k], i == 0 ? k % 2 : k / 2);
        for (int e = 0; e < 2; e++)
            assert_int_equal(demand(w, e), i == 0 ? 10 : 7);
        world_close(w);
    }
}

static void test_heartbeat(void **state)
{
    (void)state;
    struct world *w = open_with(2, 0, "best-fit");
    int64_t start_ns = w->view.now_ns;
    world_arrive(w, 0, 100, 10);
    assert_int_equal(world_send(w), 1); /* it was idle: at once */
    w->view.now_ns += 10 * TIME_NS_PER_MS;
    world_arrive(w, 0, 100, 10);
    assert_int_equal(world_send(w), 0);
    assert_int_equal(w->plan.wake_ns, start_ns + 50 * TIME_NS_PER_MS);
    w->view.now_ns = start_ns + 50 * TIME_NS_PER_MS;
    assert_int_equal(world_send(w), 1);
    assert_int_equal(w->engine_of[1], 0); /* the fuller one */
    world_close(w);
}

/* No memory anywhere: held while more than 30% of its 600 ms are left, then forced where fewest
 * are. A request that can never keep its target is forced at once. */
static void test_holds_then_forces(void **state)
{
    (void)state;
    struct world *w = open_with(2, 120, "best-fit");
    world_arrive(w, 0, 100, 10);
    world_arrive(w, 0, 100, 10);
    assert_int_equal(world_send(w), 2);
    int64_t arrived_ns = w->view.now_ns += 50 * TIME_NS_PER_MS;
    uint32_t slot = world_arrive(w, 0, 100, 10);
    for (int i = 0; i < 8; i++) {
        w->view.now_ns = arrived_ns + i * 60 * TIME_NS_PER_MS;
        assert_int_equal(world_send(w), 0);
        assert_int_equal(w->plan.wake_ns, w->view.now_ns + 50 * TIME_NS_PER_MS);
    }
    w->view.now_ns = arrived_ns + 470 * TIME_NS_PER_MS;
    world_plan(w);
    assert_int_equal(w->plan.n_choices, 1);
    assert_true(w->choices[0].is_forced);
    world_send(w);
    assert_int_equal(w->engine_of[slot], 0);
    w->view.now_ns += 60 * TIME_NS_PER_MS;
    slot = world_arrive(w, 0, 7000, 10); /* 705 ms */
    world_plan(w);
    assert_int_equal(w->plan.n_choices, 1);
    assert_true(w->choices[0].is_forced && w->choices[0].engine == 1);
    world_close(w);
}

static void test_engines_wanted(void **state)
{
    (void)state;
    struct world *w = world_new(4, 1, 64);
    w->services[0].perf = model;
    w->services[0].kv_bytes_per_token = 1;
    w->config.kv_bytes = 260; /* of engines that name none: two requests each */
    w->config.block_tokens = 1;
    w->config.is_autoscaled = true;
    world_open(w, "best-fit");
    for (int i = 0; i < 5; i++)
        world_arrive(w, 0, 100, 20);
    world_plan(w);
    assert_int_equal(w->plan.n_choices, 5);
    assert_int_equal(w->plan.n_engines_wanted, 3);
    world_send(w);
    w->view.now_ns += 60 * TIME_NS_PER_MS;
    for (int i = 0; i < 4; i++)
        world_arrive(w, 0, 100, 20);
    world_plan(w);
    assert_int_equal(w->plan.n_choices, 3);
    assert_int_equal(w->plan.n_engines_wanted, 5); /* one more than there are */
    world_close(w);
}

/* A request that outran its prediction makes its engine look fuller than it was. One that ended
 * early makes it look emptier, until the time when it was to end. So new requests move. */
static void test_rebalances(void **state)
{
    (void)state;
    struct world *w = open_with(3, 0, "best-fit");
    w->config.tpot_ns = 30 * TIME_NS_PER_MS;
    w->engines[1].is_open = false;
    world_engine(w, 1);
    uint32_t outruns = world_arrive(w, 0, 100, 10);
    world_send(w);
    w->engines[0].is_open = false;
    w->engines[1].is_open = true;
    w->view.now_ns += 50 * TIME_NS_PER_MS;
    uint32_t early = world_arrive(w, 0, 100, 1000);
    world_send(w);
    assert_int_equal(w->engine_of[early], 1);
    w->engines[0].is_open = true;
    w->view.now_ns += 10 * TIME_NS_PER_MS;
    w->requests[early].n_tokens += 100;
    w->requests[early].first_ns = w->view.now_ns;
    world_end(w, early); /* 900 tokens early: about 10 s */
    w->requests[outruns].n_tokens += 400;
    w->requests[outruns].first_ns = w->view.now_ns - TIME_NS_PER_S;
    w->view.now_ns += 50 * TIME_NS_PER_MS;
    uint32_t next = world_arrive(w, 0, 100, 100);
    world_send(w);
    assert_int_equal(w->engine_of[next], 1); /* best fit alone would choose 0 */
    w->view.now_ns += 20 * TIME_NS_PER_S;    /* forgotten now */
    next = world_arrive(w, 0, 100, 100);
    w->requests[outruns].n_tokens += 1000;
    world_send(w);
    assert_int_equal(w->engine_of[next], 0);
    world_close(w);
}

/* ---- Against brute force: fresh requests on empty engines. ---- */

static bool is_feasible(const struct world *w, const int *engine_of, int n, int engine)
{
    int64_t n_in = 0, n_eff = 0, m = w->engines[0].kv_bytes;
    int b = 0;
    for (int i = 0; i < n; i++) {
        if (engine_of[i] != engine)
            continue;
        b++;
        n_in += w->requests[i].n_prompt;
        n_eff += w->requests[i].n_prompt + w->requests[i].n_predicted / 2;
    }
    if (b == 0)
        return true;
    if (10000000 + b * 1000000 + n_eff * 1000 > 30000000) /* (b), ns */
        return false;
    if (5000000 + n_in * 100000 > 600000000) /* (c); (d) protects no request here */
        return false;
    for (int32_t step = 1; step < 400; step++) { /* (e) */
        int64_t held = 0;
        for (int i = 0; i < n; i++)
            if (engine_of[i] == engine && step <= w->requests[i].n_predicted)
                held += w->requests[i].n_prompt + step;
        if (held > m)
            return false;
    }
    return true;
}

static int n_used(const int *engine_of, int n)
{
    int used = 0;
    for (int i = 0; i < n; i++)
        used |= 1 << engine_of[i];
    return __builtin_popcount((unsigned)used);
}

static int brute_force(const struct world *w, int n)
{
    int best = 4, n_all = 1;
    for (int i = 0; i < n; i++)
        n_all *= 3;
    for (int code = 0; code < n_all; code++) {
        int engine_of[6], rest = code;
        for (int i = 0; i < n; i++, rest /= 3)
            engine_of[i] = rest % 3;
        if (n_used(engine_of, n) < best && is_feasible(w, engine_of, n, 0) &&
            is_feasible(w, engine_of, n, 1) && is_feasible(w, engine_of, n, 2))
            best = n_used(engine_of, n);
    }
    return best;
}

static void test_brute_force(void **state)
{
    (void)state;
    struct rng rng;
    int n_compared = 0, n_close = 0, n_equal = 0;
    rng_init(&rng, 21, 0);
    for (int round = 0; round < 300; round++) {
        int n = 1 + (int)rng_below(&rng, 6), engine_of[6];
        struct world *w = open_with(3, 1500 + rng_below(&rng, 2500), "best-fit");
        for (int i = 0; i < n; i++)
            world_arrive(w, 0, 50 + (int32_t)rng_below(&rng, 1500),
                         2 * (1 + (int32_t)rng_below(&rng, 150)));
        int best = brute_force(w, n);
        world_plan(w);
        bool is_whole = w->plan.n_choices == n;
        for (int i = 0; i < w->plan.n_choices; i++) {
            is_whole = is_whole && !w->choices[i].is_forced;
            engine_of[w->choices[i].slot] = w->choices[i].engine;
        }
        if (is_whole) { /* what best fit placed by itself keeps every constraint */
            for (int e = 0; e < 3; e++)
                assert_true(is_feasible(w, engine_of, n, e));
            assert_true(n_used(engine_of, n) >= best);
        }
        if (best <= 3) {
            n_compared++;
            n_equal += is_whole && n_used(engine_of, n) == best;
            n_close += is_whole ? n_used(engine_of, n) <= best + 1 : best == 3;
        }
        world_close(w);
    }
    assert_true(n_compared > 150);
    assert_true(n_close * 100 >= n_compared * 95);
    assert_true(n_equal * 100 >= n_compared * 80);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_figure_3),          cmocka_unit_test(test_heartbeat),
        cmocka_unit_test(test_holds_then_forces), cmocka_unit_test(test_engines_wanted),
        cmocka_unit_test(test_rebalances),        cmocka_unit_test(test_brute_force),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
