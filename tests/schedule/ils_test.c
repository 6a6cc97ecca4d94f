/* The conservative baselines: which requests start, which wait, and which a flush preempts. Worked
 * by hand. */
#include "loop.h"
#include "test.h"
#include "base/time.h"

static const int64_t unit_ns = TIME_NS_PER_MS;

static void open_one(struct loop *loop, const char *policy, int64_t n_tokens,
                     void (*tune)(struct schedule_config *))
{
    struct loop_options options = { .policy = schedule_find(policy),
                                    .n_services = 1,
                                    .unit_bytes = 1 << 10, /* a block of 16 tokens */
                                    .pool_bytes = n_tokens * 64,
                                    .n_requests_max = 64 };
    schedule_config_init(&options.config);
    options.config.watermark = 0;
    if (tune != NULL)
        tune(&options.config);
    options.services[0] = (struct loop_service){ .perf = loop_unit_perf(unit_ns),
                                                 .bytes_per_token = 64,
                                                 .solo_ns = 10 * unit_ns };
    loop_open(loop, &options);
}

static void most_is_100(struct schedule_config *config)
{
    config->ils_new_tokens = 100;
}

/* A pool of 320 tokens; each request may want 60 + 100 tokens, so two run at a time, though all
 * four would fit by what they really need (60 + 4). Steps: prompts of 0 and 1, three decodes, then
 * the same for 2 and 3. */
static void reserve_takes_the_most(void **state)
{
    (void)state;
    struct loop loop;
    open_one(&loop, "ils-reserve", 320, most_is_100);
    for (int i = 0; i < 4; i++)
        (void)loop_add(&loop, 0, 0, 60, 4);
    loop_run(&loop);
    assert_int_equal(loop.results[0].end_ns, 4 * unit_ns);
    assert_int_equal(loop.results[1].end_ns, 4 * unit_ns);
    assert_int_equal(loop.results[2].first_ns, 5 * unit_ns);
    assert_int_equal(loop.results[3].end_ns, 8 * unit_ns);
    assert_int_equal(loop.n_preempts, 0);
    loop_close(&loop);
}

/* With predictions of 4 tokens all four start at once. The first needs 50: its reservation doubles
 * as it goes, and each doubling is told. It ends all the same. */
static void a_prediction_is_reserved_and_grows(void **state)
{
    (void)state;
    struct loop loop;
    struct schedule_report report = { 0 };
    open_one(&loop, "ils-reserve", 320, most_is_100);
    for (int i = 0; i < 4; i++) {
        uint64_t id = loop_add(&loop, 0, 0, 60, i == 0 ? 50 : 4);
        loop.coming[id].n_predicted = 4;
    }
    loop_run(&loop);
    for (int i = 1; i < 4; i++)
        assert_int_equal(loop.results[i].end_ns, 4 * unit_ns);
    assert_int_equal(loop.results[0].end_ns, 50 * unit_ns);
    loop.options.policy->report(loop.state, &loop.view, &report);
    assert_int_equal(report.n_grown, 1);
    loop_close(&loop);
}

static void flush_last(struct schedule_config *config)
{
    config->fastgen_flushes_all = false;
}

/* 15 blocks of 16; three prompts of 80 tokens fill them. Their second tokens need a block each, so
 * that nothing can run. v0.2.0 gives back all three, later versions only the last. */
static void out_of_blocks_everything_is_flushed(void **state)
{
    (void)state;
    for (int all = 0; all < 2; all++) {
        struct loop loop;
        struct schedule_report report = { 0 };
        open_one(&loop, "ils-fastgen", 240, all ? NULL : flush_last);
        for (int i = 0; i < 3; i++)
            (void)loop_add(&loop, 0, 0, 80, 20);
        for (int i = 0; i < 2; i++) { /* the prompts; then no request can go on */
            loop_arrive(&loop);
            assert_true(loop_step(&loop));
        }
        loop.options.policy->report(loop.state, &loop.view, &report);
        assert_int_equal(report.n_flushed, all ? 3 : 1);
        loop_run(&loop);
        loop_close(&loop);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reserve_takes_the_most),
        cmocka_unit_test(a_prediction_is_reserved_and_grows),
        cmocka_unit_test(out_of_blocks_everything_is_flushed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
