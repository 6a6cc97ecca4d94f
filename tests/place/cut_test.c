/* Groups cut one by one: aligned, apart, from the smallest hole. */
#include "small.h"

#include "place/cut.h"

static void the_smallest_hole_is_taken(void **state)
{
    struct small small;
    struct place_cut cut;
    (void)state;
    small_open(&small, 2, 8);
    small_add(&small, 10, 1);
    small_measure(&small);
    place_cut_init(&cut, &small.problem, &small.pile);
    assert_int_equal(place_cut_take(&cut, 1, -1), 0);
    assert_int_equal(place_cut_take(&cut, 1, -1), 1); /* beside it: large holes stay */
    assert_int_equal(place_cut_take(&cut, 4, -1), 4);
    assert_int_equal(place_cut_take(&cut, 8, -1), 8);
    assert_int_equal(place_cut_take(&cut, 4, -1), -1);
    assert_int_equal(place_cut_take(&cut, 2, -1), 2);
    assert_int_equal(place_cut_take(&cut, 1, -1), -1);
    place_cut_put(&cut, 8, 4);
    assert_int_equal(place_cut_take(&cut, 4, -1), 8);
    small_close(&small);
}

static void only_devices_that_hold_the_service(void **state)
{
    struct small small;
    struct place_cut cut;
    (void)state;
    small_open(&small, 2, 2);
    small.nodes[0].kind = 1; /* 40 GiB */
    small_add(&small, 50, 1);
    small_measure(&small);
    place_cut_init(&cut, &small.problem, &small.pile);
    assert_int_equal(place_cut_take(&cut, 1, 0), 2);
    assert_int_equal(place_cut_take(&cut, 1, 0), 3);
    assert_int_equal(place_cut_take(&cut, 1, 0), -1);
    assert_int_equal(place_cut_take(&cut, 2, 0), 0); /* 80 of two small ones */
    small_close(&small);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_smallest_hole_is_taken),
        cmocka_unit_test(only_devices_that_hold_the_service),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
