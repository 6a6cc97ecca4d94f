/* Tests of the fair rule: the parts of one holder and of many, and room for newcomers. */
#include "test.h"
#include "base/fair.h"
#include "base/rng.h"

enum { HOLDERS = 12 };

static void a_single_holder_gets_seven_eighths(void **state)
{
    (void)state;
    assert_int_equal(fair_most(4096), 3584);
    assert_int_equal(fair_most(8), 7);
    assert_int_equal(fair_most(4), 3);
    assert_int_equal(fair_most(1), 1);
    assert_int_equal(fair_most(0), 0);
    assert_int_equal(fair_room(0, 8, 8), 0); /* a newcomer, but nothing is free */
    assert_int_equal(fair_room(9, 9, 8), 0);
}

/* Greedy holders take one by one whenever the rule allows it, and give each back after a while. */
static void greedy_holders_get_equal_parts_and_leave_room(void **state)
{
    (void)state;
    enum { N_MAX = 1000, N_ROUNDS = 60000 };
    struct rng dice;
    rng_init(&dice, test_seed(1), 0);
    for (int k = 1; k < HOLDERS; k++) {
        int64_t held[HOLDERS] = { 0 }, n_used = 0;
        for (int i = 0; i < N_ROUNDS; i++) {
            uint32_t holder = rng_below(&dice, (uint32_t)k), other = rng_below(&dice, (uint32_t)k);
            if (fair_room(held[holder], n_used, N_MAX) > 0)
                held[holder]++, n_used++;
            assert_true(fair_room(0, n_used, N_MAX) > 0);
            if (i % 2 == 0 && held[other] > 0)
                held[other]--, n_used--;
        }
        for (int i = 0; i < k; i++)
            assert_in_range(held[i], 7 * N_MAX / (7 * k + 1) - 40, 7 * N_MAX / (7 * k + 1) + 40);
        assert_in_range(N_MAX - n_used, N_MAX / (7 * k + 1) - 1, N_MAX / (7 * k + 1) + 40);
    }
}

/* A holder that took all that it could gets no more until a second one has as much. */
static void the_first_holder_does_not_keep_the_second_out(void **state)
{
    (void)state;
    int64_t first = fair_most(800), second = 0;
    assert_int_equal(first, 700);
    for (int i = 0; i < 10000; i++) { /* the first gives back one by one, and both want more */
        if (i % 10 == 0)
            first--;
        second += fair_room(second, first + second, 800) > 0;
        first += fair_room(first, first + second, 800) > 0;
    }
    assert_in_range(second, first - 8, first + 8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_single_holder_gets_seven_eighths),
        cmocka_unit_test(greedy_holders_get_equal_parts_and_leave_room),
        cmocka_unit_test(the_first_holder_does_not_keep_the_second_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
