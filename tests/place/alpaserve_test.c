/* AlpaServe's search: equal groups, goodput. */
#include "judged.h"

static void groups_are_equal_and_goodput_is_high(void **state)
{
    static struct small small;
    struct judged judged;
    struct place_plan plan, greedy;
    (void)state;
    small_open(&small, 2, 4);
    small_add(&small, 100, 60);
    for (int i = 0; i < 4; i++)
        small_add(&small, 10 + 5 * i, 60 * (i + 1));
    small_measure(&small);
    judged_open(&judged, &small);
    small_plan(&small, &place_alpaserve, &judged.face, &plan);
    small_plan(&small, &place_greedy, NULL, &greedy);
    for (int32_t g = 1; g < plan.n_groups; g++)
        assert_int_equal(plan.groups[g].n_devices, plan.groups[0].n_devices);
    assert_int_equal(plan.n_refused, 0);
    assert_true(judged_score(&judged, &plan).attainment >=
                judged_score(&judged, &greedy).attainment);
    judged_close(&judged);
    small_close(&small);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(groups_are_equal_and_goodput_is_high),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
