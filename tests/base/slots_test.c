/* Tests of slots: handles, exhaustion, staleness. */
#include "test.h"
#include "base/slots.h"

static void test_take_until_none_is_left(void **state)
{
    (void)state;
    struct slots slots;
    slots_init(&slots, 3);
    for (uint32_t i = 0; i < 3; i++) {
        uint32_t handle = slots_take(&slots);
        assert_int_not_equal(handle, 0);
        assert_int_equal(slots_index(handle), i);
        assert_true(slots_is_live(&slots, handle));
    }
    assert_int_equal(slots_take(&slots), 0);
    slots_free(&slots);
}

static void test_handles_go_stale(void **state)
{
    (void)state;
    struct slots slots;
    slots_init(&slots, 1);
    uint32_t old = slots_take(&slots);
    slots_put(&slots, old);
    assert_false(slots_is_live(&slots, old));
    for (int i = 0; i < 2046; i++) { /* 12 bits of generation, two steps a life */
        uint32_t handle = slots_take(&slots);
        assert_int_not_equal(handle, old);
        assert_int_not_equal(handle, 0);
        assert_false(slots_is_live(&slots, old));
        slots_put(&slots, handle);
    }
    slots_free(&slots);
}

static void test_nonsense_is_not_live(void **state)
{
    (void)state;
    struct slots slots;
    slots_init(&slots, 2);
    assert_false(slots_is_live(&slots, 0));
    assert_false(slots_is_live(&slots, UINT32_MAX));
    assert_false(slots_is_live(&slots, 1u << 20));
    slots_free(&slots);
}

static uint32_t stale;
static void put_stale(void *arg)
{
    slots_put(arg, stale);
}

static void test_putting_twice_dies(void **state)
{
    (void)state;
    struct slots slots;
    slots_init(&slots, 2);
    stale = slots_take(&slots);
    slots_put(&slots, stale);
    test_dies(put_stale, &slots);
    slots_free(&slots);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_take_until_none_is_left),
        cmocka_unit_test(test_handles_go_stale),
        cmocka_unit_test(test_nonsense_is_not_live),
        cmocka_unit_test(test_putting_twice_dies),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
