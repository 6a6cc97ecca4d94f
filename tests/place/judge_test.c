/* The order of scores: level by level, with steps that make near equals equal. */
#include "small.h"
#include <math.h>

static const struct place_score usual = {
    .n_placed = 4, .n_met = 3, .n_devices = 8, .reached = 0.5, .attainment = 0.91, .normalized = 2
};

static void levels_come_one_after_the_other(void **state)
{
    (void)state;
    struct place_score a = usual, b = usual;
    char why[120];
    assert_int_equal(place_judge_compare(&a, &b), 0);
    b.n_devices = 9;
    assert_true(place_judge_compare(&a, &b) > 0);
    place_judge_difference(&a, &b, why, sizeof(why));
    assert_string_equal(why, "8 devices against 9");
    b.normalized = 1.9; /* better, whatever it takes */
    assert_true(place_judge_compare(&a, &b) < 0);
    a.attainment = 0.92;
    assert_true(place_judge_compare(&a, &b) > 0);
    place_judge_difference(&a, &b, why, sizeof(why));
    assert_string_equal(why, "attainment 92.0% against 91.0%");
    b.n_met = 4; /* it is reported and does not count */
    assert_true(place_judge_compare(&a, &b) > 0);
    b.reached = 0.6;
    assert_true(place_judge_compare(&a, &b) < 0);
    place_judge_difference(&b, &a, why, sizeof(why));
    assert_string_equal(why, "services 60% of the way to the attainment asked for against 50%");
    a.n_placed = 5;
    assert_true(place_judge_compare(&a, &b) > 0);
    assert_true(place_judge_compare(&b, &a) < 0);
}

static void what_is_nearly_equal_is_equal(void **state)
{
    (void)state;
    struct place_score a = usual, b = usual;
    a.attainment = 0.9101;
    b.normalized = 2.001;
    assert_int_equal(place_judge_compare(&a, &b), 0);
    b.attainment = 0.9;
    assert_true(place_judge_compare(&a, &b) > 0);
}

/* Two services of 100 requests and one of 800; 90% must be in time. */
static double reached(int64_t first, int64_t second, int64_t large)
{
    const struct place_service_score scores[] = { { .n = 100, .n_met = first },
                                                  { .n = 100, .n_met = second },
                                                  { .n = 800, .n_met = large } };
    return place_judge_reached(scores, 3, 0.9);
}

static void all_services_count_and_all_requests(void **state)
{
    (void)state;
    assert_true(reached(90, 90, 720) >= 1);
    assert_true(reached(90, 90, 720) <= reached(100, 100, 800)); /* beyond it nothing is won */
    assert_true(reached(89, 100, 800) < 1);
    assert_true(reached(100, 100, 720) > reached(100, 100, 719));
    /* By services alone two thirds, by requests alone a fifth. */
    assert_true(fabs(reached(90, 90, 0) - 0.5 * (2.0 / 3 + 0.2)) < 1e-12);
    /* All of the large one may not be given up for the last requests of the small ones ... */
    assert_true(reached(80, 80, 720) > reached(90, 90, 80));
    /* ... and losing a small one completely costs more than its requests. */
    assert_true(reached(0, 90, 720) < reached(90, 90, 640));
    /* Nearly all is not all, however large the others are. */
    const struct place_service_score nearly[] = { { .n = 10, .n_met = 8 },
                                                  { .n = 1000000, .n_met = 1000000 } };
    struct place_score a = usual, b = usual;
    a.reached = place_judge_reached(nearly, 2, 0.8001);
    b.reached = 1;
    assert_true(place_judge_compare(&b, &a) > 0);
    const struct place_service_score none = { 0 };
    assert_true(place_judge_reached(&none, 1, 0.9) >= 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(levels_come_one_after_the_other),
        cmocka_unit_test(what_is_nearly_equal_is_equal),
        cmocka_unit_test(all_services_count_and_all_requests),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
