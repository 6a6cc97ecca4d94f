/* Tests of waking: by another thread, by time, not at all. */
#include "test.h"
#include "base/team.h"
#include "base/time.h"
#include "base/wake.h"

static void test_wait_ends_by_time(void **state)
{
    (void)state;
    struct wake wake;
    wake_open(&wake);
    assert_false(wake_wait(&wake, 0));
    int64_t start = time_now_ns();
    assert_false(wake_wait(&wake, 3 * TIME_NS_PER_MS));
    assert_true(time_now_ns() - start >= 3 * TIME_NS_PER_MS);
    wake_close(&wake);
}

static void test_wakes_add_up_to_one(void **state)
{
    (void)state;
    struct wake wake;
    wake_open(&wake);
    wake_up(&wake);
    wake_up(&wake);
    assert_true(wake_wait(&wake, 0));
    assert_true(wake_wait(&wake, TIME_NEVER)); /* until it is cleared */
    wake_clear(&wake);
    assert_false(wake_wait(&wake, 0));
    wake_clear(&wake);
    wake_close(&wake);
    wake_close(&wake);
}

static void wake_later(void *arg)
{
    time_sleep_ns(2 * TIME_NS_PER_MS);
    wake_up(arg);
}

static void test_another_thread_wakes(void **state)
{
    (void)state;
    struct wake wake;
    wake_open(&wake);
    struct thread *thread = thread_start("waker", wake_later, &wake);
    assert_true(wake_wait(&wake, -1));
    thread_join(thread);
    wake_close(&wake);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_wait_ends_by_time),
        cmocka_unit_test(test_wakes_add_up_to_one),
        cmocka_unit_test(test_another_thread_wakes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
