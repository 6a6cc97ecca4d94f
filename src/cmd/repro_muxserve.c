/* The claims of MuxServe that need only scheduling: placement is the paper's. */
#include "cmd/repro.h"

/* Three ways to run the same services on the same four devices. */
static const char *const policies[] = { "adbs", "mux-rr", "mux-fcfs" };

/* Weighted throughput of a key, mean over seeds: sum(rate X) / sum(rate). */
static double weighted(const struct repro *repro, const char *key)
{
    double sum = 0;
    for (int i = 0; i < repro_n_seeds(repro); i++) {
        const struct sim_case *c = repro_case(repro, key, i);
        sum += metrics_score_weighted(c->scores, c->set.n_services);
    }
    return sum / repro_n_seeds(repro);
}

static double least_served(const struct score *score)
{
    return score->served_fraction;
}

static double requests(const struct score *score)
{
    return score->served_per_s;
}

static enum status compare(struct repro *repro, const char *yaml, const char *const papers[3],
                           const char *const totals[3], struct fault *fault)
{
    double x[3];
    for (int i = 0; i < 3; i++) {
        enum status status = repro_simulate(repro, policies[i], policies[i], yaml, fault);
        if (status != STATUS_OK)
            return status;
        x[i] = weighted(repro, policies[i]);
    }
    for (int i = 0; i < 3; i++)
        repro_note(repro, policies[i], papers[i],
                   "%.2f req/s weighted, %.2f in all (paper: %s), least served %.0f%%", x[i],
                   repro_mean(repro, policies[i], requests), totals[i],
                   100 * repro_mean(repro, policies[i], least_served));
    repro_judge(repro, x[0] > x[1], "ADBS serves more than round robin", "yes", "%.2f : %.2f", x[0],
                x[1]);
    repro_judge(repro, x[1] > x[2], "round robin serves more than FCFS", "yes", "%.2f : %.2f", x[1],
                x[2]);
    repro_differs(repro, "requests that the window leaves unfinished are misses; the paper gives "
                         "each model so much work as its planner predicts");
    repro_differs(repro, "lanes are shares of one engine; times are the fits of the published A100 "
                         "tables, without the host time of 2023");
    return STATUS_OK;
}

static enum status fig9a(struct repro *repro, struct fault *fault)
{
    return compare(repro,
                   "workload: m5\n"
                   "device: a100\n"
                   "duration: 240s\n"
                   "until: 240s\n"
                   "engines:\n"
                   "  - count: 1\n"
                   "    tp: 4\n",
                   (const char *const[]){ "6.2 req/s", "4.1 req/s", "3.8 req/s" },
                   (const char *const[]){ "-", "-", "-" }, fault);
}

static enum status fig9b(struct repro *repro, struct fault *fault)
{
    return compare(repro,
                   "workload: m6\n"
                   "device: a100\n"
                   "duration: 240s\n"
                   "until: 240s\n"
                   "engines:\n"
                   "  - count: 1\n"
                   "    tp: 4\n",
                   (const char *const[]){ "6.6 req/s", "4.9 req/s", "3.2 req/s" },
                   (const char *const[]){ "7.48", "5.81", "3.92" }, fault);
}

const struct repro_claim repro_muxserve[] = {
    { "muxserve-fig9a", "MuxServe, Figure 9a", "ADBS against round robin and FCFS, lengths 2:1:1",
      fig9a },
    { "muxserve-fig9b", "MuxServe, Figure 9b", "ADBS against round robin and FCFS, lengths 4:1",
      fig9b },
    { NULL, NULL, NULL, NULL },
};
