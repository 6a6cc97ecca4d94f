/* SeaLLM's search by arithmetic. */
#include "place/spread.h"
#include "small.h"
#include <math.h>

static void everybody_has_a_group(void **state)
{
    static struct small small;
    struct place_board board, fresh;
    struct place_plan plan, cheapest;
    double cost;
    struct fault fault;
    (void)state;
    small_open(&small, 1, 4);
    for (int i = 0; i < 4; i++)
        small_add(&small, 20, 100);
    small_measure(&small);
    place_board_init(&board, &small.problem, 2, &small.pile);
    place_plan_init(&plan, &small.problem, &small.pile);
    place_plan_init(&cheapest, &small.problem, &small.pile);
    place_spread(&board, &plan, &cheapest, &cost, 1, &small.pile);
    assert_int_equal(plan.n_groups, 4);
    for (int32_t s = 0; s < 4; s++)
        assert_true(place_plan_copies(&plan, s) >= 1);
    for (int32_t g = 0; g < 4; g++)
        assert_true(plan.groups[g].n_members >= 1); /* every group has one before any has two */
    place_board_init(&fresh, &small.problem, 2, &small.pile);
    place_board_show(&fresh, &plan);
    assert_true(fabs(board.cost - fresh.cost) < 1e-9);
    place_board_show(&fresh, &cheapest);
    assert_true(fabs(cost - fresh.cost) < 1e-9 && cost <= board.cost);
    place_plan_finish(&plan, &small.problem);
    assert_int_equal(place_check(&small.problem, &plan, 2, &fault), STATUS_OK);
    small_close(&small);
}

/* A model that needs two devices has them at degree one. The service with the highest rate has the
 * most copies. */
static void larger_models_and_busier_ones(void **state)
{
    static struct small small;
    struct place_board board;
    struct place_plan plan, cheapest;
    double cost;
    bool is_on_two = false;
    (void)state;
    small_open(&small, 1, 8);
    small_add(&small, 100, 10);
    small_add(&small, 20, 2000);
    small_add(&small, 20, 10);
    small_measure(&small);
    place_board_init(&board, &small.problem, 2, &small.pile);
    place_plan_init(&plan, &small.problem, &small.pile);
    place_plan_init(&cheapest, &small.problem, &small.pile);
    place_spread(&board, &plan, &cheapest, &cost, 1, &small.pile);
    for (int32_t g = 0; g < plan.n_groups; g++)
        is_on_two |= plan.groups[g].n_devices == 2 && place_group_has(&plan.groups[g], 0);
    assert_true(is_on_two);
    assert_true(place_plan_copies(&plan, 1) > place_plan_copies(&plan, 2));
    small_close(&small);
}

/* With one service a group, each has devices in proportion to its rate. */
static void alone_they_share_devices_by_work(void **state)
{
    static struct small small;
    struct place_board board;
    struct place_plan plan, cheapest;
    double cost;
    (void)state;
    small_open(&small, 1, 8);
    small_add(&small, 20, 300);
    small_add(&small, 20, 100);
    small_measure(&small);
    place_board_init(&board, &small.problem, 1, &small.pile);
    place_plan_init(&plan, &small.problem, &small.pile);
    place_plan_init(&cheapest, &small.problem, &small.pile);
    place_spread(&board, &plan, &cheapest, &cost, 1, &small.pile);
    assert_int_equal(place_plan_copies(&plan, 0), 6);
    assert_int_equal(place_plan_copies(&plan, 1), 2);
    small_close(&small);
}

/* A service that fits nowhere is left out, and the others are not. */
static void who_fits_nowhere_is_left_out(void **state)
{
    static struct small small;
    struct place_board board;
    struct place_plan plan, cheapest;
    double cost;
    (void)state;
    small_open(&small, 1, 2);
    small_add(&small, 400, 10);
    small_add(&small, 20, 100);
    small_measure(&small);
    place_board_init(&board, &small.problem, 2, &small.pile);
    place_plan_init(&plan, &small.problem, &small.pile);
    place_plan_init(&cheapest, &small.problem, &small.pile);
    place_spread(&board, &plan, &cheapest, &cost, 1, &small.pile);
    assert_int_equal(place_plan_copies(&plan, 0), 0);
    assert_true(place_plan_copies(&plan, 1) >= 1);
    small_close(&small);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everybody_has_a_group),
        cmocka_unit_test(larger_models_and_busier_ones),
        cmocka_unit_test(alone_they_share_devices_by_work),
        cmocka_unit_test(who_fits_nowhere_is_left_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
