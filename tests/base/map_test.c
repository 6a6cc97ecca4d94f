/* Tests of the hash map. (tests/props compares it with a list.) */
#include "test.h"
#include "base/map.h"

static void test_put_find_remove(void **state)
{
    (void)state;
    struct map map;
    map_init(&map, 3);
    assert_int_equal(map_find(&map, 0), MAP_NONE);
    assert_true(map_put(&map, 0, 10));
    assert_true(map_put(&map, UINT64_MAX, 11));
    assert_true(map_put(&map, 0, 12));
    assert_int_equal(map_find(&map, 0), 12);
    assert_int_equal(map_find(&map, UINT64_MAX), 11);
    assert_int_equal(map.n, 2);
    assert_true(map_remove(&map, 0));
    assert_false(map_remove(&map, 0));
    assert_int_equal(map_find(&map, 0), MAP_NONE);
    assert_int_equal(map.n, 1);
    map_free(&map);
}

static void test_full_map_refuses_new_keys_only(void **state)
{
    (void)state;
    struct map map;
    map_init(&map, 2);
    assert_true(map_put(&map, 1, 1));
    assert_true(map_put(&map, 2, 2));
    assert_false(map_put(&map, 3, 3));
    assert_true(map_put(&map, 2, 4));
    assert_int_equal(map_find(&map, 2), 4);
    map_free(&map);
}

static void test_empty_capacity(void **state)
{
    (void)state;
    struct map map;
    map_init(&map, 0);
    assert_false(map_put(&map, 1, 1));
    assert_int_equal(map_find(&map, 1), MAP_NONE);
    assert_false(map_remove(&map, 1));
    map_free(&map);
}

static void put_none(void *arg)
{
    map_put(arg, 1, MAP_NONE);
}

static void test_none_can_not_be_stored(void **state)
{
    (void)state;
    struct map map;
    map_init(&map, 2);
    test_dies(put_none, &map);
    map_free(&map);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_put_find_remove),
        cmocka_unit_test(test_full_map_refuses_new_keys_only),
        cmocka_unit_test(test_empty_capacity),
        cmocka_unit_test(test_none_can_not_be_stored),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
