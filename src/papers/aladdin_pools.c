/* The claims of Aladdin about how many workers a rate needs: Equation 7, and groups of workers with
 * routers of their own, by Equation 8. */
#include "papers/aladdin.h"
#include "papers/register.h"

#include "base/time.h"
#include "place/workers.h"
#include <stdio.h>

/* ---- Equation 7: workers are linear in the rate. ---- */

enum { N_POINTS = 6 };

/* Returns the largest distance of the fewest workers from the line. */
static double residual(const struct workers_line *line, const struct workers_point *points, int n)
{
    double worst = 0;
    for (int i = 0; i < n; i++) {
        double off = line->k5 * points[i].rate + line->c5 - points[i].n;
        off = off < 0 ? -off : off;
        worst = off > worst ? off : worst;
    }
    return worst;
}

static const int eq7_rates[N_POINTS] = { 2, 5, 10, 15, 20, 30 };

static int n_points_of(const struct papers *repro)
{
    return papers_is_quick(repro) ? 4 : N_POINTS;
}

static struct papers_aladdin_search eq7_search(int rate)
{
    return (struct papers_aladdin_search){
        "eq7", "fcfs/best-fit", rate, 1 + rate / 5, 6 + rate, 1, 1, papers_aladdin_mixed
    };
}

enum status papers_aladdin_pools_eq7_run(struct papers *repro, struct fault *fault)
{
    enum status status = STATUS_OK;
    for (int r = 0; r < n_points_of(repro) && status == STATUS_OK; r++) {
        const struct papers_aladdin_search s = eq7_search(eq7_rates[r]);
        status = papers_aladdin_run(repro, &s, fault);
    }
    return status;
}

void papers_aladdin_pools_eq7_judge(struct papers *repro)
{
    int n = n_points_of(repro), n_fitted = 0;
    struct workers_point points[N_POINTS], fitted[N_POINTS];
    struct workers_line line;
    /* ShareGPT's outputs have a deviation equal to their mean; a heartbeat of the scaler is 10
     * s. */
    double rate_min = place_workers_rate_min(338, 338, 10, 0.2);
    for (int r = 0; r < n; r++) {
        double gpus[PAPERS_TARGETS];
        const struct papers_aladdin_search s = eq7_search(eq7_rates[r]);
        papers_aladdin_count(repro, &s, gpus);
        points[r] = (struct workers_point){ eq7_rates[r], gpus[1] };
        if (eq7_rates[r] >= rate_min)
            fitted[n_fitted++] = points[r];
        papers_note(repro, "workers for 99%", "-", "%d/s: %.2f", eq7_rates[r], gpus[1]);
    }
    CHECK(
        place_workers_fit(points, n, rate_min, &line)); /* the rates differ, so they determine it */
    double off = residual(&line, fitted, n_fitted);
    papers_judge(repro, off <= 1, "fewest workers on a line above R", "linear",
                 "%.3f r + %.2f, at most %.2f workers off, R = %.1f/s", line.k5, line.c5, off,
                 rate_min);
    const double high = eq7_rates[n - 1], low = eq7_rates[0];
    int32_t at_low = place_workers_count(&line, low), at_high = place_workers_count(&line, high);
    papers_judge(repro, at_low >= points[0].n && at_high >= points[n - 1].n - 0.5,
                 "the ceiling suffices at both ends", "yes",
                 "%d for %.1f at %g/s, %d for %.1f at %g/s", at_low, points[0].n, low, at_high,
                 points[n - 1].n, high);
    papers_differs(repro,
                   "LLaMA-13B on A100s with PCIe, fewest workers of best fit for 99% of the "
                   "requests, mean of seeds; R is where a 10 s mean of outputs is within 20%");
}

/* ---- Equation 8: groups of workers with their own routers. ---- */

/* Returns the wall time of a whole simulation over its requests, an upper bound of the time that
 * placing one takes. */
static enum status time_of_one(struct papers *repro, int rate, int n_workers, double *s,
                               struct fault *fault)
{
    char key[48], yaml[640];
    const struct papers_aladdin_search one = { "pass", "fcfs/best-fit",     rate, 0, 0, 1,
                                               1,      papers_aladdin_mixed };
    snprintf(key, sizeof(key), "%s-%d", one.key, n_workers);
    papers_aladdin_mixed(yaml, sizeof(yaml), &one, n_workers);
    int64_t begin_ns = time_now_ns();
    enum status status = papers_simulate(repro, key, one.policy, yaml, fault);
    double n = status == STATUS_OK ? (double)papers_score(repro, key, 0)->n_offered : 1;
    *s = (double)(time_now_ns() - begin_ns) * 1e-9 / (n * papers_n_seeds(repro));
    return status;
}

/* The fewest workers for 99%: in one group at 10 and 20/s, and at 30/s in one, in two, and in four,
 * which is more than Equation 8 allows. */
enum { ONE = 2, TWO, FOUR, N_POOLS };
static const int pool_rates[N_POOLS] = { 10, 20, 30, 30, 30 };
static const int pool_groups[N_POOLS] = { 1, 1, 1, 2, 4 };

static struct papers_aladdin_search pool_search(int pool)
{
    static const char *const keys[N_POOLS] = { "one", "one", "one", "two", "four" };
    int rate = pool_rates[pool], n_groups = pool_groups[pool];
    return (struct papers_aladdin_search){ keys[pool], "fcfs/best-fit",
                                           rate,       max_i32(1 + rate / 5, n_groups),
                                           6 + rate,   1,
                                           n_groups,   papers_aladdin_mixed };
}

enum status papers_aladdin_pools_groups_run(struct papers *repro, struct fault *fault)
{
    double small_s = 0, large_s = 0;
    enum status status = STATUS_OK;
    for (int i = 0; i < N_POOLS && status == STATUS_OK; i++) {
        const struct papers_aladdin_search s = pool_search(i);
        status = papers_aladdin_run(repro, &s, fault);
    }
    if (status == STATUS_OK)
        status = time_of_one(repro, 30, 15, &small_s, fault);
    if (status == STATUS_OK)
        status = time_of_one(repro, 300, 140, &large_s, fault);
    papers_keep(repro, small_s);
    papers_keep(repro, large_s);
    return status;
}

void papers_aladdin_pools_groups_judge(struct papers *repro)
{
    static const double rates[] = { 30, 1000, 10000, 30000, 100000 };
    static char names[COUNT_OF(rates)][32];
    struct workers_point points[N_POOLS];
    struct workers_line line;
    double small_s = papers_kept(repro, 0), large_s = papers_kept(repro, 1);
    for (int i = 0; i < N_POOLS; i++) {
        double gpus[PAPERS_TARGETS];
        const struct papers_aladdin_search s = pool_search(i);
        papers_aladdin_count(repro, &s, gpus);
        points[i] = (struct workers_point){ pool_rates[i], gpus[1] };
    }
    CHECK(
        place_workers_fit(points, ONE + 1, 0, &line)); /* the rates differ, so they determine it */
    papers_note(repro, "time of a request, 15 workers, 140", "-", "at most %.1f us, %.1f us",
                1e6 * small_s, 1e6 * large_s);
    for (size_t r = 0; r < COUNT_OF(rates); r++) {
        struct workers_groups g = place_workers_group(&line, rates[r], 1 / large_s, 0.1);
        snprintf(names[r], sizeof(names[r]), "groups at %.0f/s", rates[r]);
        papers_note(repro, names[r], "-", "%d of %d workers in all, %d more than one group has%s",
                    g.n_groups, g.n_workers, g.n_extra, g.is_slow ? "; too few to keep up" : "");
    }
    struct workers_groups two = place_workers_group(&line, 30, 15, 0.1);
    papers_judge(repro, points[TWO].n <= 1.1 * points[ONE].n && two.n_groups == 2,
                 "two groups at 30/s: workers for 99%", "at most 10% more",
                 "%.1f for %.1f (by Equation 8 %d more)", points[TWO].n, points[ONE].n,
                 two.n_extra);
    papers_note(repro, "four, more than it allows", "-", "%.1f", points[FOUR].n);
    papers_differs(repro,
                   "LLaMA-13B on A100s with PCIe, best fit; the line is of 10, 20 and 30/s; the "
                   "time is of all that is simulated, so more groups than are needed");
}
