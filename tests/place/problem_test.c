/* Tests of the figures that services get from a window, and of the arithmetic of memory. */
#include "small.h"

static void services_are_measured_where_the_fewest_devices_hold_them(void **state)
{
    struct small small;
    (void)state;
    small_open(&small, 2, 4);
    small_add(&small, 13, 120);
    small_add(&small, 100, 30); /* 100 of 80: two devices */
    small_add(&small, 500, 0);  /* none of 4 x 80 */
    small_measure(&small);
    const struct place_service *s = small.services;
    assert_int_equal(s[0].base_degree, 1);
    assert_int_equal(s[1].base_degree, 2);
    assert_int_equal(s[2].base_degree, 0);
    assert_true(s[0].rate_per_s > 1.99 && s[0].rate_per_s < 2.01);
    assert_int_equal(s[1].n_requests, 30);
    assert_true(s[0].n_prompt > 190 && s[0].n_prompt < 210);
    assert_true(s[2].n_prompt == 256 && s[2].n_output == 256);
    /* Computes the mean of the solo times of its requests by hand. */
    double sum_s = 0;
    for (int32_t i = 0; i < small.problem.window.n; i++)
        if (small.requests[i].service == 0)
            sum_s += (double)place_problem_solo_ns(&small.problem, &small.requests[i]) * 1e-9 / 120;
    assert_true(s[0].solo_s > sum_s - 1e-9 && s[0].solo_s < sum_s + 1e-9);
    assert_true(s[0].solo_deviation_s > 0 && s[0].solo_deviation_s < s[0].solo_s);
    small_close(&small);
}

/* Fifty requests at once every 15 s, against even gaps. */
static void bursts_are_seen(void **state)
{
    struct small small;
    (void)state;
    small_open(&small, 1, 1);
    small_add(&small, 13, 200);
    small_add(&small, 13, 200);
    for (int i = 0; i < 200; i++)
        small.requests[200 + i].arrived_ns = (int64_t)15e9 * (i / 50);
    small_measure(&small);
    assert_true(small.services[0].burst < 1.02);
    assert_true(small.services[1].burst > 1.2);
    assert_true(small.services[1].span_s >= 1);
    small_close(&small);
}

static void the_floor_is_kept_free(void **state)
{
    struct small small;
    (void)state;
    small_open(&small, 1, 1);
    small_add(&small, 63, 10); /* 63.5 and a floor of a fifth of 80: 79.5 */
    small_add(&small, 64, 10); /* 64.5: 80.5 */
    small_measure(&small);
    assert_true(place_problem_holds(&small.problem, 0, 0, 1));
    assert_false(place_problem_holds(&small.problem, 1, 0, 1));
    assert_int_equal(place_problem_model_bytes(&small.problem, 0), 63 * SMALL_GIB + SMALL_GIB / 2);
    small_close(&small);
}

static void devices_know_their_node(void **state)
{
    struct small small;
    (void)state;
    small_open(&small, 5, 3);
    for (int32_t d = 0; d < 15; d++)
        assert_int_equal(place_problem_node_of(&small.problem, d), d / 3);
    assert_int_equal(place_degree_index(8), 3);
    assert_int_equal(place_degree_index(3), -1);
    assert_int_equal(place_degree_index(32), -1);
    small_close(&small);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(services_are_measured_where_the_fewest_devices_hold_them),
        cmocka_unit_test(bursts_are_seen),
        cmocka_unit_test(the_floor_is_kept_free),
        cmocka_unit_test(devices_know_their_node),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
