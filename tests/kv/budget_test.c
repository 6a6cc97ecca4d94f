/* The pool's arithmetic by hand: floors, ceilings, the order in which blocks are taken. */
#include "test.h"
#include "kv/kv.h"

static struct kv_budget two_services(void)
{
    struct kv_budget budget = { .n_services = 2, .n_units_free = 10, .n_units_open = 10 };
    budget.services[0] = (struct kv_budget_service){ 16, 2, 0, 0, 0, 0, INT32_MAX };
    budget.services[1] = (struct kv_budget_service){ 8, 4, 0, 0, 0, 0, INT32_MAX };
    return budget;
}

static void takes_units_and_keeps_the_rest(void **state)
{
    (void)state;
    struct kv_budget b = two_services();
    assert_true(kv_budget_take(&b, 1, 5));
    assert_int_equal(b.n_units_free, 8);
    assert_int_equal(b.services[1].n_blocks_free, 3);
    assert_int_equal(b.services[1].n_units, 2);
    assert_true(kv_budget_take(&b, 1, 3));
    assert_int_equal(b.n_units_free, 8);
    assert_false(kv_budget_take(&b, 0, 17));
    assert_true(kv_budget_take(&b, 0, 16));
    assert_int_equal(b.n_units_free, 0);
    assert_false(kv_budget_take(&b, 1, 1));
}

static void a_floor_is_kept_for_its_service(void **state)
{
    (void)state;
    struct kv_budget b = two_services();
    b.services[0].n_units_min = 3;
    b.n_units_owed = 3;
    assert_false(kv_budget_take(&b, 1, 7 * 4 + 1));
    assert_true(kv_budget_take(&b, 1, 7 * 4));
    assert_false(kv_budget_take(&b, 1, 1));
    assert_true(kv_budget_take(&b, 0, 3 * 2));
    assert_int_equal(b.n_units_owed, 0);
    assert_false(kv_budget_take(&b, 0, 1));
}

static void a_ceiling_is_never_exceeded(void **state)
{
    (void)state;
    struct kv_budget b = two_services();
    b.services[0].n_units_max = 2;
    assert_false(kv_budget_take(&b, 0, 5));
    assert_true(kv_budget_take(&b, 0, 3));
    assert_true(kv_budget_take(&b, 0, 1));
    assert_false(kv_budget_take(&b, 0, 1));
    assert_int_equal(kv_budget_most_blocks(&b, 0), 4);
}

static void floors_outlive_a_pool_that_shrank(void **state)
{
    (void)state;
    struct kv_budget b = two_services();
    b.services[0].n_units_min = b.services[1].n_units_min = 4;
    b.n_units_owed = 8;
    b.n_units_free = b.n_units_open = 5;
    assert_true(kv_budget_take(&b, 0, 2)); /* each may use its own floor, first come */
    assert_true(kv_budget_take(&b, 1, 4));
    assert_int_equal(b.n_units_free, 3);
    assert_int_equal(b.n_units_owed, 6);
}

static void what_others_are_guaranteed_is_out_of_reach(void **state)
{
    (void)state;
    struct kv_budget b = two_services();
    int64_t most = kv_budget_most_blocks(&b, 1);
    b.services[0].n_units_min = b.n_units_floors = 3;
    assert_int_equal(kv_budget_most_blocks(&b, 1), most - kv_blocks_in(&b.services[1], 3));
    b.services[1].n_units_min = 2; /* one's own floor is not */
    b.n_units_floors = 5;
    assert_int_equal(kv_budget_most_blocks(&b, 1), most - kv_blocks_in(&b.services[1], 3));
}

static void evicts_last(void **state)
{
    (void)state;
    struct kv_budget b = two_services();
    b.n_units_free = 3;
    b.n_units_cached = 2;
    b.services[0] = (struct kv_budget_service){ 16, 2, 1, 2, 2, 0, INT32_MAX };
    assert_int_equal(kv_budget_idle_blocks(&b, 0), 3);
    assert_true(kv_budget_take(&b, 0, 3)); /* one free, one idle unit */
    assert_int_equal(b.services[0].n_blocks_cached, 2);
    assert_int_equal(b.n_units_free, 2);
    assert_true(kv_budget_take(&b, 0, 3)); /* its cached blocks, then a cached unit */
    assert_int_equal(b.services[0].n_blocks_cached, 0);
    assert_int_equal(b.n_units_cached, 1);
    assert_int_equal(b.n_units_free, 1);
    assert_int_equal(b.services[0].n_blocks_free, 1);
    assert_false(kv_budget_take(&b, 0, 4));
    assert_true(kv_budget_take(&b, 0, 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(takes_units_and_keeps_the_rest),
        cmocka_unit_test(a_floor_is_kept_for_its_service),
        cmocka_unit_test(a_ceiling_is_never_exceeded),
        cmocka_unit_test(floors_outlive_a_pool_that_shrank),
        cmocka_unit_test(what_others_are_guaranteed_is_out_of_reach),
        cmocka_unit_test(evicts_last),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
