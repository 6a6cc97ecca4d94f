/* Times the collectives of a group of processes: all-reduces by size, at the median and the 99th
 * percentile, and handing rows to the next rank. Arguments: the number of ranks (2), and calls
 * (20000).
 *
 * Two processes that spin on cores of their own show the mechanism; on busy cores, the medians show
 * the system's scheduler. */
#include "base/base.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/time.h"
#include "compute/group.h"
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { N_MAX = 1 << 20 };
static const int64_t sizes[] = { 1, 256, 4096, 16384, 131072, 1048576 };

static int by_value(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static void print_row(const char *what, int64_t n, int64_t *ns, int64_t n_calls)
{
    qsort(ns, (size_t)n_calls, sizeof(*ns), by_value);
    printf("%-8s %8lld floats: median %9.2f us, p99 %9.2f us\n", what, (long long)n,
           (double)ns[n_calls / 2] / 1e3, (double)ns[n_calls * 99 / 100] / 1e3);
}

static void run(struct compute_group *group, int32_t index, int64_t n_calls)
{
    struct compute_group_rank rank;
    float *x = mem_take(N_MAX * sizeof(*x));
    int64_t *ns = mem_take((size_t)n_calls * sizeof(*ns));
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET((size_t)index % (size_t)sysconf(_SC_NPROCESSORS_ONLN), &set);
    (void)sched_setaffinity(0, sizeof(set), &set);
    compute_group_rank_init(&rank, group, index);
    for (size_t s = 0; s < COUNT_OF(sizes); s++) {
        int64_t n_now = max_i64(n_calls / (1 + sizes[s] / 16384), 50);
        n_now = min_i64(n_now, n_calls);
        for (int64_t i = 0; i < n_now; i++) {
            int64_t begun_ns = time_now_ns();
            if (!compute_group_sum(&rank, x, x, sizes[s]))
                exit(1);
            ns[i] = time_now_ns() - begun_ns;
        }
        if (index == 0)
            print_row("sum", sizes[s], ns, n_now);
    }
    for (size_t s = 0; s < COUNT_OF(sizes); s++) { /* there and back through all ranks */
        int64_t n_now = max_i64(n_calls / (1 + sizes[s] / 16384), 50);
        n_now = min_i64(n_now, n_calls);
        for (int64_t i = 0; i < n_now; i++) {
            int64_t begun_ns = time_now_ns(), n_bytes = sizes[s] * 4;
            bool is_alive = index == 0 ? compute_group_send(&rank, x, n_bytes) &&
                                             compute_group_receive(&rank, x, n_bytes)
                                       : compute_group_receive(&rank, x, n_bytes) &&
                                             compute_group_send(&rank, x, n_bytes);
            if (!is_alive)
                exit(1);
            ns[i] = (time_now_ns() - begun_ns) / compute_group_size(group);
        }
        if (index == 0)
            print_row("hand on", sizes[s], ns, n_now);
    }
    compute_group_rank_free(&rank);
    mem_give(ns);
    mem_give(x);
}

int main(int argc, char **argv)
{
    struct compute_group group;
    struct fault fault;
    int32_t n_ranks = argc > 1 ? (int32_t)strtol(argv[1], NULL, 10) : 2;
    int64_t n_calls = argc > 2 ? strtol(argv[2], NULL, 10) : 20000;
    if (n_calls < 1 || compute_group_open(&group, n_ranks, &fault) != STATUS_OK) {
        fprintf(stderr, "usage: bench_group [ranks [calls]]\n");
        return 2;
    }
    for (int32_t r = 1; r < n_ranks; r++) {
        pid_t pid = fork();
        if (pid < 0)
            return 1;
        if (pid == 0) {
            run(&group, r, n_calls);
            return 0;
        }
    }
    run(&group, 0, n_calls);
    while (wait(NULL) > 0)
        ;
    compute_group_close(&group);
    return 0;
}
