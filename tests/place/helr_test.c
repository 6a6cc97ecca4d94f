/* Tests of helr, he and lr: the plan that each takes from the front, by hand and by brute force
 * over subsets and splits. */
#include "test.h"

#include "base/rng.h"
#include "place/layers.h"

/* Two fast devices with room for 6 of 10 layers each, a slow one with room for all. */
static const struct layers_device three[] = { { 10, 6 }, { 10, 6 }, { 13, 10 } };

static void solve(const int64_t *link, enum layers_aim aim, const struct layers_weights *weights,
                  struct layers_plan *plan)
{
    const struct layers_problem problem = { 3, 10, three, link, true };
    struct fault fault;
    assert_int_equal(layers_solve(&problem, aim, weights, plan, &fault), STATUS_OK);
    assert_int_equal(layers_check(&problem, plan, &fault), STATUS_OK);
}

static void test_by_hand(void **state)
{
    (void)state;
    static const int64_t link[] = { 0, 5, 5, 5, 0, 5, 5, 5, 0 };
    static const struct layers_weights latency = { 10, 1 };
    struct layers_plan plan;
    solve(link, LAYERS_HE, NULL, &plan);
    assert_int_equal(plan.n_parts, 1);
    assert_int_equal(plan.parts[0].device, 2);
    assert_int_equal(plan.step_ps, 130);
    solve(link, LAYERS_LR, NULL, &plan); /* 10 layers of 10 and two links of 5 */
    assert_int_equal(plan.n_parts, 2);
    assert_int_equal(plan.step_ps, 110);
    solve(link, LAYERS_HELR, NULL, &plan); /* 130/110 + 1/1 < 110/110 + 2/1 */
    assert_int_equal(plan.n_parts, 1);
    solve(link, LAYERS_HELR, &latency, &plan); /* 11.8 + 1 > 10 + 2 */
    assert_int_equal(plan.n_parts, 2);
}

static void test_slow_links_keep_it_together(void **state)
{
    (void)state;
    static const int64_t link[] = { 0, 16, 16, 16, 0, 16, 16, 16, 0 };
    struct layers_plan plan;
    solve(link, LAYERS_LR, NULL, &plan);
    assert_int_equal(plan.n_parts, 1);
    assert_int_equal(plan.step_ps, 130);
}

struct brute { /* the best plan of each aim over all ordered subsets and splits */
    const struct layers_problem *problem;
    struct layers_part parts[8];
    bool is_used[8];
    int64_t least[9]; /* with this many devices */
};

static void try_all(struct brute *b, int32_t n, int32_t n_left)
{
    if (n_left == 0)
        b->least[n] = min_i64(b->least[n], layers_step_ps(b->problem, b->parts, n));
    for (int32_t d = 0; d < b->problem->n_devices && n_left > 0; d++) {
        if (b->is_used[d])
            continue;
        b->is_used[d] = true;
        for (int32_t k = 1; k <= min_i32(n_left, b->problem->devices[d].n_layers_max); k++) {
            b->parts[n] = (struct layers_part){ d, k };
            try_all(b, n + 1, n_left - k);
        }
        b->is_used[d] = false;
    }
}

/* Checks the scores of each aim over every possible plan. */
static void check_aims(const struct layers_problem *problem, const struct layers_weights *weights)
{
    struct brute b = { .problem = problem };
    struct layers_plan plan;
    struct fault fault;
    int64_t least = INT64_MAX;
    int fewest = 0;
    double best = 1e300;
    for (int n = 0; n <= 8; n++)
        b.least[n] = INT64_MAX;
    try_all(&b, 0, problem->n_layers);
    for (int n = 8; n > 0; n--) {
        least = min_i64(least, b.least[n]);
        fewest = b.least[n] < INT64_MAX ? n : fewest;
    }
    for (int n = 1; n <= 8; n++) {
        double score = weights->latency * (double)b.least[n] / (double)least +
                       weights->devices * (double)n / (double)fewest;
        best = b.least[n] < INT64_MAX && score < best ? score : best;
    }
    assert_int_equal(layers_solve(problem, LAYERS_LR, NULL, &plan, &fault), STATUS_OK);
    assert_int_equal(plan.step_ps, least);
    assert_int_equal(layers_solve(problem, LAYERS_HE, NULL, &plan, &fault), STATUS_OK);
    assert_int_equal(plan.n_parts, fewest);
    assert_int_equal(plan.step_ps, b.least[fewest]);
    assert_int_equal(layers_solve(problem, LAYERS_HELR, weights, &plan, &fault), STATUS_OK);
    double score = weights->latency * (double)plan.step_ps / (double)least +
                   weights->devices * (double)plan.n_parts / (double)fewest;
    assert_true(score <= best * (1 + 1e-12));
}

static void test_equal_brute_force(void **state)
{
    (void)state;
    struct rng rng;
    int n_done = 0;
    rng_init(&rng, test_seed(9), 0);
    while (n_done < 500) {
        struct layers_device devices[4];
        int64_t link[16];
        int32_t room = 0;
        const struct layers_problem problem = { 1 + (int32_t)rng_below(&rng, 4),
                                                1 + (int32_t)rng_below(&rng, 9), devices, link,
                                                rng_below(&rng, 2) == 1 };
        for (int d = 0; d < problem.n_devices; d++) {
            devices[d] =
                (struct layers_device){ 5 + rng_below(&rng, 20), (int32_t)rng_below(&rng, 7) };
            room += devices[d].n_layers_max;
        }
        for (int i = 0; i < 16; i++)
            link[i] = rng_below(&rng, 40);
        if (room < problem.n_layers)
            continue;
        const struct layers_weights weights = { 1 + rng_below(&rng, 10), 1 };
        check_aims(&problem, &weights);
        n_done++;
    }
}

static void test_bad_weights_are_refused(void **state)
{
    (void)state;
    static const int64_t link[9] = { 0 };
    const struct layers_problem problem = { 3, 10, three, link, false };
    const struct layers_weights bad[] = { { -1, 1 }, { 1, 0.0 / 0.0 }, { 1e300, 1 } };
    struct layers_plan plan;
    struct fault fault;
    for (size_t i = 0; i < COUNT_OF(bad); i++)
        assert_int_equal(layers_solve(&problem, LAYERS_HELR, &bad[i], &plan, &fault),
                         STATUS_BAD_INPUT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_by_hand),
        cmocka_unit_test(test_slow_links_keep_it_together),
        cmocka_unit_test(test_equal_brute_force),
        cmocka_unit_test(test_bad_weights_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
