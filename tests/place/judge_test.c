/* The order of scores: level by level, with steps that make near equals equal. */
#include "small.h"

static const struct place_score usual = {
    .n_placed = 4, .n_met = 3, .n_devices = 8, .attainment = 0.91, .normalized = 2
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
    b.n_met = 4;
    assert_true(place_judge_compare(&a, &b) < 0);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(levels_come_one_after_the_other),
        cmocka_unit_test(what_is_nearly_equal_is_equal),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
