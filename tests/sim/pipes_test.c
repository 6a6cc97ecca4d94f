/* Batches behind one another in a chain, by hand, on all of the devices and on halves. */
#include "sim/pipes.h"
#include "small_chain.h"

#define US INT64_C(1000000)

/* Parts of 4 ms and 8 ms a decode; links of 11 us, and 16 us back. */
static const struct layers_plan plan = { .n_parts = 2, .parts = { { 0, 4 }, { 1, 4 } } };
static const struct perf_load load = { .n_decodes = 1, .n_decode_context = 100 };
static const struct schedule_lane halves[] = { { .share = 1, .conflicts = 6, .n_gpus = 1 },
                                               { .share = 0.5F, .conflicts = 1, .n_gpus = 1 },
                                               { .share = 0.5F, .conflicts = 1, .n_gpus = 1 } };

static void test_one_lane(void **state)
{
    struct small_chain c;
    (void)state;
    open_small(&c);
    const struct sim_chain_map map = { &c.chain, &plan };
    struct sim_pipes *pipes = sim_pipes_open(&map, halves, 1, 2);
    assert_int_equal(sim_chain_deep(&plan), 2);
    assert_int_equal(sim_pipes_step_ps(pipes, 0, &load), 12027 * US);
    /* The first comes at 0 and is alone. */
    assert_int_equal(sim_pipes_pass(pipes, 0, &load, 0), 12027 * US);
    /* Another comes at 1 ms. It waits until 4 ms for the first part, leaves it at 8 ms, and the
     * link at 8,011 us. The second part is free at 12,011 us. */
    assert_int_equal(sim_pipes_pass(pipes, 0, &load, 1000 * US), 20027 * US);
    /* The first batch comes again: the slower part sets the pace, 8 ms a batch. */
    assert_int_equal(sim_pipes_pass(pipes, 0, &load, 12027 * US), 28027 * US);
    /* Long after, no batch is in the way. */
    assert_int_equal(sim_pipes_pass(pipes, 0, &load, 50000 * US), 62027 * US);
    sim_pipes_close(pipes);
}

static void test_halves(void **state)
{
    struct small_chain c;
    struct perf half;
    (void)state;
    open_small(&c);
    const struct sim_chain_map map = { &c.chain, &plan };
    struct sim_pipes *pipes = sim_pipes_open(&map, halves, 3, 2);
    const struct perf_load prompt = { .n_new = 500, .n_new_squared = 250000 };
    /* A prompt takes longer on a half by the factor of a device with 400 MiB of weights. */
    perf_at_share(&c.devices[0].perf, perf_share_of(400 * MIB, 1), 0.5, &half);
    int64_t first_ps = perf_step_ps(&half, &prompt) / 2, second_ps = 2 * first_ps;
    assert_true(first_ps > 6 * PS_PER_MS);
    int64_t alone_ps = first_ps + 510 * US + second_ps + 515 * US;
    assert_int_equal(sim_pipes_step_ps(pipes, 1, &prompt), alone_ps);
    assert_int_equal(sim_pipes_pass(pipes, 1, &prompt, 0), alone_ps);
    /* On the other half no batch is in the way. */
    int64_t decode_ps = sim_pipes_step_ps(pipes, 2, &load);
    assert_true(decode_ps > 12027 * US && decode_ps < 18000 * US);
    assert_int_equal(sim_pipes_pass(pipes, 2, &load, 0), decode_ps);
    /* On all of the devices a batch comes behind the prompt, which leaves the second part 515 us
     * before its end. The halves come after it. */
    assert_int_equal(sim_pipes_pass(pipes, 0, &load, 0), alone_ps - 515 * US + 8016 * US);
    assert_true(sim_pipes_pass(pipes, 2, &load, 0) > alone_ps + 16000 * US);
    sim_pipes_close(pipes);
}

static void test_when_anybody_was_there(void **state)
{
    struct small_chain c;
    (void)state;
    open_small(&c);
    const struct sim_chain_map map = { &c.chain, &plan };
    struct sim_pipes *pipes = sim_pipes_open(&map, halves, 3, 2);
    sim_pipes_begun(pipes, 10);
    sim_pipes_begun(pipes, 15);
    sim_pipes_begun(pipes, 16);
    assert_int_equal(sim_pipes_ended(pipes, 17), 0);
    assert_int_equal(sim_pipes_ended(pipes, 40), 0);
    assert_int_equal(sim_pipes_ended(pipes, 30), 30); /* a crash ends what began last at once */
    sim_pipes_begun(pipes, 50);
    assert_int_equal(sim_pipes_ended(pipes, 70), 20);
    sim_pipes_close(pipes);
}

static void test_times_from_later_on(void **state)
{
    struct small_chain c;
    (void)state;
    open_small(&c);
    const struct sim_chain_map map = { &c.chain, &plan };
    struct sim_pipes *pipes = sim_pipes_open(&map, halves, 1, 2);
    sim_pipes_begun(pipes, 0);
    assert_int_equal(sim_pipes_pass(pipes, 0, &load, 0), 12027 * US);
    sim_pipes_move(pipes, 1000000); /* at 1 ms, as in test_one_lane */
    sim_pipes_begun(pipes, 0);
    assert_int_equal(sim_pipes_pass(pipes, 0, &load, 0), 19027 * US);
    assert_int_equal(sim_pipes_ended(pipes, 11027 * US), 0);
    assert_int_equal(sim_pipes_ended(pipes, 19027 * US), 20027 * US);
    sim_pipes_move(pipes, INT64_MAX / 2); /* long over, whatever there was */
    assert_int_equal(sim_pipes_pass(pipes, 0, &load, 0), 12027 * US);
    sim_pipes_close(pipes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_lane),
        cmocka_unit_test(test_halves),
        cmocka_unit_test(test_when_anybody_was_there),
        cmocka_unit_test(test_times_from_later_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
