/* Aladdin's constraints: each alone at its edge, and (e) against a simulation token by token. */
#include "../test.h"
#include "base/rng.h"
#include "base/time.h"
#include "route/worker.h"
#include "world.h"

/* A step: 10 ms, 1 ms a request, 1 us a token of context; a prompt: 5 ms and 100 us a token. */
static const struct perf model = { .c1_ps = 5000000000,
                                   .k1_ps = 100000000,
                                   .c3_ps = { 10000000000, 10000000000 },
                                   .c2_ps = { 1000000000, 1000000000 },
                                   .k2_ps = { 1000000, 1000000 },
                                   .b_switch = 1000,
                                   .prefill_scale = 1,
                                   .decode_scale = 1 };

struct bench {
    struct world *w;
    struct route_worker workers[WORLD_ENGINES];
    uint64_t sets[WORLD_ENGINES * ROUTE_WORKER_SETS];
    struct route_worker_link links[WORLD_REQUESTS];
    struct route_fit fit;
};

static struct bench *bench_new(void)
{
    static struct bench b;
    memset(&b, 0, sizeof b);
    b.w = world_new(2, 1, 64);
    b.w->services[0].perf = model;
    b.w->config.block_tokens = 1;
    world_open(b.w, "least");
    b.fit = (struct route_fit){ &b.w->config, &b.w->view, b.workers, b.sets, 1, b.links };
    route_worker_clear(&b.fit, 0);
    route_worker_clear(&b.fit, 1);
    return &b;
}

static uint32_t running(struct bench *b, int32_t n_prompt, int32_t n_predicted, int32_t n_new,
                        int64_t first_ns)
{
    uint32_t slot = world_arrive(b->w, 0, n_prompt, n_predicted);
    b->w->requests[slot].n_tokens = n_prompt + n_new;
    b->w->requests[slot].first_ns = first_ns;
    return slot;
}

/* (b): 10 ms + 2 * 1 ms + (eff of both) * 1 us <= T_dec. eff: 1000 + 0.5 * 200, and 3000 + 700. */
static void test_step(void **state)
{
    (void)state;
    struct bench *b = bench_new();
    b->w->config.ttft_ns = TIME_NS_PER_S * 1000;
    route_worker_add(&b->fit, 0, world_arrive(b->w, 0, 1000, 200));
    uint32_t slot = running(b, 3000, 1000, 700, 0);
    assert_int_equal(b->workers[0].n_eff, 1100);
    b->w->config.tpot_ns = 12000000 + (1100 + 3700) * 1000;
    assert_true(route_worker_takes(&b->fit, 0, slot));
    b->w->config.tpot_ns--;
    assert_false(route_worker_takes(&b->fit, 0, slot));
    b->w->config.phase = ROUTE_PHASE_PREFILL; /* a pool that only prefills does not mind */
    assert_true(route_worker_takes(&b->fit, 0, slot));
    b->w->config.phase = ROUTE_PHASE_BOTH;
    b->w->config.tpot_ns = 30000000;
    b->w->config.headroom = 0.5; /* 15 ms: too little */
    assert_false(route_worker_takes(&b->fit, 0, slot));
    world_close(b->w);
}

/* (b) where engines only decode: a request that comes late has less time for each token. It has 1
 * of 11 tokens, and 10 to come; a target of 20 ms gives it 200 ms from its first token on. 60 ms of
 * them went by for the hand-over and at the door, so 14 ms a token are left. A step of it alone
 * lasts 10 + 1 + 1 ms (1,000 tokens of context), with another of 500 tokens 13.5 ms. */
static void test_a_late_request_has_less_time_for_a_step(void **state)
{
    (void)state;
    struct bench *b = bench_new();
    b->w->config.phase = ROUTE_PHASE_DECODE;
    b->w->config.tpot_ns = 20 * TIME_NS_PER_MS;
    int64_t now_ns = b->w->view.now_ns = 10 * TIME_NS_PER_S;
    uint32_t late = running(b, 989, 11, 1, now_ns - 60 * TIME_NS_PER_MS);
    uint32_t beside = running(b, 399, 101, 1, now_ns);
    uint32_t more = running(b, 399, 101, 1, now_ns);
    route_worker_add(&b->fit, 0, late);
    assert_int_equal(b->workers[0].target_ns, 14 * TIME_NS_PER_MS);
    assert_true(route_worker_takes(&b->fit, 0, beside)); /* 10 + 2 + 1.5 <= 14 */
    route_worker_add(&b->fit, 0, beside);
    assert_false(route_worker_takes(&b->fit, 0, more)); /* 10 + 3 + 2 > 14 */
    b->w->config.phase = ROUTE_PHASE_BOTH; /* the paper's: <= 20, and (d) sees what was saved */
    route_worker_clear(&b->fit, 0);
    route_worker_add(&b->fit, 0, late);
    assert_int_equal(b->workers[0].target_ns, 20 * TIME_NS_PER_MS);
    /* A new request also waits for the step in flight, 11.5 ms. So it has 200 - 60 - 11.5 ms for 10
     * tokens, 12.85 a token, and 13.5 are too much. */
    b->w->config.phase = ROUTE_PHASE_DECODE;
    route_worker_clear(&b->fit, 0);
    route_worker_add(&b->fit, 0, beside);
    assert_false(route_worker_takes(&b->fit, 0, late));
    assert_true(route_worker_takes(&b->fit, 1, late)); /* alone: 12 <= 14 */
    /* One that is too late even alone binds no other. */
    route_worker_clear(&b->fit, 1);
    b->w->requests[late].first_ns = now_ns - 100 * TIME_NS_PER_MS; /* 10 ms a token are left */
    route_worker_add(&b->fit, 1, late);
    assert_int_equal(b->workers[1].target_ns, 20 * TIME_NS_PER_MS);
    world_close(b->w);
}

/* Targets per token of an hour and beyond: an hour is what counts, and an hour times a whole
 * context still fits. */
static void test_an_hour_a_token(void **state)
{
    (void)state;
    static const int64_t targets[] = { LIMIT_TPOT_MS * TIME_NS_PER_MS, INT64_MAX };
    int64_t slack_ns[2];
    for (int i = 0; i < 2; i++) {
        struct bench *b = bench_new();
        b->w->services[0].slo.tpot_ns = targets[i];
        b->w->config.ttft_ns = TIME_NS_PER_S * 1000;
        uint32_t slot = running(b, 1, LIMIT_CONTEXT, LIMIT_CONTEXT - 1, b->w->view.now_ns);
        assert_true(route_worker_takes(&b->fit, 0, slot));
        route_worker_add(&b->fit, 0, slot);
        slack_ns[i] = b->workers[0].slack_ns;
        assert_true(slack_ns[i] > 0);
        assert_true(route_worker_takes(&b->fit, 0, world_arrive(b->w, 0, 100, 10)));
        world_close(b->w);
    }
    assert_int_equal(slack_ns[0], slack_ns[1]);
}

/* (c): prompts of 100 and 200 tokens take 35 ms. The step in flight of one that decodes with 1000
 * tokens takes 12 ms. It waited 3 ms. */
static void test_first_token(void **state)
{
    (void)state;
    struct bench *b = bench_new();
    b->w->config.tpot_ns = TIME_NS_PER_S;
    route_worker_add(&b->fit, 0, running(b, 900, 200, 100, b->w->view.now_ns));
    b->workers[0].slack_ns = INT64_MAX; /* (d) is not asked for here */
    route_worker_add(&b->fit, 0, world_arrive(b->w, 0, 100, 10));
    uint32_t slot = world_arrive(b->w, 0, 200, 10);
    b->w->view.now_ns += 3 * TIME_NS_PER_MS;
    b->w->config.ttft_ns = 50 * TIME_NS_PER_MS;
    assert_true(route_worker_takes(&b->fit, 0, slot));
    b->w->config.ttft_ns--;
    assert_false(route_worker_takes(&b->fit, 0, slot));
    b->w->config.phase = ROUTE_PHASE_DECODE;
    assert_true(route_worker_takes(&b->fit, 0, slot));
    b->w->config.phase = ROUTE_PHASE_BOTH;
    b->w->services[0].slo.ttft_ns = TIME_NS_PER_S; /* its own target goes before */
    assert_true(route_worker_takes(&b->fit, 0, slot));
    world_close(b->w);
}

/* (d): 11 tokens in 100 ms at 30 ms a token have saved 200 ms; a prompt of 1950 takes 200 ms. */
static void test_stall(void **state)
{
    (void)state;
    struct bench *b = bench_new();
    b->w->config.ttft_ns = 10 * TIME_NS_PER_S;
    route_worker_add(&b->fit, 0, running(b, 10, 200, 11, b->w->view.now_ns - 100 * TIME_NS_PER_MS));
    assert_int_equal(b->workers[0].slack_ns, 200 * TIME_NS_PER_MS);
    uint32_t slot = world_arrive(b->w, 0, 1950, 10);
    uint32_t longer = world_arrive(b->w, 0, 1951, 10);
    assert_true(route_worker_takes(&b->fit, 0, slot));
    assert_false(route_worker_takes(&b->fit, 0, longer));
    assert_true(route_worker_takes(&b->fit, 1, longer)); /* no request decodes there */
    b->w->config.phase = ROUTE_PHASE_DECODE;
    assert_true(route_worker_takes(&b->fit, 0, longer));
    b->w->config.phase = ROUTE_PHASE_BOTH;
    b->w->config.theta = 0.99;
    assert_false(route_worker_takes(&b->fit, 0, slot));
    world_close(b->w);
}

/* Token by token: every request grows by one until it has nothing left, then goes. */
static bool fits_by_steps(const struct bench *b, const uint32_t *slots, int n, int64_t m)
{
    for (int32_t step = 1; step <= 60; step++) {
        int64_t held = 0;
        for (int i = 0; i < n; i++) {
            const struct route_request *r = &b->w->requests[slots[i]];
            int32_t left = r->n_predicted - (r->n_tokens - r->n_prompt);
            held += step <= left ? 7 * (r->n_tokens + step) : 0;
        }
        if (held > m)
            return false;
    }
    return true;
}

static void test_memory_against_steps(void **state)
{
    (void)state;
    struct rng rng;
    int n_true = 0;
    rng_init(&rng, 5, 0);
    for (int round = 0; round < 2000; round++) {
        struct bench *b = bench_new();
        uint32_t slots[12];
        int n = 1 + (int)rng_below(&rng, 12);
        b->w->config.phase = ROUTE_PHASE_DECODE;
        b->w->config.tpot_ns = 3600 * TIME_NS_PER_S;
        b->w->services[0].kv_bytes_per_token = 7;
        for (int i = 0; i < n; i++)
            slots[i] = running(b, 1 + (int32_t)rng_below(&rng, 50),
                               20 + (int32_t)rng_below(&rng, 30), (int32_t)rng_below(&rng, 19), 1);
        for (int i = 0; i + 1 < n; i++) {
            route_worker_add(&b->fit, 0, slots[i]);
            if (rng_below(&rng, 3) == 0) /* which sorts */
                (void)route_worker_takes(&b->fit, 0, slots[n - 1]);
        }
        int64_t m = 7 * (int64_t)(40 + rng_below(&rng, 100)) * n / 2;
        b->w->engines[0].kv_bytes = m;
        bool is_right = fits_by_steps(b, slots, n, m);
        n_true += is_right;
        assert_int_equal(route_worker_takes(&b->fit, 0, slots[n - 1]), is_right);
        world_close(b->w);
    }
    assert_in_range(n_true, 400, 1600); /* both happen */
}

static void test_remove_takes_back(void **state)
{
    (void)state;
    struct bench *b = bench_new();
    uint32_t one = world_arrive(b->w, 0, 1000, 200), two = world_arrive(b->w, 0, 50, 10);
    route_worker_add(&b->fit, 0, one);
    struct route_worker before = b->workers[0];
    route_worker_add(&b->fit, 0, two);
    assert_true(route_worker_norm(&b->fit, 0, 0) > route_worker_norm(&b->fit, 1, 0));
    route_worker_remove(&b->fit, 0, two);
    assert_memory_equal(&before, &b->workers[0], sizeof before);
    assert_int_equal(b->links[one].next, ROUTE_NONE);
    world_close(b->w);
}

/* Sums of equal requests of other gateways count as the requests themselves would, and go on
 * counting when one of ours is taken out again. */
static void test_others_count_like_own(void **state)
{
    enum { N = 3, N_NEW = 20 };
    (void)state;
    for (int is_decoding = 0; is_decoding < 2; is_decoding++) {
        struct bench *b = bench_new();
        int64_t now_ns = b->w->view.now_ns, first_ns = is_decoding ? now_ns - 30000000 : 0;
        int32_t n_new = is_decoding ? N_NEW : 0;
        const struct route_others others = { .n = N,
                                             .n_waiting = is_decoding ? 0 : N,
                                             .n_prompt = N * 100,
                                             .n_new = (int64_t)N * n_new,
                                             .n_expected = N * 200,
                                             .n_waiting_tokens = is_decoding ? 0 : N * 100,
                                             .decoding_ns = is_decoding ? N * 30000000 : 0 };
        for (int i = 0; i < N; i++)
            route_worker_add(&b->fit, 0, running(b, 100, 200, n_new, first_ns));
        b->w->engines[1].others = &others;
        route_worker_add_others(&b->fit, 1);
        uint32_t own = running(b, 50, 10, 0, 0), slot = running(b, 80, 40, 0, 0);
        for (int round = 0; round < 2; round++) {
            const struct route_worker *x = &b->workers[0], *y = &b->workers[1];
            assert_int_equal(x->n, y->n);
            assert_int_equal(x->n_eff, y->n_eff);
            assert_int_equal(x->step_ps[0], y->step_ps[0]);
            assert_int_equal(x->now_ps, y->now_ps);
            assert_int_equal(x->prefill_ps, y->prefill_ps);
            assert_int_equal(x->slack_ns, y->slack_ns);
            assert_int_equal(x->target_ns, y->target_ns);
            assert_memory_equal(&x->base_ps, &y->base_ps, sizeof x->base_ps);
            for (b->w->config.tpot_ns = 10000000; b->w->config.tpot_ns < 20000000;
                 b->w->config.tpot_ns += 100000)
                assert_int_equal(route_worker_takes(&b->fit, 0, slot),
                                 route_worker_takes(&b->fit, 1, slot));
            for (int e = 0; e < 2; e++) {
                route_worker_add(&b->fit, e, own);
                route_worker_remove(&b->fit, e, own);
            }
        }
        world_close(b->w);
    }
}

/* (e) counts KV of others as grown to its predicted end: 3 (100 + 200) tokens of 10 bytes, and ours
 * needs 80 + 40. */
static void test_others_have_memory(void **state)
{
    (void)state;
    struct bench *b = bench_new();
    const struct route_others others = {
        .n = 3, .n_waiting = 3, .n_prompt = 300, .n_expected = 600, .n_waiting_tokens = 300
    };
    b->w->services[0].kv_bytes_per_token = 10;
    b->w->config.ttft_ns = b->w->config.tpot_ns = TIME_NS_PER_S * 1000;
    b->w->engines[1].others = &others;
    route_worker_add_others(&b->fit, 1);
    uint32_t slot = running(b, 80, 40, 0, 0);
    b->w->engines[1].kv_bytes = (900 + 120) * 10;
    assert_true(route_worker_takes(&b->fit, 1, slot));
    b->w->engines[1].kv_bytes--;
    assert_false(route_worker_takes(&b->fit, 1, slot));
    world_close(b->w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_step),
        cmocka_unit_test(test_a_late_request_has_less_time_for_a_step),
        cmocka_unit_test(test_an_hour_a_token),
        cmocka_unit_test(test_first_token),
        cmocka_unit_test(test_stall),
        cmocka_unit_test(test_memory_against_steps),
        cmocka_unit_test(test_remove_takes_back),
        cmocka_unit_test(test_others_count_like_own),
        cmocka_unit_test(test_others_have_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
