/* The claims of SCLS: slices against static batches and against continuous batching (Figures 5, 12,
 * 13 and 14), and the table of all. The setting is section 5's: 8 workers, LLaMA2-13B, an A100-80G
 * each, Poisson arrivals for 10 minutes, inputs and outputs up to 1024, slices of 128 tokens. */
#include "papers/scls.h"
#include "papers/register.h"

#include <stdio.h>

/* DeepSpeed's memory is computed by rules, Hugging Face's by bytes (section 4.2), with its interval
 * and fixed batch. */
#define DEEPSPEED "router_thresholds: memory=rules\n"
#define HUGGING_FACE                                                                               \
    "thresholds: static_n_seqs_max=16\n"                                                           \
    "router_thresholds: [memory=padded, zeta=0.9, interval_ns_min=6000, n_batch=16]\n"

enum status papers_scls_run(struct papers *repro, const struct papers_scls_setting *setting,
                            struct fault *fault)
{
    char yaml[512];
    snprintf(yaml, sizeof(yaml),
             "workload: codefuse:rate=%d\n"
             "device: a100\n"
             "duration: %s\n"
             "predictor: none\n"
             "context: 4096\n"
             "services:\n"
             "  codefuse: {model: llama-2-13b}\n"
             "engines:\n"
             "  - count: %d\n"
             "%s",
             setting->rate, papers_is_quick(repro) ? "60s" : "10m", setting->n_workers,
             setting->more);
    return papers_simulate(repro, setting->key, setting->policy, yaml, fault);
}

enum status papers_scls_run_each(struct papers *repro, const char *const *policies, int n,
                                 const char *more, struct fault *fault)
{
    enum status status = STATUS_OK;
    for (int i = 0; i < n && status == STATUS_OK; i++) {
        char key[16];
        snprintf(key, sizeof(key), "%d", i);
        status = papers_scls_run(
            repro, &(struct papers_scls_setting){ key, policies[i], 20, 8, more }, fault);
    }
    return status;
}

struct papers_scls_worth papers_scls_of(const struct papers *repro, const char *key)
{
    struct papers_scls_worth w = { 0 };
    double n_batches = 0, n_seats = 0, n_early = 0, n = papers_n_seeds(repro);
    for (int i = 0; i < papers_n_seeds(repro); i++) {
        const struct score *score = papers_score(repro, key, i);
        const struct scenario_case *c = papers_case(repro, key, i);
        double n_offered = (double)score->n_offered;
        w.per_s += score->requests_per_s / n;
        w.mean_s += score->latency_s.mean / n;
        w.p95_s += score->latency_s.p95 / n;
        w.deviation_s += metrics_score_completion_deviation_s(&c->set) / n;
        w.pads += (double)score->n_pad_tokens / n_offered / n;
        w.invalid += (double)score->n_invalid_tokens / n_offered / n;
        w.slices += score->slices_mean / n;
        n_batches += (double)c->report.n_static_batches;
        n_seats += (double)c->report.n_static_seats;
        n_early += (double)c->report.n_static_early;
    }
    w.batch = n_batches > 0 ? n_seats / n_batches : 0;
    w.early = n_batches > 0 ? n_early / n_batches : 0;
    return w;
}

static double percent_above(double a, double b)
{
    return 100 * (a / b - 1);
}

/* ---- Figure 12: throughput and response times over rates. ---- */

static const struct {
    int rate;
    const char *name;
} rates[] = { { 4, "at 4 requests/s" },   { 8, "at 8 requests/s" },   { 12, "at 12 requests/s" },
              { 16, "at 16 requests/s" }, { 20, "at 20 requests/s" }, { 24, "at 24 requests/s" },
              { 28, "at 28 requests/s" } };

struct versus { /* scls compared with another policy: least and most over the rates, in percent */
    double per_s[2], mean_s[2], p95_s[2];
};

static void widen(double range[2], double x, bool is_first)
{
    range[0] = is_first || x < range[0] ? x : range[0];
    range[1] = is_first || x > range[1] ? x : range[1];
}

static void add(struct versus *v, const struct papers_scls_worth *a,
                const struct papers_scls_worth *b, bool is_first)
{
    widen(v->per_s, percent_above(a->per_s, b->per_s), is_first);
    widen(v->mean_s, percent_above(a->mean_s, b->mean_s), is_first);
    widen(v->p95_s, percent_above(a->p95_s, b->p95_s), is_first);
}

static void judge_versus(struct papers *repro, const struct versus *v, const char *const what[3],
                         const char *const papers[3])
{
    papers_judge(repro, v->per_s[0] >= 0 && v->per_s[1] > 0, what[0], papers[0], "%+.0f to %+.0f%%",
                 v->per_s[0], v->per_s[1]);
    papers_judge(repro, v->mean_s[1] < 0, what[1], papers[1], "%+.1f to %+.1f%%", v->mean_s[0],
                 v->mean_s[1]);
    papers_judge(repro, v->p95_s[1] < 0, what[2], papers[2], "%+.1f to %+.1f%%", v->p95_s[0],
                 v->p95_s[1]);
}

static const char *const against_sls[3] = { "scls serves more than sls",
                                            "scls answers sooner than sls, mean",
                                            "scls answers sooner than sls, p95" };

/* Policies in one setting at each of the rates; the first one is scls. */
struct rivals {
    const char *policies[6], *more;
    int n;
};

static size_t step_of(const struct papers *repro)
{
    return papers_is_quick(repro) ? 4 : 1;
}

static void name_rival(size_t rate, int policy, char key[48])
{
    snprintf(key, 48, "%d-%d", rates[rate].rate, policy);
}

static enum status run_rates(struct papers *repro, const struct rivals *rivals, struct fault *fault)
{
    enum status status = STATUS_OK;
    for (size_t r = 0; r < COUNT_OF(rates); r += step_of(repro)) {
        for (int p = 0; p < rivals->n && status == STATUS_OK; p++) {
            char key[48];
            name_rival(r, p, key);
            status = papers_scls_run(repro,
                                     &(struct papers_scls_setting){
                                         key, rivals->policies[p], rates[r].rate, 8, rivals->more },
                                     fault);
        }
    }
    return status;
}

static void compare_rates(struct papers *repro, const struct rivals *rivals, struct versus *versus)
{
    for (size_t r = 0; r < COUNT_OF(rates); r += step_of(repro)) {
        struct papers_scls_worth worth[COUNT_OF(rivals->policies)];
        for (int p = 0; p < rivals->n; p++) {
            char key[48];
            name_rival(r, p, key);
            worth[p] = papers_scls_of(repro, key);
            if (p > 0)
                add(&versus[p], &worth[0], &worth[p], r == 0);
        }
        for (int p = 0; p < rivals->n; p++)
            papers_note(repro, rates[r].name, "-", "%s: %.2f req/s, response %.1f s, p95 %.1f s",
                        rivals->policies[p], worth[p].per_s, worth[p].mean_s, worth[p].p95_s);
    }
}

static void say_setting(struct papers *repro)
{
    papers_differs(repro, "step times are fits of published A100 tables of LLaMA-13B (vLLM's "
                          "kernels), the same for every policy; the paper's engines are slower");
    papers_differs(repro, "lengths are a lognormal after the paper's account of CodeFuse's, whose "
                          "trace is not published");
}

static const struct rivals deepspeed = { { "cohort/scls", "sls/rr", "ils-fastgen/rr",
                                           "ils-reserve/rr", "fcfs/rr", "scls-cb/jsq" },
                                         DEEPSPEED,
                                         6 };

enum status papers_scls_fig12_ds_run(struct papers *repro, struct fault *fault)
{
    return run_rates(repro, &deepspeed, fault);
}

void papers_scls_fig12_ds_judge(struct papers *repro)
{
    struct versus versus[COUNT_OF(deepspeed.policies)];
    compare_rates(repro, &deepspeed, versus);
    judge_versus(repro, &versus[1], against_sls,
                 (const char *const[]){ "+82.5 to +191.9%", "-91.1 to -80.8%", "-88.9 to -76.6%" });
    judge_versus(repro, &versus[2],
                 (const char *const[]){ "scls serves more than ils-fastgen",
                                        "scls answers sooner than ils-fastgen, mean",
                                        "scls answers sooner than ils-fastgen, p95" },
                 (const char *const[]){ "+61.6 to +171.0%", "-88.3 to -78.4%", "-85.8 to -74.6%" });
    judge_versus(repro, &versus[3],
                 (const char *const[]){ "scls serves more than ils-reserve",
                                        "scls answers sooner than ils-reserve, mean",
                                        "scls answers sooner than ils-reserve, p95" },
                 (const char *const[]){ "more", "less", "less" });
    papers_note(repro, "scls over plain continuous batching (fcfs)", "not measured",
                "%+.0f to %+.0f%% requests/s, mean response %+.0f to %+.0f%%", versus[4].per_s[0],
                versus[4].per_s[1], versus[4].mean_s[0], versus[4].mean_s[1]);
    say_setting(repro);
    papers_differs(repro, "a continuous engine here batches as many as its memory holds; "
                          "scls-fastgen-limit shows how few it must run at once for the paper's "
                          "gain to appear");
}

static const struct rivals hugging_face = { { "cohort/scls", "sls/rr" }, HUGGING_FACE, 2 };

enum status papers_scls_fig12_hf_run(struct papers *repro, struct fault *fault)
{
    return run_rates(repro, &hugging_face, fault);
}

void papers_scls_fig12_hf_judge(struct papers *repro)
{
    struct versus versus[COUNT_OF(hugging_face.policies)];
    compare_rates(repro, &hugging_face, versus);
    judge_versus(
        repro, &versus[1], against_sls,
        (const char *const[]){ "+232.3 to +315.8%", "-84.9 to -82.4%", "-81.0 to -79.8%" });
    say_setting(repro);
}

static const int fastgen_limits[] = { 4, 8, 16, 32, 64 };

enum status papers_scls_fastgen_limit_run(struct papers *repro, struct fault *fault)
{
    enum status status = papers_scls_run(
        repro, &(struct papers_scls_setting){ "scls", "cohort/scls", 20, 8, DEEPSPEED }, fault);
    for (size_t i = 0; i < COUNT_OF(fastgen_limits) && status == STATUS_OK; i++) {
        char more[64], key[16];
        snprintf(key, sizeof(key), "limit-%d", fastgen_limits[i]);
        snprintf(more, sizeof(more), "thresholds: fastgen_n_seqs_max=%d\n", fastgen_limits[i]);
        status = papers_scls_run(
            repro, &(struct papers_scls_setting){ key, "ils-fastgen/rr", 20, 8, more }, fault);
    }
    return status;
}

/* Finds the number of concurrent requests at which the continuous baseline falls as far behind as
 * in the paper. */
void papers_scls_fastgen_limit_judge(struct papers *repro)
{
    static const char *const names[] = { "at most 4 at once", "at most 8 at once",
                                         "at most 16 at once", "at most 32 at once",
                                         "at most 64 at once" };
    int n_paper = 0;
    struct papers_scls_worth scls = papers_scls_of(repro, "scls");
    for (size_t i = 0; i < COUNT_OF(fastgen_limits); i++) {
        char key[16];
        snprintf(key, sizeof(key), "limit-%d", fastgen_limits[i]);
        struct papers_scls_worth worth = papers_scls_of(repro, key);
        double gain = percent_above(scls.per_s, worth.per_s);
        n_paper = gain >= 61.6 ? fastgen_limits[i] : n_paper;
        papers_note(repro, names[i], "-", "%.2f req/s: scls %+.0f%%", worth.per_s, gain);
    }
    papers_judge(repro, n_paper == fastgen_limits[COUNT_OF(fastgen_limits) - 1],
                 "scls +61.6% over ils-fastgen at its own limit", "yes, v0.2.0",
                 n_paper > 0 ? "only when it runs at most %d at once" : "not even at 4 at once",
                 n_paper);
    say_setting(repro);
}

/* ---- Figures 5 and 13: why. ---- */

static const char *const fig5_policies[] = { "cohort/scls", "sls/rr", "ils-fastgen/rr", "fcfs/rr" };

enum status papers_scls_fig5_run(struct papers *repro, struct fault *fault)
{
    return papers_scls_run_each(repro, fig5_policies, (int)COUNT_OF(fig5_policies), DEEPSPEED,
                                fault);
}

void papers_scls_fig5_judge(struct papers *repro)
{
    struct papers_scls_worth w[COUNT_OF(fig5_policies)];
    for (int i = 0; i < (int)COUNT_OF(fig5_policies); i++) {
        char key[8];
        snprintf(key, sizeof(key), "%d", i);
        w[i] = papers_scls_of(repro, key);
        papers_note(repro, fig5_policies[i], "-",
                    "%.2f req/s, batches of %.1f, %.0f pads, %.0f invalid a request, CT std %.1f s",
                    w[i].per_s, w[i].batch, w[i].pads, w[i].invalid, w[i].deviation_s);
    }
    papers_judge(repro, w[0].per_s > w[1].per_s, "throughput: scls above sls", "yes", "%.2f : %.2f",
                 w[0].per_s, w[1].per_s);
    papers_judge(repro, w[0].per_s > w[2].per_s, "throughput: scls above ils", "yes", "%.2f : %.2f",
                 w[0].per_s, w[2].per_s);
    papers_judge(repro, w[0].batch > w[1].batch, "batch size: scls above sls", "yes", "%.1f : %.1f",
                 w[0].batch, w[1].batch);
    papers_judge(repro, w[0].pads < w[1].pads, "pad tokens: scls below sls", "yes", "%.0f : %.0f",
                 w[0].pads, w[1].pads);
    papers_judge(repro, w[0].invalid < w[1].invalid, "invalid tokens: scls below sls", "yes",
                 "%.0f : %.0f", w[0].invalid, w[1].invalid);
    papers_judge(repro, w[0].deviation_s < w[1].deviation_s, "spread of completion: scls below sls",
                 "yes", "%.1f s : %.1f s", w[0].deviation_s, w[1].deviation_s);
    papers_judge(repro, w[0].deviation_s < w[2].deviation_s, "spread of completion: scls below ils",
                 "yes", "%.1f s : %.1f s", w[0].deviation_s, w[2].deviation_s);
    say_setting(repro);
}

static const int sampled[] = { 4, 12, 20, 28 }; /* requests a second */

enum status papers_scls_fig13_run(struct papers *repro, struct fault *fault)
{
    enum status status = STATUS_OK;
    for (size_t i = 0; i < 2 * COUNT_OF(sampled) && status == STATUS_OK; i++) {
        char key[16];
        int rate = sampled[i / 2], p = (int)(i % 2);
        snprintf(key, sizeof(key), "%d-%d", rate, p);
        status = papers_scls_run(repro,
                                 &(struct papers_scls_setting){
                                     key, p == 0 ? "cohort/scls" : "sls/rr", rate, 8, DEEPSPEED },
                                 fault);
    }
    return status;
}

void papers_scls_fig13_judge(struct papers *repro)
{
    static const char *const names[] = { "4 requests/s, scls : sls", "12 requests/s, scls : sls",
                                         "20 requests/s, scls : sls", "28 requests/s, scls : sls" };
    struct papers_scls_worth first = { 0 }, last = { 0 };
    bool has_larger = true, has_fewer_pads = true, has_fewer_invalid = true;
    double gain[2] = { 0, 0 };
    for (size_t i = 0; i < COUNT_OF(sampled); i++) {
        struct papers_scls_worth w[2];
        for (int p = 0; p < 2; p++) {
            char key[16];
            snprintf(key, sizeof(key), "%d-%d", sampled[i], p);
            w[p] = papers_scls_of(repro, key);
        }
        papers_note(repro, names[i], "-",
                    "batch %.1f : %.1f, invalid %.0f : %.0f, pads %.0f : %.0f", w[0].batch,
                    w[1].batch, w[0].invalid, w[1].invalid, w[0].pads, w[1].pads);
        first = i == 0 ? w[0] : first;
        last = w[0];
        has_larger = has_larger && (sampled[i] < 12 || w[0].batch > w[1].batch);
        has_fewer_pads = has_fewer_pads && w[0].pads < w[1].pads;
        has_fewer_invalid = has_fewer_invalid && w[0].invalid < w[1].invalid;
        widen(gain, percent_above(w[0].batch, w[1].batch), i == 0);
    }
    papers_judge(repro, has_larger, "batches of scls are larger, from 12 requests/s",
                 "+43.2 to +86.1% (DS)", "%+.0f to %+.0f%%", gain[0], gain[1]);
    papers_judge(repro, has_fewer_invalid, "fewer invalid tokens at each rate", "yes",
                 "%.0f at 28 requests/s", last.invalid);
    papers_judge(repro, has_fewer_pads, "fewer pad tokens at each rate", "yes",
                 "%.0f at 28 requests/s", last.pads);
    papers_judge(repro, last.batch > first.batch, "batches grow with the rate", "yes",
                 "%.1f to %.1f", first.batch, last.batch);
    papers_judge(repro, last.pads < first.pads, "pads fall with the rate", "yes", "%.1f to %.1f",
                 first.pads, last.pads);
    say_setting(repro);
}

/* ---- Figure 14: slices of a request, and batches that end before their slice. ---- */

enum status papers_scls_fig14_run(struct papers *repro, struct fault *fault)
{
    enum status status = STATUS_OK;
    for (size_t i = 0; i < COUNT_OF(sampled) && status == STATUS_OK; i++) {
        char key[16];
        snprintf(key, sizeof(key), "rate-%d", sampled[i]);
        status = papers_scls_run(
            repro, &(struct papers_scls_setting){ key, "cohort/scls", sampled[i], 8, DEEPSPEED },
            fault);
    }
    return status;
}

void papers_scls_fig14_judge(struct papers *repro)
{
    static const char *const names[] = { "4 requests/s", "12 requests/s", "20 requests/s",
                                         "28 requests/s" };
    double fewest = 1, earliest = 0;
    for (size_t i = 0; i < COUNT_OF(sampled); i++) {
        char key[16];
        snprintf(key, sizeof(key), "rate-%d", sampled[i]);
        struct papers_scls_worth w = papers_scls_of(repro, key);
        size_t n_few = 0, n = 0;
        for (int seed = 0; seed < papers_n_seeds(repro); seed++) {
            const struct record_set *set = &papers_case(repro, key, seed)->set;
            for (size_t k = 0; k < set->n; k++, n++)
                n_few += set->at[k].n_slices <= 3;
        }
        double few = (double)n_few / (double)n;
        fewest = few < fewest ? few : fewest;
        earliest = w.early > earliest ? w.early : earliest;
        papers_note(repro, names[i], "-", "%.2f slices in the mean, %.0f%% at most 3, %.2f%% early",
                    w.slices, 100 * few, 100 * w.early);
    }
    papers_judge(repro, fewest > 0.7, "most requests need at most 3 slices", "vast majority",
                 "at least %.0f%%", 100 * fewest);
    papers_judge(repro, earliest < 0.01, "batches that return early", "< 1%", "at most %.2f%%",
                 100 * earliest);
    papers_differs(repro, "CodeFuse's share above 384 tokens is the fit's: its trace is not "
                          "published");
}
