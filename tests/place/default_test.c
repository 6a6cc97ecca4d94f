/* The default planner and SeaLLM's against every possible placement, on small cases. */
#include "judged.h"

static const struct {
    int32_t n_devices, n_services, gib[4], asked[4];
} cases[] = {
    { 2, 2, { 10, 20 }, { 200, 100 } },
    { 3, 3, { 10, 20, 30 }, { 300, 200, 60 } },
    { 4, 3, { 10, 10, 100 }, { 500, 50, 60 } },
    { 4, 3, { 13, 26, 13 }, { 600, 60, 300 } },
    { 4, 4, { 10, 13, 20, 26 }, { 300, 200, 60, 30 } },
    { 4, 4, { 30, 30, 30, 30 }, { 150, 150, 150, 150 } },
    { 4, 4, { 7, 7, 100, 7 }, { 100, 400, 30, 100 } },
};

static void planners_are_near_the_best_of_all_placements(void **state)
{
    int n_best = 0;
    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        static struct small small;
        struct judged judged;
        struct brute brute;
        struct place_plan plan, seallm;
        char text[512];
        small_open(&small, 1, cases[i].n_devices);
        small.problem.limits.n_members_max = 2;
        small.effort = 1;
        for (int32_t s = 0; s < cases[i].n_services; s++)
            small_add(&small, cases[i].gib[s], cases[i].asked[s]);
        small_measure(&small);
        judged_open(&judged, &small);
        brute_solve(&brute, &judged, 2);
        small_plan(&small, &place_default, &judged.face, &plan);
        small_plan(&small, &place_seallm, &judged.face, &seallm);
        struct place_score ours = judged_score(&judged, &plan);
        struct place_score theirs = judged_score(&judged, &seallm);
        print_message("case %zu: %lld placements, best %d/%d %.4f %.3f, default %.4f %.3f (%s), "
                      "seallm %.4f %.3f\n",
                      i, (long long)brute.n_plans, brute.best.n_placed, brute.best.n_met,
                      brute.best.attainment, brute.best.normalized, ours.attainment,
                      ours.normalized, small_text(&plan, text), theirs.attainment,
                      theirs.normalized);
        assert_true(place_judge_compare(&ours, &brute.best) <= 0); /* it is the best of all */
        assert_true(place_judge_compare(&theirs, &brute.best) <= 0);
        assert_int_equal(ours.n_placed, brute.best.n_placed);
        assert_int_equal(ours.n_met, brute.best.n_met);
        assert_true(ours.attainment > brute.best.attainment - 0.01);
        assert_true(ours.normalized < 1.15 * brute.best.normalized);
        n_best += ours.normalized < 1.01 * brute.best.normalized;
        judged_close(&judged);
        small_close(&small);
    }
    assert_true(n_best >= (int)COUNT_OF(cases) / 2);
}

/* Seven services need two devices each, on eight: four can have their own, or all share. */
static void crowded_is_better_than_nowhere(void **state)
{
    static struct small small;
    struct judged judged;
    struct place_plan plan;
    (void)state;
    small_open(&small, 1, 8);
    for (int i = 0; i < 7; i++)
        small_add(&small, 70, 5);
    small.problem.limits.n_members_max = 1;
    small_measure(&small);
    judged_open(&judged, &small);
    small_plan(&small, &place_default, &judged.face, &plan);
    assert_int_equal(plan.n_refused, 0);
    judged_close(&judged);
    small_close(&small);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(planners_are_near_the_best_of_all_placements),
        cmocka_unit_test(crowded_is_better_than_nowhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
