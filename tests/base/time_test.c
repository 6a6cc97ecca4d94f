/* Tests of the clock. */
#include "test.h"
#include "base/time.h"

static void test_clocks_go_forward(void **state)
{
    (void)state;
    int64_t start = time_now_ns();
    time_sleep_ns(2 * TIME_NS_PER_MS);
    assert_true(time_now_ns() - start >= 2 * TIME_NS_PER_MS);
    time_sleep_ns(0);
    time_sleep_ns(-5);
    assert_true(time_unix_ns() > INT64_C(1700000000) * TIME_NS_PER_S);
}

static void test_sleep_costs_no_processor_time(void **state)
{
    (void)state;
    int64_t start = time_thread_cpu_ns();
    time_sleep_ns(20 * TIME_NS_PER_MS);
    assert_true(time_thread_cpu_ns() - start < 10 * TIME_NS_PER_MS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_clocks_go_forward),
        cmocka_unit_test(test_sleep_costs_no_processor_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
