/* Sums over ranks, by size: the median of rounds in which all ranks sum each size once. Threads
 * spin between sums, as the ranks of a busy group do. */
#include "run/sums.h"

#include "base/mem.h"
#include "base/team.h"
#include "base/time.h"
#include "compute/group.h"
#include <stdlib.h>

enum { ROUNDS_LEAST = 9, ROUNDS_MAX = 999, N_SIZES = 9, FLOATS_LEAST = 16, FLOATS_MOST = 1 << 20 };

struct sums {
    struct compute_group group;
    int64_t budget_ns;
    float *values[COMPUTE_GROUP_RANKS_MAX]; /* (FLOATS_MOST) of each rank */
    int64_t ps[N_SIZES][ROUNDS_MAX];        /* rank 0's */
    int n_rounds;
};

static int64_t floats_of(int size)
{
    return (int64_t)FLOATS_LEAST << (2 * size);
}

/* Runs on each rank. Rank 0 says by a sum whether there is another round. */
static void measure(void *arg, int index, int n_ranks)
{
    struct sums *s = arg;
    struct compute_group_rank rank;
    int64_t end_ns = time_now_ns() + s->budget_ns;
    (void)n_ranks;
    compute_group_rank_init(&rank, &s->group, index);
    for (int round = 0;; round++) {
        bool is_over = round == ROUNDS_MAX || (round >= ROUNDS_LEAST && time_now_ns() >= end_ns);
        float stop = index == 0 && is_over ? 1 : 0;
        CHECK(compute_group_sum(&rank, &stop, &stop, 1));
        if (stop > 0)
            break;
        for (int size = 0; size < N_SIZES; size++) {
            int64_t begun_ns = time_now_ns();
            CHECK(compute_group_sum(&rank, s->values[index], s->values[index], floats_of(size)));
            if (index == 0)
                s->ps[size][round] = (time_now_ns() - begun_ns) * 1000;
        }
        s->n_rounds = index == 0 ? round + 1 : s->n_rounds;
    }
    compute_group_rank_free(&rank);
}

static int order_of(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static enum status measure_degree(const struct device_spec *device, int32_t n_ranks,
                                  int64_t budget_ns, struct predict_group_sums *out,
                                  struct fault *fault)
{
    struct sums *s = mem_take(sizeof(*s));
    int cores[COMPUTE_GROUP_RANKS_MAX];
    s->budget_ns = budget_ns;
    enum status status = compute_group_open(&s->group, n_ranks, fault);
    if (status == STATUS_OK) {
        for (int32_t r = 0; r < n_ranks; r++) {
            s->values[r] = mem_take(FLOATS_MOST * sizeof(float));
            cores[r] = device->cores[r * device->n_cores / n_ranks];
        }
        struct team *team = team_open(n_ranks, cores, true);
        team_run(team, measure, s);
        team_close(team);
        *out = (struct predict_group_sums){ .n_ranks = n_ranks, .n_points = N_SIZES };
        for (int i = 0; i < N_SIZES; i++) {
            qsort(s->ps[i], (size_t)s->n_rounds, sizeof(s->ps[i][0]), order_of);
            out->bytes[i] = floats_of(i) * (int64_t)sizeof(float);
            out->ps[i] = s->ps[i][s->n_rounds / 2];
        }
        for (int32_t r = 0; r < n_ranks; r++)
            mem_give(s->values[r]);
    }
    compute_group_close(&s->group);
    mem_give(s);
    return status;
}

enum status run_sums(const struct device_spec *device, int64_t budget_ns,
                     struct predict_group *group, struct fault *fault)
{
    enum status status = STATUS_OK;
    group->n_sums = 0;
    for (int32_t n = 2; n <= device->n_cores && n <= COMPUTE_GROUP_RANKS_MAX && status == STATUS_OK;
         n *= 2) {
        status = measure_degree(device, n, budget_ns, &group->sums[group->n_sums], fault);
        group->n_sums += status == STATUS_OK;
    }
    return status;
}
