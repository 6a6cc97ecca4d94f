/* Renewable leases: renewal in place, which request yields, and that no request runs out within a
 * lease. */
#include "loop.h"
#include "test.h"
#include "base/rng.h"
#include "base/time.h"
#include "schedule/lease.h"

static const int64_t unit_ns = TIME_NS_PER_MS;

static void open_one(struct loop *loop, int64_t n_tokens, int32_t lease_tokens)
{
    struct loop_options options = { .policy = schedule_find("scls-cb"),
                                    .n_services = 1,
                                    .unit_bytes = 1 << 10, /* a block of 16 tokens */
                                    .pool_bytes = n_tokens * 64,
                                    .n_requests_max = 128 };
    schedule_config_init(&options.config);
    options.config.watermark = 0;
    options.config.lease_tokens = lease_tokens;
    options.services[0] = (struct loop_service){ .perf = loop_unit_perf(unit_ns),
                                                 .bytes_per_token = 64,
                                                 .solo_ns = 10 * unit_ns };
    loop_open(loop, &options);
}

static struct schedule_report report_of(struct loop *loop)
{
    struct schedule_report report = { 0 };
    loop->options.policy->report(loop->state, &loop->view, &report);
    return report;
}

/* Alone, a request of 100 tokens renews a lease of 16 six times: after 16, 32, ... 96. */
static void a_lease_is_renewed_in_place(void **state)
{
    (void)state;
    struct loop loop;
    open_one(&loop, 1024, 16);
    (void)loop_add(&loop, 0, 0, 32, 100);
    loop_run(&loop);
    assert_int_equal(loop.results[0].end_ns, 100 * unit_ns);
    assert_int_equal(report_of(&loop).n_renewed, 6);
    assert_int_equal(report_of(&loop).n_yielded, 0);
    loop_close(&loop);
}

/* 10 blocks. Each books 32 + 16 = 3 blocks: three run, with one block to spare. After 16 tokens all
 * leases are over; three renewals need 12 blocks. The last of those with most tokens yields. (All
 * have 16, so it is the one that came last.) The others renew: 4 + 4 blocks. The one that yielded
 * waits until they are through. */
static void the_one_with_most_tokens_yields(void **state)
{
    (void)state;
    struct loop loop;
    open_one(&loop, 160, 16);
    for (int i = 0; i < 3; i++)
        (void)loop_add(&loop, 0, i, 32, 30);
    loop_run(&loop);
    assert_int_equal(loop.results[0].n_preempted, 0);
    assert_int_equal(loop.results[1].n_preempted, 0);
    assert_int_equal(loop.results[2].n_preempted, 1);
    assert_int_equal(report_of(&loop).n_yielded, 1);
    assert_true(loop.results[2].end_ns > loop.results[0].end_ns);
    loop_close(&loop);
}

/* A predicted length books less: 4 tokens and 16 more instead of 128. */
static void predictions_shorten_leases(void **state)
{
    (void)state;
    struct schedule_config config;
    schedule_config_init(&config);
    struct request r = { .n_prompt = 10, .n_tokens = 10 };
    assert_int_equal(schedule_lease_tokens(&config, &r), 128);
    r.n_predicted = 4;
    assert_int_equal(schedule_lease_tokens(&config, &r), 20);
    r.n_tokens = 15; /* exceeded: the length is no longer known */
    assert_int_equal(schedule_lease_tokens(&config, &r), 128);
}

/* The booked blocks never exceed the pool, so that preemption happens only where a lease is
 * over. */
static void nobody_runs_out_within_a_lease(void **state)
{
    (void)state;
    uint64_t seed = test_seed(5);
    int64_t n_yielded = 0;
    for (uint64_t round = 0; round < 30; round++) {
        struct rng rng;
        struct loop loop;
        rng_init(&rng, seed, round);
        int32_t lease = 1 << rng_below(&rng, 7);
        open_one(&loop, 1024 << rng_below(&rng, 3), lease);
        for (int i = 0; i < 100; i++)
            (void)loop_add(&loop, 0, i * unit_ns, 1 + (int32_t)rng_below(&rng, 200),
                           1 + (int32_t)rng_below(&rng, 300));
        loop_run(&loop);
        /* Each preempted request had yielded a lease. */
        assert_int_equal(report_of(&loop).n_yielded, loop.n_preempts);
        n_yielded += loop.n_preempts;
        loop_close(&loop);
    }
    print_message("%lld yielded\n", (long long)n_yielded);
    assert_true(n_yielded > 50);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_lease_is_renewed_in_place),
        cmocka_unit_test(the_one_with_most_tokens_yields),
        cmocka_unit_test(predictions_shorten_leases),
        cmocka_unit_test(nobody_runs_out_within_a_lease),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
