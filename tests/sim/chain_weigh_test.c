/* Tests whether another map of a chain is worth its loading. */
#include "small_chain.h"

#include "sim/chain_weigh.h"

static const struct layers_plan slow = { .n_parts = 2,
                                         .parts = { { 1, 4 }, { 2, 4 } },
                                         .step_ps = 20 * PS_PER_MS };
static const struct layers_plan fast = { .n_parts = 2,
                                         .parts = { { 0, 4 }, { 1, 4 } },
                                         .step_ps = 12 * PS_PER_MS };

/* Requests that each stay for four seconds, one a second, for 100 s. */
static struct sim_chain_window four_there(void)
{
    struct sim_chain_window w = { 0 };
    for (int i = 0; i < 100; i++) {
        sim_chain_weigh_note(&w, i * S, 1);
        if (i >= 4)
            sim_chain_weigh_note(&w, i * S, -1);
    }
    sim_chain_weigh_note(&w, 100 * S, 0);
    return w;
}

static void test_the_window(void **state)
{
    struct sim_chain_window w = four_there();
    (void)state;
    assert_int_equal(w.n_there, 4);
    assert_int_equal(w.n_arrived, 100);
    assert_true(w.there_ns == (double)(1 + 2 + 3 + 97 * 4) * (double)S);
    sim_chain_weigh_close(&w, 110 * S);
    assert_true(w.from_ns == 110 * S && w.n_there == 4 && w.n_arrived == 0 && w.there_ns == 0);
    sim_chain_weigh_close(&w, 120 * S); /* too short to mean anything, so it goes on */
    assert_true(w.from_ns == 110 * S && w.there_ns == (double)(40 * S));
}

static void test_the_interval(void **state)
{
    (void)state;
    assert_int_equal(sim_chain_weigh_interval_ns(1000 * S, 2), 500 * S);
    assert_int_equal(sim_chain_weigh_interval_ns(1000 * S, 0), 1000 * S);
    assert_int_equal(sim_chain_weigh_interval_ns(10 * S, 1), 60 * S);
    assert_int_equal(sim_chain_weigh_interval_ns(100000 * S, 1), 3600 * S);
}

static void test_a_move_by_hand(void **state)
{
    struct small_chain c;
    struct sim_chain_window w = four_there();
    (void)state;
    open_small(&c);
    w.there_ns = 400.0 * (double)S; /* four in the mean, one a second */
    /* 900 MB at 100 MB/s and 1 s: 10 s away. Four requests wait for all of it, and ten arrive:
     * 4 * 10 + 1 * 10 * 10 / 2 = 90 s. A step is 40% shorter, so with four present it saves 1.6 s a
     * second. */
    struct sim_chain_move move = { .kept = &slow, .planned = &fast, .weights_bytes = 900000000 };
    move.interval_ns = 10 * S + 56 * S;
    assert_int_equal(sim_chain_weigh(&c.chain, &w, &move), REPLACE_NOT_WORTH); /* 89.6 s */
    move.interval_ns = 10 * S + 57 * S;
    assert_int_equal(sim_chain_weigh(&c.chain, &w, &move), REPLACE_INSTALL); /* 91.2 s */
    /* 500 tokens of KV take a prompt of their own: 12 ms and their links, 13 ms for 4 and 10. */
    move.n_tokens = 500;
    move.interval_ns = 10 * S + 563 * S / 10; /* 90.08 s */
    assert_int_equal(sim_chain_weigh(&c.chain, &w, &move), REPLACE_NOT_WORTH);
    move.n_tokens = 0;
    assert_int_equal(sim_chain_weigh(&c.chain, &w, &move), REPLACE_INSTALL);
    /* A map that is not faster gains nothing, however cheap the move is. */
    move = (struct sim_chain_move){ .kept = &fast, .planned = &slow, .interval_ns = 3600 * S };
    assert_int_equal(sim_chain_weigh(&c.chain, &w, &move), REPLACE_NO_GAIN);
    /* With no request present nothing is gained either. */
    w = (struct sim_chain_window){ .at_ns = 100 * S };
    move = (struct sim_chain_move){ .kept = &slow, .planned = &fast, .interval_ns = 3600 * S };
    assert_int_equal(sim_chain_weigh(&c.chain, &w, &move), REPLACE_NOT_WORTH);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_window),
        cmocka_unit_test(test_the_interval),
        cmocka_unit_test(test_a_move_by_hand),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
