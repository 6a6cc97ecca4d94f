/* A plan's parts: linked groups, cuts, and hashes that do not depend on where groups lie. */
#include "../place/small.h"
#include "sim/judge_parts.h"

static const struct hash128 window = { 3, 4 };

static int32_t parts_of(struct small *small, const struct place_plan *plan, struct judge_part **out)
{
    return judge_parts_of(&small->problem, plan, window, out);
}

static void groups_that_share_a_service_are_one_part(void **state)
{
    static struct small small;
    struct place_plan plan;
    struct judge_part *parts[8];
    (void)state;
    small_open(&small, 1, 8);
    for (int i = 0; i < 5; i++)
        small_add(&small, 10, 4);
    small_measure(&small);
    place_plan_init(&plan, &small.problem, &small.pile);
    place_plan_cut(&plan, &small.problem, 1);
    place_group_add(&plan.groups[0], 0);
    place_group_add(&plan.groups[1], 1);
    place_group_add(&plan.groups[1], 2);
    place_group_add(&plan.groups[2], 2);
    place_group_add(&plan.groups[2], 3);
    place_group_add(&plan.groups[4], 4);
    assert_int_equal(parts_of(&small, &plan, parts), 3);
    assert_int_equal(parts[1]->n_groups, 2);
    assert_int_equal(parts[1]->n_services, 3);
    assert_int_equal(parts[1]->deals[1].service, 2);
    assert_int_equal(parts[1]->deals[1].n_all, 1); /* not dealt, since all its copies are here */
    for (int i = 0; i < 3; i++)
        judge_parts_close(parts[i]);
    small_close(&small);
}

static void hashes_are_of_what_lies_not_of_where(void **state)
{
    static struct small small;
    struct place_plan plan;
    struct judge_part *parts[4], *moved[4], *other[4];
    (void)state;
    small_open(&small, 1, 8);
    small_add(&small, 10, 4);
    small_add(&small, 10, 4);
    small_measure(&small);
    place_plan_init(&plan, &small.problem, &small.pile);
    place_plan_cut(&plan, &small.problem, 2);
    place_group_add(&plan.groups[0], 0);
    place_group_add(&plan.groups[1], 1);
    place_group_add(&plan.groups[1], 0);
    assert_int_equal(parts_of(&small, &plan, parts), 1);
    place_plan_cut(&plan, &small.problem, 2); /* the same on other devices, in another order */
    plan.n_groups = 4;
    for (int g = 0; g < 4; g++)
        plan.groups[g].n_members = 0;
    place_group_add(&plan.groups[3], 0);
    place_group_add(&plan.groups[2], 0);
    place_group_add(&plan.groups[2], 1);
    assert_int_equal(parts_of(&small, &plan, moved), 1);
    assert_true(parts[0]->hash.low == moved[0]->hash.low);
    assert_true(parts[0]->hash.high == moved[0]->hash.high);
    place_group_remove(&plan.groups[3], 0);
    assert_int_equal(parts_of(&small, &plan, other), 1);
    assert_true(parts[0]->hash.low != other[0]->hash.low);
    judge_parts_close(parts[0]);
    judge_parts_close(moved[0]);
    judge_parts_close(other[0]);
    small_close(&small);
}

/* 80 services form a chain. It is cut into two parts, and the service on both sides is dealt to
 * them. */
static void long_chains_are_cut(void **state)
{
    enum { N = 80 };
    static struct place_service services[N];
    struct place_kind kind = { "device", 80 * SMALL_GIB, 2e12, 0 };
    struct place_node node = { 0, 0, N };
    struct place_problem problem = { .n_kinds = 1,
                                     .n_nodes = 1,
                                     .n_devices = N,
                                     .n_services = N,
                                     .kinds = &kind,
                                     .nodes = &node,
                                     .services = services };
    struct place_plan plan;
    struct judge_part *parts[N];
    struct pile pile;
    (void)state;
    pile_init(&pile);
    place_plan_init(&plan, &problem, &pile);
    for (int32_t d = 0; d + 1 < N; d++) {
        struct place_group *group = place_plan_add_group(&plan, &problem, d, 1);
        place_group_add(group, d);
        place_group_add(group, d + 1);
    }
    assert_int_equal(judge_parts_of(&problem, &plan, window, parts), 2);
    assert_int_equal(parts[0]->n_services, JUDGE_SERVICES_MAX);
    const struct judge_deal *left = &parts[0]->deals[JUDGE_SERVICES_MAX - 1];
    const struct judge_deal *right = &parts[1]->deals[0];
    assert_int_equal(left->service, right->service);
    assert_int_equal(left->n_own, 1);
    assert_int_equal(left->n_all, 2);
    assert_int_equal(left->before, 0);
    assert_int_equal(right->before, 1);
    assert_int_equal(parts[0]->deals[0].n_all, 1);
    judge_parts_close(parts[0]);
    judge_parts_close(parts[1]);
    pile_free(&pile);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(groups_that_share_a_service_are_one_part),
        cmocka_unit_test(hashes_are_of_what_lies_not_of_where),
        cmocka_unit_test(long_chains_are_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
