/* Equation 8, and whether a move pays. */
#include "test.h"

#include "place/replace.h"

#define S INT64_C(1000000000)

static void test_equation_8(void **state)
{
    (void)state;
    struct replace_config config;
    const struct replace_score foretold = { 2.0, 0.98 }, none = { 0, 0 };
    const struct replace_score slow = { 2.5, 0.98 }, missed = { 2.0, 0.49 }, better = { 1.0, 1.0 };
    replace_config_init(&config);
    assert_true(replace_deviation(&slow, &foretold) == 0.25);
    assert_true(replace_deviation(&missed, &foretold) == 0.5);
    assert_true(replace_deviation(&better, &foretold) == 0.5); /* better is otherwise, too */
    assert_true(replace_deviation(&slow, &none) > 1e5);        /* no division by nothing */
    assert_int_equal(replace_interval_ns(&config, 600 * S, 0.25), 540 * S);
    assert_int_equal(replace_interval_ns(&config, 600 * S, 0.05), 660 * S);
    assert_int_equal(replace_interval_ns(&config, 600 * S, 0.1), 600 * S);
    assert_int_equal(replace_interval_ns(&config, 61 * S, 1), 60 * S);
    assert_int_equal(replace_interval_ns(&config, 3599 * S, 0), 3600 * S);
    assert_int_equal(replace_interval_ns(&config, INT64_MAX, 0), 3600 * S);
}

/* 14 GB over 28 GB/s, 2 s to settle. */
static const struct replace_links links = { 28e9, 1e9, 100e9 };
static const struct replace_move weights = { 14000000000, true, 0, 0, 2 };

static void test_time_away(void **state)
{
    (void)state;
    struct replace_config config;
    struct replace_move moves[2] = { weights, weights };
    replace_config_init(&config);
    assert_int_equal(replace_away_ns(&config, &links, &moves[0]), 2500000000);
    moves[1].kv_bytes = 50000000000;
    moves[1].recompute_ns = 3 * S;
    assert_int_equal(replace_away_ns(&config, &links, &moves[1]), 6000000000);
    assert_int_equal(replace_fetch_ns(&links, moves, 2), 0);
    moves[1].is_prefetched = false;
    assert_int_equal(replace_fetch_ns(&links, moves, 2), 14 * S);
}

static struct replace_case case_of(double nl, double attainment)
{
    return (struct replace_case){ .kept = { 2.0, 0.9 },
                                  .planned = { nl, attainment },
                                  .rate = 4,
                                  .latency_s = 5,
                                  .interval_ns = 600 * S,
                                  .moves = &weights,
                                  .n_moves = 1,
                                  .links = links };
}

static void test_install_only_what_pays(void **state)
{
    (void)state;
    struct replace_config config;
    replace_config_init(&config);
    struct replace_case c = case_of(1.8, 0.9); /* 10%: 0.5 s of 2,400 requests for 6.25 s */
    assert_int_equal(replace_decide(&config, &c), REPLACE_INSTALL);
    c = case_of(1.92, 0.9); /* 4% */
    assert_int_equal(replace_decide(&config, &c), REPLACE_NO_GAIN);
    c = case_of(2.0, 0.905); /* half a point */
    assert_int_equal(replace_decide(&config, &c), REPLACE_NO_GAIN);
    c = case_of(2.0, 0.92); /* 2 points of 2,400 are 48; 5 are missed */
    assert_int_equal(replace_decide(&config, &c), REPLACE_INSTALL);
    c = case_of(1.0, 0.8); /* latency bought with attainment */
    assert_int_equal(replace_decide(&config, &c), REPLACE_NO_GAIN);
    c = case_of(1.8, 0.9);
    c.n_moves = 0;
    assert_int_equal(replace_decide(&config, &c), REPLACE_SAME);
}

static void test_a_move_that_costs_more(void **state)
{
    (void)state;
    struct replace_config config;
    struct replace_move slow = weights;
    struct replace_case c = case_of(1.8, 0.9);
    replace_config_init(&config);
    slow.recompute_ns = 60 * S; /* 2/s wait 31 s each on average: 3,906 s for 1,200 saved */
    c.moves = &slow;
    assert_int_equal(replace_decide(&config, &c), REPLACE_NOT_WORTH);
    c.interval_ns = 3600 * S; /* over an hour it pays */
    assert_int_equal(replace_decide(&config, &c), REPLACE_INSTALL);
    slow.is_prefetched = false;
    slow.weights_bytes = INT64_C(3600000000000); /* an hour to fetch, so nothing is left to gain */
    assert_int_equal(replace_decide(&config, &c), REPLACE_NOT_WORTH);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_equation_8),
        cmocka_unit_test(test_time_away),
        cmocka_unit_test(test_install_only_what_pays),
        cmocka_unit_test(test_a_move_that_costs_more),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
