/* Tests of checks and of the small helpers of base. */
#include "test.h"

static void fail_check(void *arg)
{
    CHECK(arg == NULL);
}

static void fail_verify(void *arg)
{
    base_verify = *(bool *)arg;
    VERIFY(1 + 1 == 3);
}

static void test_check_dies(void **state)
{
    (void)state;
    int something;
    CHECK(true);
    test_dies(fail_check, &something);
}

static void test_verify_dies_only_when_on(void **state)
{
    (void)state;
    bool on = true, off = false;
    test_dies(fail_verify, &on);
    fail_verify(&off);
    base_verify = true;
}

static void test_words(void **state)
{
    (void)state;
    int three[3];
    assert_int_equal(COUNT_OF(three), 3);
    assert_int_equal(min_i64(-1, INT64_MAX), -1);
    assert_int_equal(max_i64(-1, INT64_MIN), -1);
    assert_int_equal(min_i32(2, 1), 1);
    assert_int_equal(max_i32(2, 1), 2);
    assert_int_equal(div_up_i64(0, 5), 0);
    assert_int_equal(div_up_i64(5, 5), 1);
    assert_int_equal(div_up_i64(6, 5), 2);
    assert_int_equal(align_up_u64(0, 64), 0);
    assert_int_equal(align_up_u64(65, 64), 128);
    base_relax();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_check_dies),
        cmocka_unit_test(test_verify_dies_only_when_on),
        cmocka_unit_test(test_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
