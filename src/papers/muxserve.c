/* The claims of MuxServe that need only scheduling; the placement is the paper's. */
#include "papers/papers.h"

#include "base/str.h"

/* Three ways to run the same services on the same four devices. */
static const char *const policies[] = { "adbs", "mux-rr", "mux-fcfs" };

/* Returns the weighted throughput of a key, as a mean over seeds: sum(rate X) / sum(rate). */
static double weighted(const struct papers *repro, const char *key)
{
    double sum = 0;
    for (int i = 0; i < papers_n_seeds(repro); i++) {
        const struct scenario_case *c = papers_case(repro, key, i);
        sum += metrics_score_weighted(c->scores, c->set.n_services);
    }
    return sum / papers_n_seeds(repro);
}

static double least_served(const struct score *score)
{
    return score->served_fraction;
}

static double requests(const struct score *score)
{
    return score->served_per_s;
}

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
                    weighted(repro, keys[i]), papers_mean(repro, keys[i], requests),
                    100 * papers_mean(repro, keys[i], least_served),
                    papers_mean(repro, keys[i], papers_nl));
}

/* tight: lines that leave the pool short. */
static enum status compare(struct papers *repro, const char *yaml, const char *tight,
                           const char *const papers[3], const char *const totals[3],
                           struct fault *fault)
{
    double x[3];
    static const char *const keys[] = { "adbs-twice", "mux-rr-twice", "mux-fcfs-twice" };
    static const char *const shorts[] = { "adbs-tight", "mux-rr-tight", "mux-fcfs-tight" };
    enum status status = run_three(repro, policies, yaml, "", fault);
    if (status == STATUS_OK)
        status = run_three(repro, keys, yaml, "rate_scale: 2\n", fault);
    if (status == STATUS_OK)
        status = run_three(repro, shorts, yaml, tight, fault);
    if (status != STATUS_OK)
        return status;
    for (int i = 0; i < 3; i++)
        x[i] = weighted(repro, policies[i]);
    for (int i = 0; i < 3; i++)
        papers_note(repro, policies[i], papers[i],
                    "%.2f req/s weighted, %.2f in all (paper: %s), least served %.0f%%", x[i],
                    papers_mean(repro, policies[i], requests), totals[i],
                    100 * papers_mean(repro, policies[i], least_served));
    note_three(repro, keys, "twice the rates");
    note_three(repro, shorts, "a pool that is short");
    papers_judge(repro, x[0] > x[1], "ADBS serves more than round robin", "yes", "%.2f : %.2f",
                 x[0], x[1]);
    papers_judge(repro, x[1] > x[2], "round robin serves more than FCFS", "yes", "%.2f : %.2f",
                 x[1], x[2]);
    papers_differs(repro, "requests that the window leaves unfinished are misses; the paper gives "
                          "each model as much work as its planner predicts");
    double least = papers_mean(repro, keys[0], least_served);
    double fcfs = papers_mean(repro, keys[2], least_served);
    papers_judge(repro, least >= fcfs, "at twice the rates ADBS's least served is FCFS's or better",
                 "not reported", "%.0f%% : %.0f%%", 100 * least, 100 * fcfs);
    double adbs = weighted(repro, shorts[0]), rr = weighted(repro, shorts[1]);
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
    return STATUS_OK;
}

static enum status fig9a(struct papers *repro, struct fault *fault)
{
    return compare(repro,
                   "workload: m5\n"
                   "device: a100\n"
                   "duration: 240s\n"
                   "until: 240s\n"
                   "predictor: mean\n"
                   "engines:\n"
                   "  - count: 1\n"
                   "    tp: 4\n",
                   "memory_part: 0.45\nrate_scale: 1.5\n",
                   (const char *const[]){ "6.2 req/s", "4.1 req/s", "3.8 req/s" },
                   (const char *const[]){ "-", "-", "-" }, fault);
}

static enum status fig9b(struct papers *repro, struct fault *fault)
{
    return compare(repro,
                   "workload: m6\n"
                   "device: a100\n"
                   "duration: 240s\n"
                   "until: 240s\n"
                   "predictor: mean\n"
                   "engines:\n"
                   "  - count: 1\n"
                   "    tp: 4\n",
                   "memory_part: 0.66\n",
                   (const char *const[]){ "6.6 req/s", "4.9 req/s", "3.2 req/s" },
                   (const char *const[]){ "7.48", "5.81", "3.92" }, fault);
}

const struct papers_claim papers_muxserve[] = {
    { "muxserve-fig9a", "MuxServe, Figure 9a", "ADBS against round robin and FCFS, lengths 2:1:1",
      fig9a },
    { "muxserve-fig9b", "MuxServe, Figure 9b", "ADBS against round robin and FCFS, lengths 4:1",
      fig9b },
    { NULL, NULL, NULL, NULL },
};
