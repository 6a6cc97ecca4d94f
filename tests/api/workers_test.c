/* Every job is worked once and returned once, and none waits for one of a higher rank. */
#include "test.h"
#include "api/workers.h"
#include "base/team.h"
#include "base/time.h"
#include <stdatomic.h>

struct counted {
    struct api_job job; /* first */
    int n_worked, n_done;
};

static void work(struct api_job *job)
{
    ((struct counted *)job)->n_worked++;
}

static void done(struct api_job *job)
{
    ((struct counted *)job)->n_done++;
}

static _Atomic bool is_open; /* until then no gated job ends */
static _Atomic bool is_at_gate;

static void open_later(void *of)
{
    (void)of;
    time_sleep_ns(50 * TIME_NS_PER_MS);
    atomic_store(&is_open, true);
}

static void work_gated(struct api_job *job)
{
    atomic_store(&is_at_gate, true);
    while (!atomic_load(&is_open))
        time_sleep_ns(TIME_NS_PER_MS);
    work(job);
}

static void assert_all_done(struct api_workers *workers, const struct counted *jobs, int n)
{
    int n_done = 0;
    for (int64_t end_ns = time_now_ns() + 20 * TIME_NS_PER_S;
         n_done < n && time_now_ns() < end_ns;) {
        time_sleep_ns(TIME_NS_PER_MS);
        api_workers_collect(workers);
        n_done = 0;
        for (int i = 0; i < n; i++)
            n_done += jobs[i].n_done;
    }
    assert_int_equal(n_done, n);
}

static void test_all_come_home(void **state)
{
    (void)state;
    static struct counted jobs[500];
    struct api_workers *workers = api_workers_open(16);
    int n_put = 0;
    while (n_put < (int)COUNT_OF(jobs)) {
        jobs[n_put].job =
            (struct api_job){ work, done, (enum api_job_rank)(n_put % API_JOB_RANKS), false };
        if (api_workers_put(workers, &jobs[n_put].job))
            n_put++;
        else
            api_workers_collect(workers); /* full: 16 each */
    }
    assert_all_done(workers, jobs, (int)COUNT_OF(jobs));
    api_workers_close(workers);
    for (size_t i = 0; i < COUNT_OF(jobs); i++)
        assert_true(jobs[i].n_worked == 1 && jobs[i].n_done == 1);
}

/* When a server stops, it does not wait for texts that are queued behind a long one. */
static void test_close_drops_those_that_wait(void **state)
{
    (void)state;
    struct counted first = { .job = { work_gated, done, API_JOB_LONG, false } };
    struct counted others[8] = { 0 };
    struct api_workers *workers = api_workers_open(16);
    atomic_store(&is_open, false);
    atomic_store(&is_at_gate, false);
    assert_true(api_workers_put(workers, &first.job));
    for (int i = 0; i < (int)COUNT_OF(others); i++) {
        others[i].job = (struct api_job){ work, done, API_JOB_LONG, false };
        assert_true(api_workers_put(workers, &others[i].job));
    }
    while (!atomic_load(&is_at_gate))
        time_sleep_ns(TIME_NS_PER_MS);
    struct thread *opener = thread_start("opener", open_later, NULL);
    api_workers_close(workers);
    thread_join(opener);
    assert_true(first.n_worked == 1 && first.n_done == 1 && !first.job.is_dropped);
    for (int i = 0; i < (int)COUNT_OF(others); i++)
        assert_true(others[i].n_worked == 0 && others[i].n_done == 1 && others[i].job.is_dropped);
}

static void test_nobody_waits_for_a_higher_rank(void **state)
{
    (void)state;
    enum { N_LONG = 4, N_SHORT = 40 };
    for (enum api_job_rank high = API_JOB_LONG; high < API_JOB_RANKS; high++) {
        struct counted higher[N_LONG] = { 0 }, lower[N_SHORT] = { 0 };
        struct api_workers *workers = api_workers_open(64);
        atomic_store(&is_open, false);
        for (int i = 0; i < N_LONG; i++) {
            higher[i].job = (struct api_job){ work_gated, done, high, false };
            assert_true(api_workers_put(workers, &higher[i].job));
        }
        for (int i = 0; i < N_SHORT; i++) {
            lower[i].job =
                (struct api_job){ work, done, (enum api_job_rank)(i % (int)high), false };
            assert_true(api_workers_put(workers, &lower[i].job));
        }
        assert_all_done(workers, lower, N_SHORT);
        for (int i = 0; i < N_LONG; i++)
            assert_int_equal(higher[i].n_worked, 0);
        atomic_store(&is_open, true);
        assert_all_done(workers, higher, N_LONG);
        api_workers_close(workers);
        for (int i = 0; i < N_LONG; i++)
            assert_int_equal(higher[i].n_done, 1);
    }
}

/* An answer does not wait for long texts either, since these have one worker. */
static void test_long_texts_hold_up_no_answer(void **state)
{
    (void)state;
    struct counted texts[4] = { 0 }, answer = { .job = { work, done, API_JOB_PATIENT, false } };
    struct api_workers *workers = api_workers_open(64);
    atomic_store(&is_open, false);
    for (int i = 0; i < (int)COUNT_OF(texts); i++) {
        texts[i].job = (struct api_job){ work_gated, done, API_JOB_LONG, false };
        assert_true(api_workers_put(workers, &texts[i].job));
    }
    assert_true(api_workers_put(workers, &answer.job));
    assert_all_done(workers, &answer, 1);
    atomic_store(&is_open, true);
    assert_all_done(workers, texts, (int)COUNT_OF(texts));
    api_workers_close(workers);
    for (int i = 0; i < (int)COUNT_OF(texts); i++)
        assert_int_equal(texts[i].n_done, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_come_home),
        cmocka_unit_test(test_close_drops_those_that_wait),
        cmocka_unit_test(test_nobody_waits_for_a_higher_rank),
        cmocka_unit_test(test_long_texts_hold_up_no_answer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
