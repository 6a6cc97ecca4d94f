/* The table of layer planners, the two baselines, and the refused problems. */
#include "test.h"

#include "place/layers.h"

static const struct layers_device four[] = { { 10, 8 }, { 12, 20 }, { 15, 14 }, { 30, 0 } };
static const int64_t links[16] = { 0, 1, 2, 3, 1, 0, 4, 5, 2, 4, 0, 6, 3, 5, 6, 0 };

static struct layers_problem of(int32_t n_layers, bool returns)
{
    return (struct layers_problem){ 4, n_layers, four, links, returns };
}

static void test_bgs_fills_the_roomiest_first(void **state)
{
    (void)state;
    const struct layers_problem problem = of(33, false);
    struct layers_plan plan;
    struct fault fault;
    assert_int_equal(layers_solve(&problem, LAYERS_BGS, NULL, &plan, &fault), STATUS_OK);
    assert_int_equal(plan.n_parts, 2);
    assert_int_equal(plan.parts[0].device, 1);
    assert_int_equal(plan.parts[0].n_layers, 20);
    assert_int_equal(plan.parts[1].device, 2);
    assert_int_equal(plan.parts[1].n_layers, 13);
    assert_int_equal(plan.step_ps, 20 * 12 + 13 * 15 + 4);
}

static void test_even_gives_each_the_same(void **state)
{
    (void)state;
    const struct layers_problem problem = of(33, true);
    struct layers_plan plan;
    struct fault fault;
    assert_int_equal(layers_solve(&problem, LAYERS_EVEN, NULL, &plan, &fault), STATUS_OK);
    assert_int_equal(plan.n_parts, 3); /* 11 each; the first has room for 8, 3 go to the next */
    assert_int_equal(plan.parts[0].n_layers, 8);
    assert_int_equal(plan.parts[1].n_layers, 14);
    assert_int_equal(plan.parts[2].n_layers, 11);
    assert_int_equal(plan.step_ps, 8 * 10 + 14 * 12 + 11 * 15 + 1 + 4 + 2);
}

static void test_no_planner_beats_lr(void **state)
{
    (void)state;
    int n;
    const struct layers_planner *planners = layers_planners(&n);
    struct layers_plan plan, least;
    struct fault fault;
    for (int32_t n_layers = 1; n_layers <= 42; n_layers++) {
        const struct layers_problem problem = of(n_layers, n_layers % 2 == 0);
        assert_int_equal(layers_solve(&problem, LAYERS_LR, NULL, &least, &fault), STATUS_OK);
        for (int i = 0; i < n; i++) {
            assert_ptr_equal(layers_find(planners[i].name), &planners[i]);
            assert_int_equal(layers_solve(&problem, planners[i].aim, NULL, &plan, &fault),
                             STATUS_OK);
            assert_int_equal(layers_check(&problem, &plan, &fault), STATUS_OK);
            assert_true(plan.step_ps >= least.step_ps);
        }
    }
    assert_null(layers_find("morphling"));
}

static void test_what_does_not_fit_is_named(void **state)
{
    (void)state;
    const struct layers_problem problem = of(43, false);
    struct layers_plan plan;
    struct fault fault;
    for (int aim = LAYERS_HELR; aim <= LAYERS_EVEN; aim++) {
        assert_int_equal(layers_solve(&problem, (enum layers_aim)aim, NULL, &plan, &fault),
                         STATUS_TOO_LARGE);
        assert_string_equal(fault.text, "43 layers do not fit: 4 devices have room for 42");
        assert_int_equal(plan.n_parts, 0);
    }
}

static void test_bad_problems_are_refused(void **state)
{
    (void)state;
    const struct layers_device slow[] = { { -1, 8 } }, never[] = { { INT64_MAX, 8 } };
    const int64_t zero[] = { 0 }, back[] = { -1 };
    const struct layers_problem bad[] = {
        { 0, 5, four, links, false },   { 4, 0, four, links, false },
        { 257, 5, four, links, false }, { 4, LAYERS_N_MAX + 1, four, links, false },
        { 1, 5, slow, zero, false },    { 1, 5, never, zero, false },
        { 1, 5, four, back, false },
    };
    struct layers_plan plan;
    struct fault fault;
    for (size_t i = 0; i < COUNT_OF(bad); i++)
        assert_int_equal(layers_solve(&bad[i], LAYERS_LR, NULL, &plan, &fault), STATUS_BAD_INPUT);
}

static void test_check_sees_what_is_wrong(void **state)
{
    (void)state;
    const struct layers_problem problem = of(10, false);
    struct layers_plan good, bad;
    struct fault fault;
    assert_int_equal(layers_solve(&problem, LAYERS_BGS, NULL, &good, &fault), STATUS_OK);
    assert_int_equal(layers_check(&problem, &good, &fault), STATUS_OK);
    bad = good;
    bad.parts[0].n_layers--;
    assert_int_equal(layers_check(&problem, &bad, &fault), STATUS_BAD_INPUT);
    bad = good;
    bad.step_ps--;
    assert_int_equal(layers_check(&problem, &bad, &fault), STATUS_BAD_INPUT);
    bad.parts[0] = (struct layers_part){ 0, 10 }; /* room for 8 */
    assert_int_equal(layers_check(&problem, &bad, &fault), STATUS_BAD_INPUT);
    bad = good;
    bad.n_parts = 2;
    bad.parts[0] = bad.parts[1] = (struct layers_part){ 1, 5 }; /* the same device twice */
    assert_int_equal(layers_check(&problem, &bad, &fault), STATUS_BAD_INPUT);
}

static void test_memory_holds_layers_with_their_kv(void **state)
{
    (void)state;
    /* (1000 - 100) / (40 + 2 * 10) = 15; without KV 22. */
    const struct layers_memory memory = { 1000, 100, 40, 2, 10 }, no_kv = { 1000, 100, 40, 2, 0 };
    const struct layers_memory none = { 100, 100, 40, 2, 10 };
    assert_int_equal(layers_holding(&memory), 15);
    assert_int_equal(layers_holding(&no_kv), 22);
    assert_int_equal(layers_holding(&none), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bgs_fills_the_roomiest_first),
        cmocka_unit_test(test_even_gives_each_the_same),
        cmocka_unit_test(test_no_planner_beats_lr),
        cmocka_unit_test(test_what_does_not_fit_is_named),
        cmocka_unit_test(test_bad_problems_are_refused),
        cmocka_unit_test(test_check_sees_what_is_wrong),
        cmocka_unit_test(test_memory_holds_layers_with_their_kv),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
