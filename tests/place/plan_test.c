/* How nodes are cut, copies, and the sentence of a service that fits nowhere. */
#include "small.h"

static void nodes_are_cut_into_powers_of_two(void **state)
{
    struct small small;
    struct place_plan plan;
    (void)state;
    small_open(&small, 2, 7);
    small_add(&small, 1, 1);
    small_measure(&small);
    place_plan_init(&plan, &small.problem, &small.pile);
    place_plan_cut(&plan, &small.problem, 4);
    static const int32_t firsts[] = { 0, 4, 6, 7, 11, 13 }, sizes[] = { 4, 2, 1, 4, 2, 1 };
    assert_int_equal(plan.n_groups, 6);
    for (int32_t g = 0; g < 6; g++) {
        assert_int_equal(plan.groups[g].first_device, firsts[g]);
        assert_int_equal(plan.groups[g].n_devices, sizes[g]);
        assert_int_equal(plan.groups[g].node, g / 3);
    }
    small_close(&small);
}

static void who_fits_nowhere_is_told_why(void **state)
{
    struct small small;
    struct place_plan plan;
    struct fault fault;
    (void)state;
    small_open(&small, 1, 2);
    small_add(&small, 60, 10);
    small_add(&small, 60, 10);
    small_add(&small, 600, 10);
    small_measure(&small);
    place_plan_init(&plan, &small.problem, &small.pile);
    (void)place_plan_add_group(&plan, &small.problem, 1, 1);
    place_group_add(place_plan_add_group(&plan, &small.problem, 0, 1), 0);
    place_plan_finish(&plan, &small.problem);
    assert_int_equal(plan.n_groups, 1); /* the empty one is spare */
    assert_int_equal(plan.n_refused, 2);
    assert_non_null(strstr(plan.refused[0].why, "60.5 GiB"));
    assert_string_equal(plan.refused[1].why,
                        "600.0 GiB of weights, 512.0 MiB of activations and at least 32.0 GiB "
                        "of KV are more than the largest group's 160.0 GiB");
    assert_int_equal(place_check(&small.problem, &plan, 1, &fault), STATUS_OK);
    small_close(&small);
}

static void who_finds_no_room_is_told_how_much_there_is(void **state)
{
    struct small small;
    struct place_plan plan;
    (void)state;
    small_open(&small, 1, 2);
    small_add(&small, 60, 10);
    small_add(&small, 50, 10);
    small_add(&small, 60, 10);
    small_measure(&small);
    place_plan_init(&plan, &small.problem, &small.pile);
    for (int32_t d = 0; d < 2; d++)
        place_group_add(place_plan_add_group(&plan, &small.problem, d, 1), d);
    place_plan_finish(&plan, &small.problem);
    assert_int_equal(plan.n_refused, 1);
    assert_string_equal(plan.refused[0].why,
                        "needs 60.5 GiB and KV on 1 device: no group has room, as 20% of its "
                        "memory stay for KV (the emptiest has 29.5 GiB beside its models)");
    small_close(&small);
}

static void copies_are_equal(void **state)
{
    struct small small;
    struct place_plan a, b;
    (void)state;
    small_open(&small, 1, 4);
    small_add(&small, 10, 10);
    small_measure(&small);
    place_plan_init(&a, &small.problem, &small.pile);
    place_plan_init(&b, &small.problem, &small.pile);
    place_plan_cut(&a, &small.problem, 2);
    place_group_add(&a.groups[1], 0);
    place_plan_copy(&b, &a);
    assert_true(place_plan_equal(&a, &b));
    b.groups[1].members[0].share_percent = 50;
    assert_false(place_plan_equal(&a, &b));
    small_close(&small);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nodes_are_cut_into_powers_of_two),
        cmocka_unit_test(who_fits_nowhere_is_told_why),
        cmocka_unit_test(who_finds_no_room_is_told_how_much_there_is),
        cmocka_unit_test(copies_are_equal),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
