/* Tests of groups: the services that fit into one, and their bytes. */
#include "small.h"

static void groups_take_what_leaves_the_floor(void **state)
{
    struct small small;
    struct place_plan plan;
    (void)state;
    small_open(&small, 1, 2);
    small_add(&small, 13, 10);
    small_add(&small, 26, 10);
    small_add(&small, 26, 10);
    small_measure(&small);
    place_plan_init(&plan, &small.problem, &small.pile);
    struct place_group *group = place_plan_add_group(&plan, &small.problem, 0, 1);
    assert_true(place_group_takes(&small.problem, group, 0, 3));
    place_group_add(group, 0);
    assert_false(place_group_takes(&small.problem, group, 0, 3)); /* it is there */
    place_group_add(group, 1);
    assert_false(place_group_takes(&small.problem, group, 2, 3)); /* 66.5 of 80: under the floor */
    assert_int_equal(place_group_kv_bytes(&small.problem, group), 40 * SMALL_GIB);
    place_group_remove(group, 0);
    assert_true(place_group_takes(&small.problem, group, 2, 2));
    assert_false(place_group_takes(&small.problem, group, 2, 1)); /* as many as it may have */
    assert_int_equal(place_plan_copies(&plan, 1), 1);
    assert_int_equal(place_plan_devices(&plan), 1);
    assert_true(place_plan_cost(&plan, &small.problem) == 2);
    small_close(&small);
}

static void who_comes_or_goes_voids_the_quotas(void **state)
{
    struct place_group group = { .n_devices = 1 };
    (void)state;
    place_group_add(&group, 0);
    place_group_add(&group, 1);
    group.members[0].kv_bytes = 3;
    group.members[1].kv_bytes = 4;
    place_group_add(&group, 2);
    for (int i = 0; i < 3; i++)
        assert_int_equal(group.members[i].kv_bytes, 0);
    group.members[2].kv_bytes = 5;
    place_group_remove(&group, 1);
    assert_int_equal(group.n_members, 2);
    assert_int_equal(group.members[1].service, 2);
    assert_int_equal(group.members[1].kv_bytes, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(groups_take_what_leaves_the_floor),
        cmocka_unit_test(who_comes_or_goes_voids_the_quotas),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
