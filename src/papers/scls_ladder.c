/* The claims of SCLS about its parts: the ladder (Figures 15, 16), the spread of completion (17),
 * the length of a slice (18 to 21) and the number of workers (22). */
#include "papers/scls.h"
#include "papers/register.h"

#include <stdio.h>

#define RULES "router_thresholds: memory=rules\n"

static void say_setting(struct papers *repro)
{
    papers_differs(repro,
                   "step times are fits of published A100 tables of LLaMA-13B; lengths are a "
                   "lognormal after the paper's account of CodeFuse's");
}

/* ---- Figures 15 and 16. ---- */

static const char *const ladder[] = { "sls/rr",    "cohort/so", "cohort/pm",
                                      "cohort/ab", "cohort/lb", "cohort/scls" };
enum { N_LADDER = (int)COUNT_OF(ladder) };

/* Judges whether this figure is better from rung to rung, and names the first rung where it is not.
 * up: more is better. */
static void judge_rungs(struct papers *repro, const double at[N_LADDER], bool up, const char *what)
{
    int broken = 0;
    for (int i = 1; i < N_LADDER && broken == 0; i++)
        if (up ? at[i] <= at[i - 1] : at[i] >= at[i - 1])
            broken = i;
    if (broken == 0)
        papers_judge(repro, true, what, "at every rung", "%.2f to %.2f", at[0], at[N_LADDER - 1]);
    else
        papers_judge(repro, false, what, "at every rung", "not from %s to %s: %.2f, %.2f",
                     ladder[broken - 1], ladder[broken], at[broken - 1], at[broken]);
}

enum status papers_scls_ladder_fig15_run(struct papers *repro, struct fault *fault)
{
    return papers_scls_run_each(repro, ladder, N_LADDER, RULES, fault);
}

void papers_scls_ladder_fig15_judge(struct papers *repro)
{
    struct papers_scls_worth w[N_LADDER];
    double per_s[N_LADDER], mean_s[N_LADDER], p95_s[N_LADDER];
    for (int i = 0; i < N_LADDER; i++) {
        char key[8];
        snprintf(key, sizeof(key), "%d", i);
        w[i] = papers_scls_of(repro, key);
        per_s[i] = w[i].per_s;
        mean_s[i] = w[i].mean_s;
        p95_s[i] = w[i].p95_s;
        papers_note(repro, ladder[i], "-",
                    "%.2f req/s, mean %.0f s, p95 %.0f s; invalid %.0f, batch %.1f, pads %.0f",
                    w[i].per_s, w[i].mean_s, w[i].p95_s, w[i].invalid, w[i].batch, w[i].pads);
    }
    judge_rungs(repro, per_s, true, "throughput rises");
    judge_rungs(repro, mean_s, false, "mean response falls");
    judge_rungs(repro, p95_s, false, "p95 response falls");
    papers_judge(repro, w[1].invalid < w[0].invalid / 2, "slicing cuts invalid tokens", "greatly",
                 "%.0f to %.0f", w[0].invalid, w[1].invalid);
    papers_judge(repro, w[2].pads < w[1].pads, "the DP cuts pads", "greatly", "%.0f to %.0f",
                 w[1].pads, w[2].pads);
    papers_judge(repro, w[3].batch > w[2].batch, "without a cap batches are larger", "greatly",
                 "%.1f to %.1f", w[2].batch, w[3].batch);
    papers_judge(repro, w[3].pads > w[2].pads, "at the price of pads", "slightly more",
                 "%.0f to %.0f", w[2].pads, w[3].pads);
    say_setting(repro);
}

/* ---- Figure 17. ---- */

static const char *const fig17_policies[] = { "cohort/scls", "cohort/lb", "cohort/ab", "sls/rr",
                                              "ils-fastgen/rr" };
static const int fig17_rates[] = { 12, 20, 28 };
enum { N_FIG17 = (int)COUNT_OF(fig17_policies) };

enum status papers_scls_ladder_fig17_run(struct papers *repro, struct fault *fault)
{
    enum status status = STATUS_OK;
    for (int i = 0; i < N_FIG17 * (int)COUNT_OF(fig17_rates) && status == STATUS_OK; i++) {
        char key[16];
        int rate = fig17_rates[i / N_FIG17], p = i % N_FIG17;
        snprintf(key, sizeof(key), "%d-%d", rate, p);
        status = papers_scls_run(
            repro, &(struct papers_scls_setting){ key, fig17_policies[p], rate, 8, RULES }, fault);
    }
    return status;
}

void papers_scls_ladder_fig17_judge(struct papers *repro)
{
    static const char *const names[] = { "12 requests/s", "20 requests/s", "28 requests/s" };
    int n_below_sls = 0, n_below_ils = 0, n_even = 0, n = (int)COUNT_OF(fig17_rates);
    for (int i = 0; i < n; i++) {
        double s[N_FIG17];
        for (int p = 0; p < N_FIG17; p++) {
            char key[16];
            snprintf(key, sizeof(key), "%d-%d", fig17_rates[i], p);
            s[p] = papers_scls_of(repro, key).deviation_s;
        }
        n_below_sls += s[0] < s[3];
        n_below_ils += s[0] < s[4];
        n_even += s[1] < s[2];
        papers_note(repro, names[i], "-", "scls %.1f s, lb %.1f, ab %.1f, sls %.1f, fastgen %.1f",
                    s[0], s[1], s[2], s[3], s[4]);
    }
    papers_judge(repro, n_below_sls == n, "scls spreads less than sls", "at each rate",
                 "at %d of %d rates", n_below_sls, n);
    papers_judge(repro, n_below_ils == n, "scls spreads less than ils", "at each rate",
                 "at %d of %d rates", n_below_ils, n);
    papers_judge(repro, n_even == n, "max-min (lb) evens out what turns (ab) leave", "yes",
                 "at %d of %d rates", n_even, n);
    say_setting(repro);
    papers_differs(repro, "FastGen here keeps up with the arrivals, so that its workers end with "
                          "the last answers and not with a queue");
}

/* ---- Figures 18 to 21. ---- */

static const int fig18_slices[] = { 32, 64, 128, 256, 512, 1024 };

enum status papers_scls_ladder_fig18_run(struct papers *repro, struct fault *fault)
{
    enum status status = STATUS_OK;
    for (size_t i = 0; i < COUNT_OF(fig18_slices) && status == STATUS_OK; i++) {
        char key[8], more[80];
        snprintf(key, sizeof(key), "%d", fig18_slices[i]);
        snprintf(more, sizeof(more), "router_thresholds: [memory=rules, n_slice=%d]\n",
                 fig18_slices[i]);
        status = papers_scls_run(
            repro, &(struct papers_scls_setting){ key, "cohort/scls", 20, 8, more }, fault);
    }
    return status;
}

void papers_scls_ladder_fig18_judge(struct papers *repro)
{
    static const char *const names[] = { "slices of 32",  "slices of 64",  "slices of 128",
                                         "slices of 256", "slices of 512", "slices of 1024" };
    enum { N = (int)COUNT_OF(fig18_slices) };
    struct papers_scls_worth w[N];
    int best = 0, soonest = 0;
    for (int i = 0; i < N; i++) {
        char key[8];
        snprintf(key, sizeof(key), "%d", fig18_slices[i]);
        w[i] = papers_scls_of(repro, key);
        best = w[i].per_s > w[best].per_s ? i : best;
        soonest = w[i].mean_s < w[soonest].mean_s ? i : soonest;
        papers_note(
            repro, names[i], "-",
            "%.2f req/s, mean %.0f s, p95 %.0f s; batch %.1f, invalid %.0f, pads %.0f; %.1f "
            "slices, %.1f%% early, CT std %.1f s",
            w[i].per_s, w[i].mean_s, w[i].p95_s, w[i].batch, w[i].invalid, w[i].pads, w[i].slices,
            100 * w[i].early, w[i].deviation_s);
    }
    papers_judge(repro, best > 0 && best < N - 1, "throughput is best at a middling slice",
                 "about 128", "%s", names[best]);
    papers_judge(repro, soonest > 0 && soonest < N - 1, "mean response is best at a middling slice",
                 "about 128", "%s", names[soonest]);
    papers_judge(repro, w[N - 1].batch < w[0].batch, "longer slices: smaller batches", "yes",
                 "%.1f to %.1f", w[0].batch, w[N - 1].batch);
    papers_judge(repro, w[N - 1].invalid > w[0].invalid, "more invalid tokens", "yes",
                 "%.0f to %.0f", w[0].invalid, w[N - 1].invalid);
    papers_judge(repro, w[N - 1].pads < w[0].pads, "fewer pads", "yes", "%.0f to %.0f", w[0].pads,
                 w[N - 1].pads);
    papers_judge(repro, w[N - 1].early > w[0].early, "more early returns", "yes",
                 "%.2f%% to %.1f%%", 100 * w[0].early, 100 * w[N - 1].early);
    papers_judge(repro, w[N - 1].deviation_s > w[2].deviation_s, "a worse balance than at 128",
                 "yes", "%.1f s to %.1f s", w[2].deviation_s, w[N - 1].deviation_s);
    say_setting(repro);
}

/* ---- Figure 22. ---- */

static const int fig22_workers[] = { 1, 2, 4, 6, 8 };

enum status papers_scls_ladder_fig22_run(struct papers *repro, struct fault *fault)
{
    enum status status = STATUS_OK;
    for (size_t i = 0; i < COUNT_OF(fig22_workers) && status == STATUS_OK; i++) {
        char key[8];
        snprintf(key, sizeof(key), "%d", fig22_workers[i]);
        status = papers_scls_run(
            repro, &(struct papers_scls_setting){ key, "cohort/scls", 20, fig22_workers[i], RULES },
            fault);
    }
    return status;
}

void papers_scls_ladder_fig22_judge(struct papers *repro)
{
    static const char *const names[] = { "1 worker", "2 workers", "4 workers", "6 workers",
                                         "8 workers" };
    double one = 0, least = 1, most = 1;
    for (size_t i = 0; i < COUNT_OF(fig22_workers); i++) {
        char key[8];
        snprintf(key, sizeof(key), "%d", fig22_workers[i]);
        double per_s = papers_scls_of(repro, key).per_s;
        one = i == 0 ? per_s : one;
        double part = per_s / (one * fig22_workers[i]);
        least = part < least ? part : least;
        most = part > most ? part : most;
        papers_note(repro, names[i], "-", "%.2f req/s, %.2f of each", per_s,
                    per_s / fig22_workers[i]);
    }
    papers_judge(repro, least > 0.8 && most < 1.25, "throughput grows linearly with the workers",
                 "yes", "%.0f to %.0f%% of one worker's, of each", 100 * least, 100 * most);
    say_setting(repro);
}
