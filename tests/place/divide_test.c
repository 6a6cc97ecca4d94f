/* Divisions of groups against every combination there is. */
#include "judged.h"
#include "place/divide.h"
#include "schedule/lanes.h"

enum { GROUPS = 3 };
static struct small small;
static struct judged judged;
static struct place_samples samples;
static struct place_judge of_samples;
static struct place_desk desk;
static struct place_plan plan;
static struct place_service_score services[SMALL_SERVICES];
static struct schedule_lane lanes[3];

/* Three groups on four devices under `value` with halves: five small services, three, and one. */
static int open_divided(void **state)
{
    static const int32_t halves[] = { 1, 1 };
    (void)state;
    small_open(&small, 1, 4);
    for (int32_t s = 0; s < 9; s++)
        small_add(&small, s < 5 ? 7 : 13, s == 8 ? 150 : 60);
    small.problem.limits.may_divide = true;
    small_measure(&small);
    judged_open(&judged, &small);
    judged.sim.policy = schedule_find("value");
    judged.sim.n_lanes = schedule_lanes_of_parts(halves, 2, lanes);
    judged.sim.lanes = lanes;
    desk = (struct place_desk){
        .problem = &small.problem, .judge = &judged.face, .pile = &small.pile, .effort = 1
    };
    place_samples_open(&samples, &desk);
    of_samples = place_samples_face(&samples);
    place_plan_init(&plan, &small.problem, &small.pile);
    (void)place_plan_add_group(&plan, &small.problem, 0, 2);
    (void)place_plan_add_group(&plan, &small.problem, 2, 1);
    (void)place_plan_add_group(&plan, &small.problem, 3, 1);
    for (int32_t s = 0; s < 9; s++)
        place_group_add(&plan.groups[s < 5 ? 0 : s < 8 ? 1 : 2], s);
    return 0;
}

static int close_divided(void **state)
{
    (void)state;
    judged_close(&judged);
    small_close(&small);
    return 0;
}

static double cost_of(const struct place_plan *of, struct place_score *score)
{
    double cost;
    place_samples_race(&samples, &of, 1, 1, score, &cost);
    return cost;
}

static double divide(int64_t work_max)
{
    const struct place_improve how = {
        .desk = &desk, .n_members_max = 5, .work_max = work_max, .samples = &samples
    };
    struct place_score score = { .services = services };
    double cost = cost_of(&plan, &score);
    place_divide(&how, &plan, &score, &cost);
    struct place_service_score own[SMALL_SERVICES];
    struct place_score again = { .services = own };
    double known = cost_of(&plan, &again);
    assert_true(cost <= known && known <= cost); /* the reported cost is right */
    return cost;
}

static void the_best_of_all_divisions_is_found(void **state)
{
    struct place_score score = { .services = services };
    double best = 1e9, usual = cost_of(&plan, &score);
    int32_t divisions[GROUPS] = { 0 };
    (void)state;
    for (int32_t way = 0; way < PLACE_DIVISIONS * PLACE_DIVISIONS * PLACE_DIVISIONS; way++) {
        plan.groups[0].division = way % PLACE_DIVISIONS;
        plan.groups[1].division = way / PLACE_DIVISIONS % PLACE_DIVISIONS;
        plan.groups[2].division = way / PLACE_DIVISIONS / PLACE_DIVISIONS;
        double cost = cost_of(&plan, &score);
        if (cost >= best)
            continue;
        best = cost;
        for (int32_t g = 0; g < GROUPS; g++)
            divisions[g] = plan.groups[g].division;
    }
    for (int32_t g = 0; g < GROUPS; g++)
        plan.groups[g].division = PLACE_DIVISION_USUAL;
    print_message("usual %.4f, best %.4f: %d %d %d\n", usual, best, divisions[0], divisions[1],
                  divisions[2]);
    assert_true(divide(INT64_C(1) << 40) < best + 0.001);
    assert_int_equal(divisions[0], PLACE_DIVISION_THIRDS);
    assert_int_equal(plan.groups[0].division, PLACE_DIVISION_THIRDS);
    assert_true(best < usual - 0.01);
}

static void nothing_is_divided_where_plans_may_not_or_no_work_is_left(void **state)
{
    (void)state;
    (void)divide(0);
    small.problem.limits.may_divide = false;
    (void)divide(INT64_C(1) << 40);
    for (int32_t g = 0; g < GROUPS; g++)
        assert_int_equal(plan.groups[g].division, PLACE_DIVISION_USUAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_best_of_all_divisions_is_found, open_divided,
                                        close_divided),
        cmocka_unit_test_setup_teardown(nothing_is_divided_where_plans_may_not_or_no_work_is_left,
                                        open_divided, close_divided),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
