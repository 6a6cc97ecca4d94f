/* Runs many simulations: a free thread takes the next one. */
#include "sim/many.h"

#include "base/team.h"
#include <stdatomic.h>
#include <unistd.h>

enum { MANY_THREADS_MAX = 256 };

struct many {
    const struct sim_options *options;
    struct sim_report *reports;
    int n;
    atomic_int next;
};

static void work(void *arg)
{
    struct many *many = arg;
    for (int i = atomic_fetch_add(&many->next, 1); i < many->n;
         i = atomic_fetch_add(&many->next, 1))
        sim_run(&many->options[i], &many->reports[i]);
}

void sim_many_run(const struct sim_options *options, struct sim_report *reports, int n,
                  int n_threads)
{
    struct many many = { .options = options, .reports = reports, .n = n };
    struct thread *threads[MANY_THREADS_MAX];
    if (n_threads <= 0)
        n_threads = (int)sysconf(_SC_NPROCESSORS_ONLN);
    n_threads = max_i32(min_i32(min_i32(n_threads, n), MANY_THREADS_MAX), 1);
    for (int i = 1; i < n_threads; i++)
        threads[i] = thread_start("sim", work, &many);
    work(&many);
    for (int i = 1; i < n_threads; i++)
        thread_join(threads[i]);
}
