/* By rate, to where most memory is free. */
#include "small.h"

static void each_goes_where_most_is_free(void **state)
{
    struct small small;
    struct place_plan plan;
    char text[512];
    (void)state;
    small_open(&small, 1, 4);
    small_add(&small, 100, 40); /* groups of two */
    small_add(&small, 20, 30);
    small_add(&small, 30, 20);
    small_add(&small, 10, 10);
    small_measure(&small);
    small_plan(&small, place_planner_find("greedy"), NULL, &plan);
    assert_string_equal(small_text(&plan, text), "0-1:0 2-3:1,2,3");
    small_close(&small);
}

static void what_fits_nowhere_is_refused(void **state)
{
    struct small small;
    struct place_plan plan;
    (void)state;
    small_open(&small, 1, 1);
    small_add(&small, 50, 10);
    small_add(&small, 40, 20);
    small_measure(&small);
    small_plan(&small, place_planner_find("greedy"), NULL, &plan);
    assert_int_equal(plan.n_refused, 1);
    assert_int_equal(plan.refused[0].service, 0);
    small_close(&small);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_goes_where_most_is_free),
        cmocka_unit_test(what_fits_nowhere_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
