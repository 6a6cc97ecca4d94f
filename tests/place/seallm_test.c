/* SeaLLM's search: merged groups for large models, at most two services a group, the best plan on
 * the way. */
#include "judged.h"

static void large_models_have_their_groups(void **state)
{
    static struct small small;
    struct judged judged;
    struct place_plan plan;
    (void)state;
    small_open(&small, 1, 8);
    small_add(&small, 200, 20); /* four devices */
    for (int i = 0; i < 6; i++)
        small_add(&small, 10 + i, 100 * (i + 1));
    small_measure(&small);
    judged_open(&judged, &small);
    small_plan(&small, &place_seallm, &judged.face, &plan);
    assert_int_equal(plan.n_refused, 0); /* although busier ones come first */
    for (int32_t g = 0; g < plan.n_groups; g++)
        assert_true(plan.groups[g].n_members <= 2);
    judged_close(&judged);
    small_close(&small);
}

static void busy_services_get_more_copies(void **state)
{
    static struct small small;
    struct judged judged;
    struct place_plan plan;
    (void)state;
    small_open(&small, 1, 4);
    small_add(&small, 13, 1200);
    small_add(&small, 13, 20);
    small_measure(&small);
    judged_open(&judged, &small);
    small_plan(&small, &place_seallm, &judged.face, &plan);
    assert_true(place_plan_copies(&plan, 0) >= place_plan_copies(&plan, 1));
    struct place_score score = judged_score(&judged, &plan);
    struct place_plan even;
    small_plan(&small, &place_even, NULL, &even);
    struct place_score theirs = judged_score(&judged, &even);
    assert_true(place_judge_compare(&score, &theirs) >= 0);
    judged_close(&judged);
    small_close(&small);
}

/* The reported second best is a legal plan, and no better. */
static void the_second_best_is_left_where_asked(void **state)
{
    static struct small small;
    struct judged judged;
    struct place_plan plan, second;
    struct fault fault;
    (void)state;
    small_open(&small, 1, 4);
    small_add(&small, 13, 600);
    small_add(&small, 26, 200);
    small_measure(&small);
    judged_open(&judged, &small);
    place_plan_init(&plan, &small.problem, &small.pile);
    place_plan_init(&second, &small.problem, &small.pile);
    const struct place_desk desk = { &small.problem, &judged.face, &small.pile, 1, 1,
                                     &second,        NULL,         NULL };
    place_seallm.plan(&desk, &plan);
    assert_true(second.n_groups > 0);
    assert_int_equal(place_check(&small.problem, &second, 2, &fault), STATUS_OK);
    struct place_score a = judged_score(&judged, &plan), b = judged_score(&judged, &second);
    assert_true(place_judge_compare(&a, &b) >= 0);
    judged_close(&judged);
    small_close(&small);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(large_models_have_their_groups),
        cmocka_unit_test(busy_services_get_more_copies),
        cmocka_unit_test(the_second_best_is_left_where_asked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
