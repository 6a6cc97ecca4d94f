/* MuxServe's placement: one copy each, shares within a mesh's points, meshes as large as services
 * need. */
#include "small.h"

static void busy_services_are_parted_idle_ones_share(void **state)
{
    struct small small;
    struct place_plan plan;
    (void)state;
    small_open(&small, 1, 2);
    small_add(&small, 13, 1500);
    small_add(&small, 13, 1500);
    small_measure(&small);
    small_plan(&small, &place_muxserve, NULL, &plan);
    assert_int_equal(plan.n_groups, 2); /* 1,500 in 60 s each, so each gets a device */
    assert_int_equal(plan.groups[0].n_members, 1);
    small_close(&small);
}

static void shares_stay_within_the_points(void **state)
{
    struct small small;
    struct place_plan plan;
    (void)state;
    small_open(&small, 2, 4);
    for (int i = 0; i < 9; i++)
        small_add(&small, 5 + 3 * i, 20 + 60 * i);
    small_add(&small, 150, 20);
    small_measure(&small);
    small_plan(&small, &place_muxserve, NULL, &plan);
    assert_int_equal(plan.n_refused, 0);
    for (int32_t s = 0; s < 10; s++)
        assert_int_equal(place_plan_copies(&plan, s), 1);
    for (int32_t g = 0; g < plan.n_groups; g++) {
        int32_t points = 0;
        int64_t quotas = 0;
        for (int32_t m = 0; m < plan.groups[g].n_members; m++) {
            int32_t share = plan.groups[g].members[m].share_percent;
            assert_true(share >= 30 && share <= 90 && share % 10 == 0);
            points += share;
            quotas += plan.groups[g].members[m].kv_bytes;
        }
        int64_t pool = place_group_kv_bytes(&small.problem, &plan.groups[g]);
        assert_in_range(quotas, plan.groups[g].n_members > 1 ? pool / 10 * 9 : 0, pool);
        assert_true(points <= 120);
    }
    small_close(&small);
}

static void more_nodes_than_can_be_enumerated(void **state)
{
    static struct small small;
    struct place_plan plan;
    (void)state;
    small_open(&small, 8, 8);
    for (int i = 0; i < 6; i++)
        small_add(&small, 20 + 20 * i, 200);
    small_measure(&small);
    small_plan(&small, &place_muxserve, NULL, &plan);
    assert_int_equal(plan.n_refused, 0);
    small_close(&small);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(busy_services_are_parted_idle_ones_share),
        cmocka_unit_test(shares_stay_within_the_points),
        cmocka_unit_test(more_nodes_than_can_be_enumerated),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
