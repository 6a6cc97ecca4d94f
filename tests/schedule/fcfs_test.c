/* First come, first served: the order of starts, head-of-line blocking, the choice of victims. */
#include "loop.h"
#include "test.h"
#include "base/time.h"

static const int64_t unit_ns = TIME_NS_PER_MS;

static struct loop_options options_of(int64_t n_tokens)
{
    struct loop_options options = { .policy = schedule_find("fcfs"),
                                    .n_services = 2,
                                    .unit_bytes = 1 << 16,
                                    .pool_bytes = n_tokens * 64,
                                    .n_requests_max = 100 };
    schedule_config_init(&options.config);
    for (int i = 0; i < 2; i++)
        options.services[i] = (struct loop_service){ .perf = loop_unit_perf(unit_ns),
                                                     .bytes_per_token = 64,
                                                     .solo_ns = 10 * unit_ns };
    return options;
}

static void prompts_start_in_order_of_arrival(void **state)
{
    (void)state;
    struct loop loop;
    struct loop_options options = options_of(1 << 20);
    loop_open(&loop, &options);
    for (int i = 0; i < 6; i++)
        (void)loop_add(&loop, i % 2, i, 100, 5);
    loop_run(&loop);
    for (int i = 2; i < 6; i++)
        assert_true(loop.results[i].first_ns > loop.results[(i + 1) % 2].first_ns ||
                    loop.results[i].first_ns == loop.results[i - 2].first_ns);
    loop_close(&loop);
}

/* The first request of the queue does not fit. The small one behind it must not overtake, in
 * whichever service it is. */
static void nobody_overtakes_who_does_not_fit(void **state)
{
    (void)state;
    struct loop loop;
    struct loop_options options = options_of(16 * 1024);
    loop_open(&loop, &options);
    (void)loop_add(&loop, 0, 0, 9000, 200);
    (void)loop_add(&loop, 0, 1, 9000, 5);
    (void)loop_add(&loop, 1, 2, 10, 5);
    loop_run(&loop);
    assert_true(loop.results[1].first_ns > loop.results[0].end_ns);
    assert_true(loop.results[2].first_ns > loop.results[1].first_ns);
    assert_int_equal(loop.n_preempts, 0);
    loop_close(&loop);
}

static void the_last_arrived_gives_way(void **state)
{
    (void)state;
    struct loop loop;
    struct loop_options options = options_of(16 * 1024);
    options.config.watermark = 0;
    loop_open(&loop, &options);
    for (int i = 0; i < 3; i++)
        (void)loop_add(&loop, i == 2, i, 4000, 3000);
    loop_run(&loop);
    assert_int_equal(loop.results[0].n_preempted, 0);
    assert_true(loop.results[2].n_preempted > 0);
    assert_true(loop.results[0].end_ns < loop.results[2].end_ns);
    loop_close(&loop);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(prompts_start_in_order_of_arrival),
        cmocka_unit_test(nobody_overtakes_who_does_not_fit),
        cmocka_unit_test(the_last_arrived_gives_way),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
