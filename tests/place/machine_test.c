/* One group a machine. */
#include "small.h"

static void machines_are_whole_and_none_is_idle(void **state)
{
    struct small small;
    struct place_plan plan;
    char text[512];
    (void)state;
    small_open(&small, 3, 4);
    small_add(&small, 40, 40);
    small_add(&small, 10, 30);
    small_measure(&small);
    small_plan(&small, place_planner_find("machine"), NULL, &plan);
    assert_string_equal(small_text(&plan, text), "0-3:0 4-7:1 8-11:0");
    small_close(&small);
}

static void what_a_power_of_two_leaves_is_spare(void **state)
{
    struct small small;
    struct place_plan plan;
    char text[512];
    (void)state;
    small_open(&small, 1, 6);
    small_add(&small, 40, 40);
    small_add(&small, 10, 30);
    small_measure(&small);
    small_plan(&small, place_planner_find("machine"), NULL, &plan);
    assert_string_equal(small_text(&plan, text), "0-3:0,1");
    small_close(&small);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(machines_are_whole_and_none_is_idle),
        cmocka_unit_test(what_a_power_of_two_leaves_is_spare),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
