/* The claims of MuxServe that need only scheduling; the placement is the paper's. */
#include "papers/papers.h"
#include "papers/register.h"
#include "papers/sweep.h"

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
    const char *sharegpt; /* the same rates with ShareGPT's lengths in the paper's proportion */
    const char *hosts;    /* the authors' host: so long for each request of a step */
    const char *tight;    /* lines that leave the pool short */
    const char *papers[3], *totals[3];
};
static const char *const lengths[] = { "adbs-sharegpt", "mux-rr-sharegpt", "mux-fcfs-sharegpt" };
static const char *const twice[] = { "adbs-twice", "mux-rr-twice", "mux-fcfs-twice" };
static const char *const shorts[] = { "adbs-tight", "mux-rr-tight", "mux-fcfs-tight" };

static enum status run_setting(struct papers *repro, const char *const keys[3],
                               const char *workload, const char *hosts, const char *more,
                               struct fault *fault)
{
    char yaml[1024];
    snprintf(yaml, sizeof(yaml),
             "workload: \"%s\"\n"
             "device: a100\n"
             "duration: 240s\n"
             "until: 240s\n"
             "predictor: mean\n"
             "services:\n%s"
             "engines:\n"
             "  - count: 1\n"
             "    tp: 4\n",
             workload, hosts);
    return run_three(repro, keys, yaml, more, fault);
}

static enum status run_figure(struct papers *repro, const struct figure *figure,
                              struct fault *fault)
{
    const char *hosts = figure->hosts;
    enum status status = run_setting(repro, policies, figure->workload, hosts, "", fault);
    if (status == STATUS_OK)
        status = run_setting(repro, lengths, figure->sharegpt, hosts, "", fault);
    if (status == STATUS_OK)
        status = run_setting(repro, twice, figure->workload, hosts, "rate_scale: 2\n", fault);
    if (status == STATUS_OK)
        status = run_setting(repro, shorts, figure->workload, hosts, figure->tight, fault);
    return status;
}

/* Judges one setting: the first policy serves more than the second by more than a tie. */
static void judge_more(struct papers *repro, const char *better, const char *worse,
                       const char *what, const char *paper)
{
    double a = papers_weighted(repro, better), b = papers_weighted(repro, worse);
    papers_judge(repro, a > (1 + PAPERS_EVEN) * b, what, paper, "%.2f : %.2f, %.3fx", a, b, a / b);
    if (a < PAPERS_SIZE_PART * papers_sweep_size(paper) * b)
        papers_by_direction(repro);
}

static void judge_figure(struct papers *repro, const struct figure *figure)
{
    for (int i = 0; i < 3; i++)
        papers_note(repro, policies[i], figure->papers[i],
                    "%.2f req/s weighted, %.2f in all (paper: %s), least served %.0f%%",
                    papers_weighted(repro, policies[i]),
                    papers_mean(repro, policies[i], papers_served), figure->totals[i],
                    100 * papers_mean(repro, policies[i], papers_least_served));
    note_three(repro, lengths, "ShareGPT's lengths");
    note_three(repro, twice, "twice the rates");
    note_three(repro, shorts, "a pool that is short");
    judge_more(repro, policies[0], policies[1], "ADBS serves more than round robin", "1.43x");
    judge_more(repro, policies[1], policies[2], "round robin serves more than FCFS", "yes");
    judge_more(repro, lengths[0], lengths[1],
               "with ShareGPT's lengths ADBS serves more than round robin", "1.43x");
    judge_more(repro, lengths[0], lengths[2], "with ShareGPT's lengths ADBS serves more than FCFS",
               "1.85x");
    papers_differs(repro, "requests that the window leaves unfinished are misses; the paper gives "
                          "each model as much work as its planner predicts");
    double least = papers_mean(repro, twice[0], papers_least_served);
    double fcfs = papers_mean(repro, twice[2], papers_least_served);
    papers_judge(repro, least > fcfs, "at twice the rates ADBS's least served is above FCFS's",
                 "not reported", "%.0f%% : %.0f%%", 100 * least, 100 * fcfs);
    judge_more(repro, shorts[0], shorts[1],
               "in a pool that is short ADBS serves more than round robin", "1.43x");
    papers_differs(repro, "four A100s with two lanes of half of them; times and the lanes' "
                          "slowdowns are fits of the authors' tables, and their host takes 70 to "
                          "100 us for each request of a step");
    papers_differs(repro, "the paper gives proportions of lengths and no tokens: the first setting "
                          "has 128 and 126 tokens where the proportion is 1, as in its logs, and "
                          "the second ShareGPT's 161 and 338");
    papers_differs(repro,
                   "the short pool is what 45% (Figure 9a, at 1.5 times the rates) or 66% (9b) "
                   "of the devices' memory leave beside the weights: quotas matter where "
                   "KV is what all wait for");
    papers_differs(repro, "a mean weighted by rate hides a starved model, so the least served one "
                          "stands beside it");
}

static const struct figure fig9a = {
    "m5",
    "sharegpt:rate=2,service=30b,model=llama-30b,scale=2+sharegpt:rate=8,service=13b,"
    "model=llama-13b+sharegpt:rate=8,service=7b,model=llama-7b",
    "  30b: {host_us_per_request: 70}\n"
    "  13b: {host_us_per_request: 80}\n"
    "  7b: {host_us_per_request: 100}\n",
    "memory_part: 0.45\nrate_scale: 1.5\n",
    { "6.2 req/s", "4.1 req/s", "3.8 req/s" },
    { "-", "-", "-" }
};
static const struct figure fig9b = {
    "m6",
    "sharegpt:rate=1,service=65b,model=llama-65b,scale=4+sharegpt:rate=8,service=30b,"
    "model=llama-30b",
    "  65b: {host_us_per_request: 70}\n"
    "  30b: {host_us_per_request: 70}\n",
    "memory_part: 0.66\n",
    { "6.6 req/s", "4.9 req/s", "3.2 req/s" },
    { "7.48", "5.81", "3.92" }
};

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
