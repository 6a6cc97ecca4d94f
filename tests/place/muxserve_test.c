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

/* The least headroom of a plan's units: how many times the rates the plan serves. */
static double headroom_of(const struct small *small, const struct place_plan *plan)
{
    double least = 1e12;
    for (int32_t g = 0; g < plan->n_groups; g++) {
        double headroom;
        (void)place_muxserve_throughput(&small->problem, &plan->groups[g], &headroom);
        if (plan->groups[g].n_members > 0 && headroom < least)
            least = headroom;
    }
    return least;
}

/* Rates that a node serves are served better by more nodes: a plan does not stop at its rates. */
static void more_devices_give_more_headroom(void **state)
{
    double before = 1;
    (void)state;
    for (int32_t n_nodes = 1; n_nodes <= 4; n_nodes *= 2) {
        static struct small small;
        struct place_plan plan;
        small_open(&small, n_nodes, 8);
        for (int i = 0; i < 6; i++)
            small_add(&small, 10 + 5 * i, 40 + 60 * i);
        small_measure(&small);
        small_plan(&small, &place_muxserve, NULL, &plan);
        assert_int_equal(plan.n_refused, 0);
        double headroom = headroom_of(&small, &plan);
        assert_true(headroom > 1.1 * before);
        before = headroom;
        small_close(&small);
    }
}

/* One service on half of a device, by hand. u: device time of a second's prompts, one by one; its
 * decodes have the same lane beside a prompt, so x W l_o = b A. Two services whose decodes read
 * more than the memory gives: A falls by the contention. */
static void capacity_by_hand(void **state)
{
    static struct small small;
    struct perf half;
    double headroom, alone[2];
    (void)state;
    small_open(&small, 1, 1);
    small_add(&small, 10, 60);
    small_add(&small, 10, 60);
    small_measure(&small);
    small.kinds[0].memory_bytes = 14 * SMALL_GIB;
    struct place_group group = { .n_devices = 1 };
    place_group_add(&group, 0);
    group.members[0].share_percent = 60;
    const struct place_service *s = &small.services[0];
    perf_at_share(&small.perfs[0][0][0], perf_share_of(s->size.weights_bytes, 1), 0.6, &half);
    double kv = (double)place_group_kv_bytes(&small.problem, &group);
    double b = kv / ((s->n_prompt + s->n_output) * (double)s->size.kv_bytes_per_token);
    b = b > 256 ? 256 : (double)(int)b;
    double context = s->n_prompt + s->n_output / 2;
    double step_s = 1e-12 * ((double)half.c3_ps[0] + b * (double)half.c2_ps[0] +
                             b * context * (double)half.k2_ps[0]);
    assert_true(b < 64);
    double prompt_s = 1e-12 * ((double)half.c1_ps + (double)half.k1_ps * (int)s->n_prompt);
    double expected = b / step_s / (s->rate_per_s * s->n_output);
    double served = place_muxserve_throughput(&small.problem, &group, &headroom);
    assert_true(expected * s->rate_per_s * prompt_s < 1);
    assert_true(headroom > 0.999 * expected && headroom < 1.001 * expected);
    assert_true(served == s->rate_per_s);
    small.kinds[0].memory_bytes = 24 * SMALL_GIB;
    place_group_add(&group, 1);
    group.members[1].share_percent = 60;
    for (int i = 0; i < 2; i++) {
        (void)place_muxserve_throughput(&small.problem, &group, &alone[i]);
        small.kinds[0].bytes_per_s /= 16;
    }
    assert_true(alone[1] < 0.9 * alone[0]);
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
        cmocka_unit_test(more_devices_give_more_headroom),
        cmocka_unit_test(capacity_by_hand),
        cmocka_unit_test(more_nodes_than_can_be_enumerated),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
