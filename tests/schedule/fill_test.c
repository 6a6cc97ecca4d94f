/* The code that all policies share, driven by random arrivals: plans are legal and pure (the loop
 * asserts both), no request is lost, and holds change nothing. */
#include "loop.h"
#include "scene.h"
#include "test.h"
#include "base/num.h"
#include "base/rng.h"
#include "base/time.h"

static struct loop_options options_of(const struct schedule_policy *policy, struct rng *rng)
{
    struct loop_options options = { .policy = policy,
                                    .n_services = 1 + (int)rng_below(rng, LOOP_SERVICES),
                                    .unit_bytes = 1 << 20,
                                    .n_requests_max = 400 };
    schedule_config_init(&options.config);
    options.config.chunk_tokens = rng_below(rng, 2) == 0 ? 0 : 64 << rng_below(rng, 4);
    options.config.n_seqs_max = rng_below(rng, 3) == 0 ? 4 : 64;
    options.pool_bytes = (int64_t)(6 + rng_below(rng, 40)) << 20;
    for (int i = 0; i < options.n_services; i++) {
        struct loop_service *s = &options.services[i];
        s->perf = loop_a100_perf(rng_below(rng, 2) == 0 ? "llama-7b" : "llama-13b");
        s->bytes_per_token = 1024 * (1 + (int64_t)rng_below(rng, 8));
        s->n_prompt_mean = 200;
        s->n_output_mean = 100;
        s->solo_ns = perf_solo_ps(&s->perf, 200, 100) / 1000;
        s->deviation_ns = s->solo_ns / 3;
        s->rate_per_s = 1 + rng_below(rng, 3);
        if (rng_below(rng, 4) == 0)
            s->bytes_min = options.pool_bytes / 8;
        if (rng_below(rng, 4) == 0)
            s->bytes_max = options.pool_bytes * 3 / 4;
    }
    return options;
}

static void add_requests(struct loop *loop, struct rng *rng, int n)
{
    double now_s = 0, gap_s = rng_below(rng, 2) == 0 ? 0.05 : 0.6;
    for (int i = 0; i < n; i++) {
        now_s += rng_exponential(rng) * gap_s;
        int service = (int)rng_below(rng, (uint32_t)loop->options.n_services);
        int32_t n_prompt = 1 + (int32_t)(num_exp(rng_normal(rng) * 0.8 + 4.5));
        int32_t n_output = 1 + (int32_t)(num_exp(rng_normal(rng) * 0.8 + 4));
        uint64_t id = loop_add(loop, service, (int64_t)(now_s * 1e9), n_prompt % 1200 + 1,
                               n_output % 500 + 1);
        if (rng_below(rng, 10) == 0)
            loop->coming[id].priority = (int16_t)(rng_below(rng, 3) - 1);
    }
}

/* The engine would refuse requests if not every one could run alone in the pool. */
static bool all_fit(const struct loop *loop)
{
    const struct kv_budget *kv = kv_budget(loop->kv);
    for (int i = 0; i < loop->options.n_services; i++)
        if (kv_budget_most_blocks(kv, i) * kv->services[i].block_tokens < 1800)
            return false;
    return true;
}

static void every_policy_serves_everybody(void **state)
{
    (void)state;
    uint64_t seed = test_seed(1);
    int n_policies;
    const struct schedule_policy *const *policies = schedule_all(&n_policies);
    int64_t n_preempts = 0, n_mixed = 0, n_chunks = 0, n_holds = 0;
    for (int i = 0; i < n_policies; i++) {
        for (uint64_t round = 0; round < 30; round++) {
            struct rng rng;
            struct loop loop;
            rng_init(&rng, seed, round);
            struct loop_options options = options_of(policies[i], &rng);
            loop_open(&loop, &options);
            if (all_fit(&loop)) {
                add_requests(&loop, &rng, 150);
                loop_run(&loop);
            }
            n_preempts += loop.n_preempts;
            n_mixed += loop.n_mixed;
            n_chunks += loop.n_chunks;
            n_holds += loop.n_holds;
            loop_close(&loop);
        }
    }
    print_message("%lld preempts, %lld mixed batches, %lld chunks, %lld holds\n",
                  (long long)n_preempts, (long long)n_mixed, (long long)n_chunks,
                  (long long)n_holds);
    assert_true(n_preempts > 100 && n_mixed > 100 && n_chunks > 100 && n_holds > 100);
}

static uint64_t trace_of(const struct schedule_policy *policy, uint64_t seed, int32_t n_rounds_max,
                         int64_t *n_plans)
{
    struct rng rng;
    struct loop loop;
    rng_init(&rng, seed, 1);
    struct loop_options options = options_of(policy, &rng);
    options.config.n_rounds_max = n_rounds_max;
    options.pool_bytes = 200 << 20;
    options.services[0].bytes_max = 0;
    loop_open(&loop, &options);
    add_requests(&loop, &rng, 120);
    loop_run(&loop);
    uint64_t trace = loop.trace;
    *n_plans += loop.n_plans;
    loop_close(&loop);
    return trace;
}

static void holds_change_nothing(void **state)
{
    (void)state;
    uint64_t seed = test_seed(1);
    int n_policies;
    const struct schedule_policy *const *policies = schedule_all(&n_policies);
    int64_t n_plans[2] = { 0, 0 };
    for (int i = 0; i < n_policies; i++)
        for (uint64_t round = 0; round < 20; round++)
            assert_int_equal(trace_of(policies[i], seed + round, 1, &n_plans[0]),
                             trace_of(policies[i], seed + round, 4096, &n_plans[1]));
    print_message("%lld plans for every step, %lld with holds\n", (long long)n_plans[0],
                  (long long)n_plans[1]);
    assert_true(n_plans[1] < n_plans[0] * 9 / 10);
}

/* ---- A view by hand: service 0 runs slots 0..n[0]-1, service 1 those behind. ---- */

static uint32_t nobody(const void *state, const struct schedule_view *view, int service)
{
    (void)state;
    (void)view;
    (void)service;
    return SCHEDULE_NONE;
}
static const struct schedule_order order_by_slot = { .first = nobody,
                                                     .is_before = scene_by_slot,
                                                     .spares_service = true };

/* Every request decodes and holds one block of 16 tokens, four blocks to a unit; none is free. */
static void draw(struct scene *s, uint32_t n_first, uint32_t n_second)
{
    scene_draw(s, 2);
    s->kv.n_units_open = 60;
    for (int i = 0; i < 2; i++) {
        s->kv.services[i] = (struct kv_budget_service){ 16, 4, 0, 0, 30, 0, INT32_MAX };
        s->services[i] = (struct schedule_service){ .is_open = true,
                                                    .first_waiting = SCHEDULE_NONE,
                                                    .n_running = i == 0 ? n_first : n_second,
                                                    .running = s->slots + (i == 0 ? 0 : n_first) };
    }
    for (uint32_t slot = 0; slot < n_first + n_second; slot++) {
        s->n_table_blocks[slot] = 1;
        s->requests[slot] = (struct request){ .state = REQUEST_RUNNING,
                                              .service = slot >= n_first,
                                              .n_prompt = 4,
                                              .n_tokens = 10,
                                              .n_computed = 9,
                                              .n_tokens_max = 20000 };
    }
    schedule_fill_begin(&s->fill, &s->view, &s->config, &order_by_slot, &s->plan);
}

/* Small requests of another service free a unit together: four give way, not all of them. */
static void no_more_give_way_than_needed(void **state)
{
    static struct scene s;
    (void)state;
    draw(&s, 1, 100);
    s.requests[0].n_tokens = 17; /* the second block begins */
    s.requests[0].n_computed = 16;
    assert_int_equal(schedule_fill_serve(&s.fill, 0, FILL_ALL, SCHEDULE_NONE), FILLED_PREEMPTS);
    assert_null(schedule_check(&s.view, &s.plan));
    assert_int_equal(s.plan.n_preempts, 4);
    for (uint32_t i = 0; i < 4; i++)
        assert_int_equal(s.plan.preempts[i], 100 - i); /* the last in the order */
}

/* Requests of others give way before the service's own, but none gives way to a less urgent one.
 * Service 0 lacks two units' worth of blocks; slots 8..11 of service 1 are more urgent than all. */
static void the_less_urgent_give_way_first(void **state)
{
    static struct scene s;
    (void)state;
    draw(&s, 8, 8);
    for (uint32_t slot = 0; slot < 8; slot++) { /* every request begins its second block */
        s.requests[slot].n_tokens = 17;
        s.requests[slot].n_computed = 16;
    }
    for (uint32_t slot = 8; slot < 12; slot++)
        s.requests[slot].priority = -1;
    assert_int_equal(schedule_fill_serve(&s.fill, 0, FILL_ALL, 0), FILLED_PREEMPTS);
    assert_null(schedule_check(&s.view, &s.plan));
    static const uint32_t expected[] = { 15, 14, 13, 12, 7, 6, 5, 4 };
    assert_int_equal(s.plan.n_preempts, COUNT_OF(expected));
    for (uint32_t i = 0; i < COUNT_OF(expected); i++)
        assert_int_equal(s.plan.preempts[i], expected[i]);
}

/* A prompt that must be served takes a whole batch of tokens, so that decodes have to wait. */
static void a_batch_never_has_too_many_tokens(void **state)
{
    static struct scene s;
    (void)state;
    draw(&s, 50, 0);
    s.config.chunk_tokens = s.config.n_batch_tokens_max = LIMIT_BATCH_TOKENS;
    s.requests[7].n_prompt = s.requests[7].n_tokens = 10000;
    s.n_table_blocks[7] = 700;
    assert_int_equal(schedule_fill_serve(&s.fill, 0, FILL_ALL, 7), FILLED_BATCH);
    assert_null(schedule_check(&s.view, &s.plan));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_policy_serves_everybody),
        cmocka_unit_test(holds_change_nothing),
        cmocka_unit_test(no_more_give_way_than_needed),
        cmocka_unit_test(the_less_urgent_give_way_first),
        cmocka_unit_test(a_batch_never_has_too_many_tokens),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
