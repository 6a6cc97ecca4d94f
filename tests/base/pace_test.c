/* Slow work and late waking are logged, with what the thread did meanwhile; all else is silent. */
#include "test.h"
#include "base/log.h"
#include "base/pace.h"
#include "base/time.h"
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

static char text[4096];

/* Runs f with stderr caught in `text`. */
static void caught(void (*f)(void))
{
    int pipe_fds[2], old = dup(STDERR_FILENO);
    assert_int_equal(pipe(pipe_fds), 0);
    assert_true(dup2(pipe_fds[1], STDERR_FILENO) >= 0);
    f();
    assert_true(dup2(old, STDERR_FILENO) >= 0);
    close(old);
    close(pipe_fds[1]);
    ssize_t n, n_all = 0;
    while ((n = read(pipe_fds[0], text + n_all, sizeof(text) - 1 - (size_t)n_all)) > 0)
        n_all += n;
    text[n_all] = '\0';
    close(pipe_fds[0]);
}

static int count(const char *word)
{
    int n = 0;
    for (const char *at = text; (at = strstr(at, word)) != NULL; at++)
        n++;
    return n;
}

static void be_quick(void)
{
    struct pace pace;
    pace_begin(&pace, "quick");
    int64_t now_ns = time_now_ns();
    for (int i = 0; i < 1000; i++)
        now_ns = pace_took(&pace, max_i64(now_ns, time_now_ns() - TIME_NS_PER_MS), "this took");
    (void)pace_due(&pace, TIME_NEVER, "woke");
    (void)pace_due(&pace, time_now_ns() + TIME_NS_PER_S, "woke");
}

static void be_slow(void)
{
    struct pace pace;
    pace_begin(&pace, "a-part-with-a-long-name");
    int64_t begin_ns = time_now_ns();
    time_sleep_ns(PACE_SLOW_NS + 300 * TIME_NS_PER_MS);
    (void)pace_took(&pace, begin_ns, "sleeping took");
    (void)pace_due(&pace, begin_ns, "woke late by"); /* too soon after the first to be logged */
    pace.told_ns -= 2 * PACE_SLOW_NS;
    (void)pace_due(&pace, begin_ns, "woke late by");
}

static void test_quick_is_silent(void **state)
{
    (void)state;
    caught(be_quick);
    assert_string_equal(text, "");
}

static void test_slow_is_told(void **state)
{
    (void)state;
    caught(be_slow);
    assert_int_equal(count("sleeping took "), 1);
    assert_int_equal(count("a-part-with-a-"), 2);
    assert_int_equal(count("woke late by "), 1);
    assert_int_equal(count("1 such untold before"), 1);
    /* It slept, so neither a core nor a queue counts its time. */
    double of = 0, computing = 9, queued = 9, asleep = 0;
    const char *at = strstr(text, "(of the last");
    assert_non_null(at);
    assert_int_equal(sscanf(at,
                            "(of the last %lf s: %lf computing, %lf ready but without a core, %lf "
                            "asleep or blocked",
                            &of, &computing, &queued, &asleep),
                     4);
    assert_true(of >= 1.2 && asleep >= 1.2 && computing <= of - asleep + 0.2);
}

static void test_samples_grow(void **state)
{
    (void)state;
    struct pace_sample before = pace_read(), after = before;
    while (after.on_core_ns < before.on_core_ns + 20 * TIME_NS_PER_MS)
        after = pace_read();
    assert_true(after.now_ns - before.now_ns >= 19 * TIME_NS_PER_MS);
    assert_true(after.in_queue_ns >= before.in_queue_ns);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_quick_is_silent),
        cmocka_unit_test(test_slow_is_told),
        cmocka_unit_test(test_samples_grow),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
