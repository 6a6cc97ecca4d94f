/* The policy `value` on one lane: which request starts first, how many run together, and that a
 * late request goes behind those in time. On lanes: mux_test.c and pipeline_test.c. */
#include "loop.h"
#include "test.h"
#include "base/time.h"

#define PS_PER_MS INT64_C(1000000000)

/* A step takes a + b k. */
static struct perf line(int64_t a_ps, int64_t b_ps)
{
    return (struct perf){ .c3_ps = { a_ps, a_ps },
                          .c2_ps = { b_ps, b_ps },
                          .b_switch = 64,
                          .prefill_scale = 1,
                          .decode_scale = 1 };
}

/* On a core, a step of k takes k times as long, so that one request runs at a time. When three
 * come at once, the one with the shortest prompt goes first. */
static void the_shortest_goes_first(void **state)
{
    (void)state;
    struct loop loop;
    struct loop_options options = { .policy = schedule_find("value"),
                                    .n_services = 1,
                                    .unit_bytes = 1 << 16,
                                    .pool_bytes = 100 << 16,
                                    .n_requests_max = 20 };
    schedule_config_init(&options.config);
    options.services[0] = (struct loop_service){ .perf = line(0, 10 * PS_PER_MS),
                                                 .bytes_per_token = 64,
                                                 .solo_ns = 100 * TIME_NS_PER_MS,
                                                 .rate_per_s = 1,
                                                 .n_prompt_mean = 10,
                                                 .n_output_mean = 10 };
    options.services[0].perf.k1_ps = PS_PER_MS;
    loop_open(&loop, &options);
    (void)loop_add(&loop, 0, 0, 30, 2);
    (void)loop_add(&loop, 0, 0, 20, 2);
    (void)loop_add(&loop, 0, 0, 10, 2);
    loop_run(&loop);
    assert_int_equal(loop.results[2].end_ns, 20 * TIME_NS_PER_MS);
    assert_int_equal(loop.results[1].end_ns, 50 * TIME_NS_PER_MS);
    assert_int_equal(loop.results[0].end_ns, 90 * TIME_NS_PER_MS);
    loop_close(&loop);
}

/* A step of k takes 5 + 2.5 k ms: of four requests of a hundred steps, three together end soonest.
 * An engine's only model lets the fourth begin with them, though not a fourth of six. */
static void one_of_four_is_held_back_for_other_models_only(void **state)
{
    (void)state;
    static const struct {
        int n_services, n;
        bool is_with_them; /* the last one */
    } cases[] = { { 1, 4, true }, { 2, 4, false }, { 1, 6, false } };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct loop loop;
        struct loop_options options = { .policy = schedule_find("value"),
                                        .n_services = cases[i].n_services,
                                        .unit_bytes = 1 << 16,
                                        .pool_bytes = 100 << 16,
                                        .n_requests_max = 20 };
        schedule_config_init(&options.config);
        options.config.chunk_tokens = 2048;
        for (int k = 0; k < cases[i].n_services; k++)
            options.services[k] =
                (struct loop_service){ .perf = line(5 * PS_PER_MS, 5 * PS_PER_MS / 2),
                                       .bytes_per_token = 64,
                                       .solo_ns = 1000 * TIME_NS_PER_MS,
                                       .rate_per_s = 1,
                                       .n_prompt_mean = 10,
                                       .n_output_mean = 100 };
        loop_open(&loop, &options);
        uint64_t last = 0;
        for (int k = 0; k < cases[i].n; k++)
            last = loop_add(&loop, 0, 0, 10, 100);
        loop_run(&loop);
        assert_int_equal(loop.results[last].first_ns < TIME_NS_PER_S, cases[i].is_with_them);
        loop_close(&loop);
    }
}

static void one_starts_at_a_time(struct loop *loop, const struct batch *batch, void *self)
{
    int32_t n_starting = 0, *n_forced = self;
    for (int32_t i = 0; i < batch->n_items; i++)
        n_starting += loop->requests[batch->items[i].slot].state == REQUEST_WAITING;
    assert_true(n_starting <= 1);
    *n_forced += n_starting > 0 && loop->plan.is_forced;
}

/* A step of k takes k times as long. When all of six requests starve, each starts by itself, since
 * the others that wait are held back beside a starved request as they are beside any other. */
static void the_starved_start_one_at_a_time(void **state)
{
    (void)state;
    struct loop loop;
    int32_t n_forced = 0;
    struct loop_options options = { .policy = schedule_find("value"),
                                    .n_services = 2,
                                    .unit_bytes = 1 << 16,
                                    .pool_bytes = 100 << 16,
                                    .n_requests_max = 20 };
    schedule_config_init(&options.config);
    options.config.chunk_tokens = 2048;
    options.config.starve_ns_min = 100 * TIME_NS_PER_MS;
    for (int k = 0; k < 2; k++)
        options.services[k] = (struct loop_service){ .perf = line(0, 10 * PS_PER_MS),
                                                     .bytes_per_token = 64,
                                                     .solo_ns = TIME_NS_PER_MS,
                                                     .rate_per_s = 1,
                                                     .n_prompt_mean = 10,
                                                     .n_output_mean = 60 };
    loop_open(&loop, &options);
    loop.on_batch = one_starts_at_a_time;
    loop.on_batch_self = &n_forced;
    for (int k = 0; k < 6; k++)
        (void)loop_add(&loop, 0, 0, 10, 60);
    loop_run(&loop);
    assert_int_equal(n_forced, 5); /* all but the first */
    loop_close(&loop);
}

/* One at a time, 100 ms each alone: when six come at once, the first five end within five times
 * their time. One that comes later and can still be in time overtakes the sixth when lateness
 * counts, and only then. */
static void who_is_late_gives_way(void **state)
{
    (void)state;
    for (int counts = 0; counts < 2; counts++) {
        struct loop loop;
        struct loop_options options = { .policy = schedule_find("value"),
                                        .n_services = 1,
                                        .unit_bytes = 1 << 16,
                                        .pool_bytes = 100 << 16,
                                        .n_requests_max = 20 };
        schedule_config_init(&options.config);
        options.config.n_seqs_max = 1;
        options.config.starve_ns_min = 1000 * TIME_NS_PER_S;
        options.config.late_factor = counts ? 4 : 0; /* 2 by default */
        options.services[0] =
            (struct loop_service){ .perf = { .c3_ps = { 10000000000, 10000000000 },
                                             .c1_ps = 10000000000,
                                             .b_switch = 64,
                                             .prefill_scale = 1,
                                             .decode_scale = 1 },
                                   .bytes_per_token = 64,
                                   .solo_ns = 100 * TIME_NS_PER_MS,
                                   .rate_per_s = 1,
                                   .n_prompt_mean = 10,
                                   .n_output_mean = 10 };
        loop_open(&loop, &options);
        for (int i = 0; i < 6; i++)
            (void)loop_add(&loop, 0, 0, 10, 10);
        (void)loop_add(&loop, 0, 450 * TIME_NS_PER_MS, 10, 10);
        loop_run(&loop);
        assert_int_equal(loop.results[4].end_ns, 500 * TIME_NS_PER_MS);
        assert_int_equal(loop.results[counts ? 6 : 5].end_ns, 600 * TIME_NS_PER_MS);
        assert_int_equal(loop.results[counts ? 5 : 6].end_ns, 700 * TIME_NS_PER_MS);
        loop_close(&loop);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_shortest_goes_first),
        cmocka_unit_test(one_of_four_is_held_back_for_other_models_only),
        cmocka_unit_test(the_starved_start_one_at_a_time),
        cmocka_unit_test(who_is_late_gives_way),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
