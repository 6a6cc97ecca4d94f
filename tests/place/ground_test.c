/* Large groups for services that need them, as few as possible, and equal ones of the rest. */
#include "small.h"

#include "place/ground.h"

static void models_that_need_more_get_merged_groups(void **state)
{
    struct small small;
    struct place_plan plan;
    int32_t n_of[9] = { 0 };
    (void)state;
    small_open(&small, 2, 8);
    small_add(&small, 200, 10); /* four devices */
    small_add(&small, 20, 10);
    small_add(&small, 30, 10);  /* beside the first, or on a device */
    small_add(&small, 100, 10); /* two devices, or beside the first */
    small_measure(&small);
    place_plan_init(&plan, &small.problem, &small.pile);
    assert_true(place_ground_cut(&plan, &small.problem, 1, 1, &small.pile));
    for (int32_t g = 0; g < plan.n_groups; g++)
        n_of[plan.groups[g].n_devices]++;
    assert_int_equal(n_of[4], 1);
    assert_int_equal(n_of[2], 1);
    assert_int_equal(n_of[1], 10);
    assert_int_equal(place_ground_degree_max(&small.problem), 8);
    small_close(&small);
}

static void who_has_no_room_is_told(void **state)
{
    struct small small;
    struct place_plan plan;
    (void)state;
    small_open(&small, 1, 4);
    small_add(&small, 200, 10);
    small_add(&small, 200, 10);
    small_measure(&small);
    place_plan_init(&plan, &small.problem, &small.pile);
    assert_false(place_ground_cut(&plan, &small.problem, 2, 2, &small.pile));
    plan.n_groups = 0;
    assert_false(place_ground_cut(&plan, &small.problem, 4, 1, &small.pile) &&
                 plan.n_groups != 1); /* groups of four hold both, so nothing is merged */
    small_close(&small);
}

static void partitions_are_all_there_are(void **state)
{
    struct place_partition all[PLACE_PARTITIONS_MAX];
    (void)state;
    assert_int_equal(place_ground_partitions(4, all), 4); /* 4; 2 2; 2 1 1; 1 1 1 1 */
    assert_int_equal(place_ground_partitions(8, all), 10);
    assert_int_equal(all[0].counts[3], 1); /* the largest first */
    assert_int_equal(all[9].counts[0], 8);
    assert_int_equal(place_ground_partitions(64, all), PLACE_PARTITIONS_MAX);
    for (int i = 0; i < PLACE_PARTITIONS_MAX; i++) {
        int32_t n = 0;
        for (int32_t d = 0; d < PLACE_DEGREES; d++)
            n += all[i].counts[d] << d;
        assert_int_equal(n, 64);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(models_that_need_more_get_merged_groups),
        cmocka_unit_test(who_has_no_room_is_told),
        cmocka_unit_test(partitions_are_all_there_are),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
