/* Configurations of services alone: small at a low rate, more copies at a high one. */
#include "judged.h"

static void configurations_follow_the_load(void **state)
{
    static struct small small;
    struct judged judged;
    struct place_plan plan;
    (void)state;
    small_open(&small, 2, 8);
    small_add(&small, 13, 20);
    small_add(&small, 13, 3000);
    small_add(&small, 100, 20);
    small_measure(&small);
    judged_open(&judged, &small);
    small_plan(&small, &place_morphling, &judged.face, &plan);
    assert_int_equal(plan.n_refused, 0);
    int32_t n_devices[3] = { 0 };
    for (int32_t g = 0; g < plan.n_groups; g++) {
        assert_int_equal(plan.groups[g].n_members, 1);
        n_devices[plan.groups[g].members[0].service] += plan.groups[g].n_devices;
    }
    assert_int_equal(n_devices[0], 1);
    assert_true(n_devices[1] > 1);
    assert_int_equal(n_devices[2], 2);
    /* Each service alone is in time, as the stress test found. */
    assert_int_equal(judged_score(&judged, &plan).n_met, 3);
    judged_close(&judged);
    small_close(&small);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(configurations_follow_the_load),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
