/* Dedicated devices, by hand. */
#include "small.h"

static void devices_are_split_evenly(void **state)
{
    struct small small;
    struct place_plan plan;
    char text[512];
    (void)state;
    small_open(&small, 1, 8);
    small_add(&small, 100, 10); /* two devices */
    small_add(&small, 10, 20);
    small_add(&small, 10, 30);
    small_measure(&small);
    small_plan(&small, place_planner_find("even"), NULL, &plan);
    /* 8 / 3: two each, then one more group for the service with the highest rate. */
    assert_string_equal(small_text(&plan, text), "0-1:2 2-3:1 4-5:0 6-7:2");
    small_close(&small);
}

static void who_needs_more_gets_more(void **state)
{
    struct small small;
    struct place_plan plan;
    char text[512];
    (void)state;
    small_open(&small, 1, 4);
    small_add(&small, 100, 10);
    small_add(&small, 10, 20);
    small_add(&small, 10, 30);
    small_add(&small, 600, 30); /* nowhere */
    small_measure(&small);
    small_plan(&small, place_planner_find("even"), NULL, &plan);
    assert_string_equal(small_text(&plan, text), "0-1:0 2:2 3:1");
    assert_int_equal(plan.n_refused, 1);
    small_close(&small);
}

static void too_few_devices_name_who_is_left(void **state)
{
    struct small small;
    struct place_plan plan;
    (void)state;
    small_open(&small, 1, 2);
    for (int i = 0; i < 5; i++)
        small_add(&small, 10, 10 + i);
    small_measure(&small);
    small_plan(&small, place_planner_find("even"), NULL, &plan);
    assert_int_equal(plan.n_refused, 3);
    assert_int_equal(plan.refused[0].service, 0);
    small_close(&small);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(devices_are_split_evenly),
        cmocka_unit_test(who_needs_more_gets_more),
        cmocka_unit_test(too_few_devices_name_who_is_left),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
