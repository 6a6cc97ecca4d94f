/* Every job is worked once and comes home once. */
#include "test.h"
#include "api/workers.h"
#include "base/time.h"

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

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_all_come_home) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
