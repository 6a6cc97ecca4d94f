/* Sets beside arrays of truths. */
#include "test.h"
#include "base/rng.h"
#include "base/set.h"

static struct set drawn(struct rng *rng, bool *truth, int n, uint32_t one_in)
{
    struct set set = { { 0 } };
    for (int i = 0; i < SET_MAX; i++) {
        truth[i] = i < n && rng_below(rng, one_in) == 0;
        if (truth[i])
            set_add(&set, i);
    }
    return set;
}

static void members_in_order(void **state)
{
    (void)state;
    static const int sizes[] = { 1, 63, 64, 65, 100, 1000, SET_MAX };
    struct rng rng;
    rng_init(&rng, 1, 0);
    for (size_t k = 0; k < COUNT_OF(sizes); k++) {
        bool truth[SET_MAX];
        int n = sizes[k];
        struct set set = drawn(&rng, truth, n, 3);
        for (int from = 0; from <= n; from++) {
            int expected = from;
            while (expected < n && !truth[expected])
                expected++;
            assert_int_equal(set_next(&set, from, n), expected < n ? expected : -1);
        }
        for (int i = 0; i < SET_MAX; i++)
            assert_int_equal(set_has(&set, i), truth[i]);
    }
}

/* A member at or above n does not count. */
static void bounds(void **state)
{
    (void)state;
    struct set set = { { 0 } }, other = { { 0 } };
    assert_true(set_is_empty(&set));
    set_add(&set, 70);
    set_add(&other, 70);
    assert_false(set_is_empty(&set));
    assert_int_equal(set_next(&set, 0, 70), -1);
    assert_int_equal(set_next(&set, 71, SET_MAX), -1);
    assert_int_equal(set_next(&set, 0, 71), 70);
    assert_false(set_meets(&set, &other, 64));
    assert_true(set_meets(&set, &other, 71));
    set_remove(&set, 70);
    assert_true(set_is_empty(&set));
    set = set_of_first(65);
    assert_true(set_has(&set, 64));
    assert_false(set_has(&set, 65));
    set = set_of_first(0);
    assert_true(set_is_empty(&set));
}

static void algebra(void **state)
{
    (void)state;
    struct rng rng;
    rng_init(&rng, 2, 0);
    for (int round = 0; round < 50; round++) {
        bool in_a[SET_MAX], in_b[SET_MAX], covers = true, meets = false, equals = true;
        struct set a = drawn(&rng, in_a, SET_MAX, 2), b = drawn(&rng, in_b, SET_MAX, 300);
        if (round % 2 == 0) /* else b most likely has a member that a has not */
            set_add_all(&a, &b);
        for (int i = 0; i < SET_MAX; i++) {
            in_a[i] = in_a[i] || (round % 2 == 0 && in_b[i]);
            covers = covers && (in_a[i] || !in_b[i]);
            meets = meets || (in_a[i] && in_b[i]);
            equals = equals && in_a[i] == in_b[i];
        }
        struct set rest = set_without(&a, &b);
        assert_int_equal(set_covers(&a, &b), covers);
        assert_int_equal(set_meets(&a, &b, SET_MAX), meets);
        assert_int_equal(set_equals(&a, &b), equals);
        assert_true(set_equals(&a, &a));
        for (int i = 0; i < SET_MAX; i++)
            assert_int_equal(set_has(&rest, i), in_a[i] && !in_b[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(members_in_order),
        cmocka_unit_test(bounds),
        cmocka_unit_test(algebra),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
