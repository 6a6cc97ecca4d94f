/* Every promise of a plan, broken once. */
#include "small.h"

static struct small small;
static struct place_plan plan;

static int open_legal(void **state)
{
    (void)state;
    small_open(&small, 2, 4);
    small_add(&small, 13, 10);
    small_add(&small, 26, 10);
    small_add(&small, 900, 10);
    small_measure(&small);
    place_plan_init(&plan, &small.problem, &small.pile);
    place_group_add(place_plan_add_group(&plan, &small.problem, 0, 2), 0);
    place_group_add(&plan.groups[0], 1);
    place_group_add(place_plan_add_group(&plan, &small.problem, 4, 1), 1);
    place_plan_finish(&plan, &small.problem);
    return 0;
}

static int close_legal(void **state)
{
    (void)state;
    small_close(&small);
    return 0;
}

static void says(const char *words)
{
    struct fault fault = { "" };
    assert_int_not_equal(place_check(&small.problem, &plan, 2, &fault), STATUS_OK);
    if (strstr(fault.text, words) == NULL)
        fail_msg("\"%s\" has no \"%s\"", fault.text, words);
}

static void a_legal_plan_passes(void **state)
{
    struct fault fault;
    (void)state;
    assert_int_equal(place_check(&small.problem, &plan, 2, &fault), STATUS_OK);
    assert_int_equal(place_check(&small.problem, &plan, 0, &fault), STATUS_OK);
}

static void groups_lie_in_one_node_and_apart(void **state)
{
    (void)state;
    plan.groups[1].first_device = 1;
    plan.groups[1].node = 0;
    says("two groups");
    plan.groups[1].first_device = 4;
    says("aligned");
    plan.groups[1].node = 1;
    plan.groups[0].first_device = 1;
    says("aligned");
    plan.groups[0].first_device = 0;
    plan.groups[0].n_devices = 3;
    says("no group");
}

static void groups_are_divided_where_engines_are(void **state)
{
    struct fault fault;
    (void)state;
    plan.groups[1].division = PLACE_DIVISION_THIRDS;
    says("is divided in a way (2) that engines here have not");
    small.problem.limits.may_divide = true;
    assert_int_equal(place_check(&small.problem, &plan, 2, &fault), STATUS_OK);
    plan.groups[1].division = PLACE_DIVISIONS;
    says("is divided in a way (3) that there is not");
    plan.groups[1].division = -1;
    says("that there is not");
}

static void members_fit(void **state)
{
    (void)state;
    small.services[1].size.weights_bytes = 120 * SMALL_GIB;
    says("no room");
    small.services[1].size.weights_bytes = 26 * SMALL_GIB;
    plan.groups[0].members[1].service = 0;
    says("member 1 is wrong");
    plan.groups[0].members[1].service = 7;
    says("member 1 is wrong");
    plan.groups[0].members[1] = (struct place_member){ 1, 101, 0 };
    says("member 1 is wrong");
    plan.groups[0].members[1] = (struct place_member){ 1, 100, 200 * SMALL_GIB };
    says("promises 200.0 GiB");
    plan.groups[0].n_members = 0;
    says("0 services");
}

static void everybody_is_placed_or_refused(void **state)
{
    (void)state;
    plan.refused[0].service = 1;
    says("placed and refused");
    plan.refused[0].service = 2;
    plan.refused[0].why[0] = '\0';
    says("without a reason");
    plan.n_refused = 0;
    says("neither");
}

/* Ten requests of each of three services, and no group has the last; 9 in 10 are required. */
static void score_says(const struct place_score *score, const char *words)
{
    struct fault fault = { "" };
    enum status status = place_check_score(&small.problem, &plan, 30, score, &fault);
    assert_true((status == STATUS_OK) == (words[0] == '\0'));
    if (strstr(fault.text, words) == NULL)
        fail_msg("\"%s\" has no \"%s\"", fault.text, words);
}

static void scores_add_up(void **state)
{
    struct place_service_score services[3] = { { 10, 10, 9, 1, 1 }, { 10, 10, 8, 1, 1 }, { 10 } };
    const struct place_score right = {
        .n_placed = 2, .n_met = 1, .reached = 0.63, .attainment = 17.0 / 30, .services = services
    };
    struct place_score score = right;
    (void)state;
    score_says(&score, "");
    score.n_met = 2;
    score_says(&score, "2 services are placed and 1 reach 90%, the score has 2 and 2");
    score = right;
    score.n_placed = 3;
    score_says(&score, "the score has 3 and 1");
    score = right;
    score.reached = 1;
    score_says(&score, "1 of 3 services reach 90%, the score has 1.0000");
    score = right;
    score.attainment = 0.6;
    score_says(&score, "17 of 30 requests in time, not 60.0000%");
    services[2].n_met = 1;
    score_says(&score, "service2, not placed: 1 of 10 requests in time");
    services[2].n_met = 0;
    services[1].n_met = 11;
    score_says(&score, "service1, placed: 11 of 10");
    services[1] = (struct place_service_score){ .n = 9, .n_met = 8 };
    score_says(&right, "29 of 30 requests");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_legal_plan_passes, open_legal, close_legal),
        cmocka_unit_test_setup_teardown(groups_lie_in_one_node_and_apart, open_legal, close_legal),
        cmocka_unit_test_setup_teardown(groups_are_divided_where_engines_are, open_legal,
                                        close_legal),
        cmocka_unit_test_setup_teardown(members_fit, open_legal, close_legal),
        cmocka_unit_test_setup_teardown(everybody_is_placed_or_refused, open_legal, close_legal),
        cmocka_unit_test_setup_teardown(scores_add_up, open_legal, close_legal),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
