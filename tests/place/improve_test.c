/* The climb from a plainly bad plan: it never gets worse, and stays within its bound. */
#include "judged.h"
#include "place/improve.h"

static void a_bad_plan_gets_better(void **state)
{
    static struct small small;
    struct judged judged;
    struct place_plan plan;
    struct place_service_score services[4];
    struct fault fault;
    (void)state;
    small_open(&small, 1, 4);
    for (int i = 0; i < 4; i++)
        small_add(&small, 10 + i, 300);
    small_measure(&small);
    judged_open(&judged, &small);
    place_plan_init(&plan, &small.problem, &small.pile);
    place_plan_cut(&plan, &small.problem, 1);
    for (int32_t s = 0; s < 4; s++)
        place_group_add(&plan.groups[s / 2], s); /* two devices do nothing */
    struct place_score score = judged_score(&judged, &plan), before = score;
    const struct place_plan *plans[] = { &plan };
    score.services = services;
    judged.face.score(judged.face.self, plans, 1, &small.problem.window, &score);
    const struct place_desk desk = { &small.problem, &judged.face, &small.pile, 1, 1,
                                     NULL,           NULL,         NULL };
    struct place_samples samples = { .desk = &desk, .n = 1 };
    samples.windows[0] = small.problem.window; /* as it was, alone */
    const struct place_improve improve = { &desk, "test", 3, 1000000, &samples };
    int64_t begun = judged.face.work(judged.face.self);
    double cost;
    place_samples_race(&samples, plans, 1, 1, &score, &cost);
    place_improve(&improve, &plan, &score, &cost);
    assert_true(place_judge_compare(&score, &before) > 0);
    assert_true(judged.face.work(judged.face.self) > begun);
    struct place_score after = judged_score(&judged, &plan);
    assert_int_equal(place_judge_compare(&after, &score), 0); /* it reports the right score */
    place_plan_finish(&plan, &small.problem);
    assert_int_equal(place_check(&small.problem, &plan, 3, &fault), STATUS_OK);
    assert_true(place_plan_devices(&plan) > 2);
    judged_close(&judged);
    small_close(&small);
}

static void without_a_budget_it_stays(void **state)
{
    static struct small small;
    struct judged judged;
    struct place_plan plan, before;
    struct place_service_score services[2] = { { 0 } };
    struct place_score score = { .services = services };
    (void)state;
    small_open(&small, 1, 2);
    small_add(&small, 10, 300);
    small_add(&small, 10, 300);
    small_measure(&small);
    judged_open(&judged, &small);
    place_plan_init(&plan, &small.problem, &small.pile);
    place_plan_init(&before, &small.problem, &small.pile);
    place_plan_cut(&plan, &small.problem, 1);
    place_plan_copy(&before, &plan);
    const struct place_desk desk = { &small.problem, &judged.face, &small.pile, 1, 1,
                                     NULL,           NULL,         NULL };
    struct place_samples samples = { .desk = &desk, .n = 1 };
    const struct place_improve improve = { &desk, "test", 3, 0, &samples };
    double cost = 0;
    place_improve(&improve, &plan, &score, &cost);
    assert_true(place_plan_equal(&plan, &before));
    judged_close(&judged);
    small_close(&small);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_bad_plan_gets_better),
        cmocka_unit_test(without_a_budget_it_stays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
