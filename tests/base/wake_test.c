/* Tests of waking: by another thread, by time, not at all. */
#include "test.h"
#include "base/rng.h"
#include "base/team.h"
#include "base/time.h"
#include "base/wake.h"
#include <stdatomic.h>
#include <sys/resource.h>

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

/* Two sides pass a counter to and fro, and each sleeps until it moved, with random pauses between
 * the check and the sleep. No wake may get lost, because the engine's thread and the lane's rely on
 * it. */
enum { N_PASSES = 20000 };
struct side {
    struct wake *own, *other;
    _Atomic int *count; /* shared */
    int parity;         /* moves it when it is of this parity */
    uint64_t seed;
    bool is_stuck;
};

static void pause_a_while(struct rng *rng)
{
    uint32_t kind = rng_below(rng, 32);
    int64_t end_ns = time_now_ns() + (int64_t)rng_below(rng, 20000);
    if (kind == 0)
        time_sleep_ns(rng_below(rng, 100000));
    else if (kind < 8)
        while (time_now_ns() < end_ns)
            base_relax();
}

static void pass_on(void *arg)
{
    struct side *side = arg;
    struct rng rng;
    rng_init(&rng, side->seed, (uint64_t)side->parity);
    while (!side->is_stuck) {
        wake_clear(side->own);
        pause_a_while(&rng);
        int count = atomic_load(side->count);
        if (count >= N_PASSES)
            return;
        if (count % 2 == side->parity) {
            atomic_store(side->count, count + 1);
            pause_a_while(&rng);
            wake_up(side->other);
        } else {
            side->is_stuck = !wake_wait(side->own, 50 * TIME_NS_PER_S);
        }
    }
}

static void test_no_wake_is_lost(void **state)
{
    (void)state;
    struct wake wakes[2];
    _Atomic int count = 0;
    wake_open(&wakes[0]);
    wake_open(&wakes[1]);
    struct side sides[2] = { { &wakes[0], &wakes[1], &count, 0, 1, false },
                             { &wakes[1], &wakes[0], &count, 1, 1, false } };
    struct thread *thread = thread_start("other", pass_on, &sides[1]);
    pass_on(&sides[0]);
    thread_join(thread);
    assert_false(sides[0].is_stuck || sides[1].is_stuck);
    assert_int_equal(atomic_load(&count), N_PASSES);
    wake_close(&wakes[0]);
    wake_close(&wakes[1]);
}

static void open_without_descriptors(void *arg)
{
    (void)arg;
    struct wake wake;
    const struct rlimit none = { 0, 0 };
    if (setrlimit(RLIMIT_NOFILE, &none) == 0)
        wake_open(&wake);
}

static void test_no_descriptor_is_a_sentence(void **state)
{
    (void)state;
    test_refuses(open_without_descriptors, NULL, "Too many open files (ulimit -n)");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_wait_ends_by_time),
        cmocka_unit_test(test_wakes_add_up_to_one),
        cmocka_unit_test(test_another_thread_wakes),
        cmocka_unit_test(test_no_wake_is_lost),
        cmocka_unit_test(test_no_descriptor_is_a_sentence),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
