/* The claims of MuxServe that need only scheduling; the placement is the paper's. */
#include "papers/papers.h"
#include "papers/register.h"

#include "base/str.h"
#include <stdio.h>

/* Three ways to run the same services on the same four devices. */
static const char *const policies[] = { "adbs", "mux-rr", "mux-fcfs" };

/* Runs the three policies in a setting with more lines. */
static enum status run_three(struct papers *repro, const char *const keys[3], const char *yaml,
                             const char *more, struct fault *fault)
{
    struct str all;
    enum status status = STATUS_OK;
    str_init(&all);
    str_printf(&all, "%s%s", yaml, more);
    for (int i = 0; i < 3 && status == STATUS_OK; i++)
        status = papers_simulate(repro, keys[i], policies[i], all.at, fault);
    str_free(&all);
    return status;
}

static void note_three(struct papers *repro, const char *const keys[3], const char *setting)
{
    for (int i = 0; i < 3; i++)
        papers_note(repro, keys[i], setting,
                    "%.2f req/s weighted, %.2f in all, least served %.0f%%, NL %.2f",
                    papers_weighted(repro, keys[i]), papers_mean(repro, keys[i], papers_served),
                    100 * papers_mean(repro, keys[i], papers_least_served),
                    papers_mean(repro, keys[i], papers_nl));
}

/* One figure: a workload on four devices as one engine. */
struct figure {
    const char *workload;
    const char *tight; /* lines that leave the pool short */
    const char *papers[3], *totals[3];
};
static const char *const twice[] = { "adbs-twice", "mux-rr-twice", "mux-fcfs-twice" };
static const char *const shorts[] = { "adbs-tight", "mux-rr-tight", "mux-fcfs-tight" };

static enum status run_figure(struct papers *repro, const struct figure *figure,
                              struct fault *fault)
{
    char yaml[256];
    snprintf(yaml, sizeof(yaml),
             "workload: %s\n"
             "device: a100\n"
             "duration: 240s\n"
             "until: 240s\n"
             "predictor: mean\n"
             "engines:\n"
             "  - count: 1\n"
             "    tp: 4\n",
             figure->workload);
    enum status status = run_three(repro, policies, yaml, "", fault);
    if (status == STATUS_OK)
        status = run_three(repro, twice, yaml, "rate_scale: 2\n", fault);
    if (status == STATUS_OK)
        status = run_three(repro, shorts, yaml, figure->tight, fault);
    return status;
}

static void judge_figure(struct papers *repro, const struct figure *figure)
{
    double x[3];
    for (int i = 0; i < 3; i++)
        x[i] = papers_weighted(repro, policies[i]);
    for (int i = 0; i < 3; i++)
        papers_note(repro, policies[i], figure->papers[i],
                    "%.2f req/s weighted, %.2f in all (paper: %s), least served %.0f%%", x[i],
                    papers_mean(repro, policies[i], papers_served), figure->totals[i],
                    100 * papers_mean(repro, policies[i], papers_least_served));
    note_three(repro, twice, "twice the rates");
    note_three(repro, shorts, "a pool that is short");
    papers_judge(repro, x[0] > x[1], "ADBS serves more than round robin", "yes", "%.2f : %.2f",
                 x[0], x[1]);
    papers_judge(repro, x[1] > x[2], "round robin serves more than FCFS", "yes", "%.2f : %.2f",
                 x[1], x[2]);
    papers_differs(repro, "requests that the window leaves unfinished are misses; the paper gives "
                          "each model as much work as its planner predicts");
    double least = papers_mean(repro, twice[0], papers_least_served);
    double fcfs = papers_mean(repro, twice[2], papers_least_served);
    papers_judge(repro, least >= fcfs, "at twice the rates ADBS's least served is FCFS's or better",
                 "not reported", "%.0f%% : %.0f%%", 100 * least, 100 * fcfs);
    double adbs = papers_weighted(repro, shorts[0]), rr = papers_weighted(repro, shorts[1]);
    papers_judge(repro, adbs > 1.02 * rr,
                 "in a pool that is short ADBS serves more than round robin", "1.3x to 1.5x",
                 "%.2f : %.2f, %.2fx", adbs, rr, adbs / rr);
    papers_differs(repro,
                   "four A100s with two lanes of half of them; times and the lanes' slowdowns "
                   "are fits of the authors' tables, without the host time of 2023, so the "
                   "paper's rates do not saturate us and nearly all is served by all three");
    papers_differs(repro,
                   "the short pool is what 45% (Figure 9a, at 1.5 times the rates) or 66% (9b) "
                   "of the devices' memory leave beside the weights: quotas matter where "
                   "KV is what all wait for");
    papers_differs(repro, "a mean weighted by rate hides a starved model, so the least served one "
                          "stands beside it");
}

static const struct figure fig9a = { "m5",
                                     "memory_part: 0.45\nrate_scale: 1.5\n",
                                     { "6.2 req/s", "4.1 req/s", "3.8 req/s" },
                                     { "-", "-", "-" } };
static const struct figure fig9b = { "m6",
                                     "memory_part: 0.66\n",
                                     { "6.6 req/s", "4.9 req/s", "3.2 req/s" },
                                     { "7.48", "5.81", "3.92" } };

enum status papers_muxserve_fig9a_run(struct papers *repro, struct fault *fault)
{
    return run_figure(repro, &fig9a, fault);
}

void papers_muxserve_fig9a_judge(struct papers *repro)
{
    judge_figure(repro, &fig9a);
}

enum status papers_muxserve_fig9b_run(struct papers *repro, struct fault *fault)
{
    return run_figure(repro, &fig9b, fault);
}

void papers_muxserve_fig9b_judge(struct papers *repro)
{
    judge_figure(repro, &fig9b);
}
