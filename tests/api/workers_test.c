/* Every job is worked once and comes home once, and only patient ones wait for patient ones. */
#include "test.h"
#include "api/workers.h"
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

static void work_gated(struct api_job *job)
{
    while (!atomic_load(&is_open))
        time_sleep_ns(TIME_NS_PER_MS);
    work(job);
}

static void test_all_come_home(void **state)
{
    (void)state;
    static struct counted jobs[500];
    struct api_workers *workers = api_workers_open(2, 16);
    int n_put = 0;
    while (n_put < (int)COUNT_OF(jobs)) {
        jobs[n_put].job = (struct api_job){ work, done };
        if (api_workers_put(workers, &jobs[n_put].job))
            n_put++;
        else
            api_workers_collect(workers); /* full: 16 each */
    }
    api_workers_close(workers);
    for (size_t i = 0; i < COUNT_OF(jobs); i++)
        assert_true(jobs[i].n_worked == 1 && jobs[i].n_done == 1);
}

static void test_nobody_else_waits_for_the_patient(void **state)
{
    (void)state;
    static struct counted patient[4], others[40];
    struct api_workers *workers = api_workers_open(2, 64);
    for (size_t i = 0; i < COUNT_OF(patient); i++) {
        patient[i].job = (struct api_job){ work_gated, done, .is_patient = true };
        assert_true(api_workers_put(workers, &patient[i].job));
    }
    for (size_t i = 0; i < COUNT_OF(others); i++) {
        others[i].job = (struct api_job){ work, done };
        assert_true(api_workers_put(workers, &others[i].job));
    }
    int n_done = 0;
    for (int64_t end_ns = time_now_ns() + 20 * TIME_NS_PER_S;
         n_done < (int)COUNT_OF(others) && time_now_ns() < end_ns;) {
        time_sleep_ns(TIME_NS_PER_MS);
        api_workers_collect(workers);
        n_done = 0;
        for (size_t i = 0; i < COUNT_OF(others); i++)
            n_done += others[i].n_done;
    }
    assert_int_equal(n_done, COUNT_OF(others));
    for (size_t i = 0; i < COUNT_OF(patient); i++)
        assert_int_equal(patient[i].n_worked, 0);
    atomic_store(&is_open, true);
    api_workers_close(workers);
    for (size_t i = 0; i < COUNT_OF(patient); i++)
        assert_int_equal(patient[i].n_done, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_come_home),
        cmocka_unit_test(test_nobody_else_waits_for_the_patient),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
