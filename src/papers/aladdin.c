/* The claims of Aladdin: the relation of outputs to prompts (Figure 2), the worked example of
 * placement (3), errors of its models (6 to 8), time to place (13), workers needed for a target. */
#include "papers/needed.h"
#include "papers/register.h"
#include "papers/tables.h"

#include "base/time.h"
#include "predict/device.h"
#include <stdio.h>
#include <string.h>

/* ---- Figure 2: the errors of an unbiased predictor cancel in a batch. ---- */

static double away(double x)
{
    return x < 0 ? -x : x;
}

/* Returns the relative error of the sum of n consecutive predictions, as a mean over the groups. */
static double error_of(const struct record_set *set, size_t n)
{
    double sum = 0, n_groups = 0;
    for (size_t i = set->n / 2; i + n <= set->n; i += n) { /* it has learned from the first half */
        double predicted = 0, got = 0;
        for (size_t k = i; k < i + n; k++) {
            predicted += set->at[k].n_predicted;
            got += set->at[k].n_output;
        }
        sum += away(predicted / got - 1);
        n_groups++;
    }
    return sum / n_groups;
}

enum status papers_aladdin_fig2_run(struct papers *repro, struct fault *fault)
{
    char yaml[256];
    snprintf(yaml, sizeof(yaml),
             "workload: sharegpt-first:rate=5,service=s\n"
             "requests: %d\n"
             "predictor: conditional\n"
             "services:\n"
             "  s: {model: llama-2-13b}\n"
             "engines: 4\n",
             papers_is_quick(repro) ? 2000 : 20000);
    return papers_simulate(repro, "sharegpt", "fcfs", yaml, fault);
}

void papers_aladdin_fig2_judge(struct papers *repro)
{
    double below[2] = { 0, 0 }, n[2] = { 0, 0 }, predicted = 0, got = 0;
    const struct record_set *set = &papers_case(repro, "sharegpt", 0)->set;
    for (size_t i = 0; i < set->n; i++) {
        int is_long = set->at[i].n_prompt >= 256;
        n[is_long]++;
        below[is_long] += set->at[i].n_output < 256;
        predicted += i >= set->n / 2 ? set->at[i].n_predicted : 0;
        got += i >= set->n / 2 ? set->at[i].n_output : 0;
    }
    double one = error_of(set, 1), many = error_of(set, 64);
    papers_note(repro, "outputs below 256, short and long prompts", "CDFs differ",
                "%.0f%% of prompts below 256 tokens, %.0f%% of others", 100 * below[0] / n[0],
                100 * below[1] / n[1]);
    papers_judge(repro, away(predicted / got - 1) < 0.05, "the mean by prompt length has no bias",
                 "non-biased", "%+.1f%%", 100 * (predicted / got - 1));
    papers_judge(repro, many < one / 3, "errors cancel in a batch of 64", "partially",
                 "%.0f%% of one request, %.0f%% of 64", 100 * one, 100 * many);
    papers_differs(repro, "outputs are ShareGPT's own, not those of llama2-13b-chat");
}

/* ---- Figure 3: two workers with room for 9 tokens. ---- */

/* Returns the tokens that an engine needs at most when all its requests start at once. */
static int64_t demand(const struct record_set *set, int engine)
{
    int64_t most = 0;
    for (int32_t step = 1; step <= 16; step++) {
        int64_t held = 0;
        for (size_t i = 0; i < set->n; i++)
            if (set->at[i].engine == engine && set->at[i].n_wanted + set->at[i].n_prompt > 2 &&
                step <= set->at[i].n_output)
                held += set->at[i].n_prompt + step;
        most = held > most ? held : most;
    }
    return most;
}

/* Best fit places the four together at its next heartbeat. A request before them, of one token,
 * takes the place that an idle router gives at once. JSQ places each when it arrives. */
static enum status run_four(struct papers *repro, const char *key, const char *policy,
                            const char *before, struct fault *fault)
{
    char yaml[1024];
    snprintf(yaml, sizeof(yaml),
             "workload: %sonce:n=1,in=4,out=1,service=s+once:n=1,in=1,out=4,service=s+"
             "once:n=1,in=4,out=1,service=s+once:n=1,in=1,out=4,service=s\n"
             "memory-part: 1\n"
             "block-tokens: 1\n"
             "router_thresholds: [block_tokens=1, ttft_ns=60000, tpot_ns=60000]\n"
             "thresholds: watermark=0\n"
             "services:\n"
             "  s: {weights_bytes: 1MiB, activation_bytes: 1, kv_bytes_per_token: 1048576, "
             "prefill_ms: 5, prefill_us_per_token: 100, decode_ms: 10, "
             "decode_us_per_request: 1000}\n"
             "engines:\n"
             "  - {count: 2, memory: 11MiB}\n",
             before);
    return papers_simulate(repro, key, policy, yaml, fault);
}

static int64_t most_of(const struct papers *repro, const char *key)
{
    const struct record_set *set = &papers_case(repro, key, 0)->set;
    return max_i64(demand(set, 0), demand(set, 1));
}

enum status papers_aladdin_fig3_run(struct papers *repro, struct fault *fault)
{
    enum status status = run_four(repro, "jsq", "fcfs/jsq", "", fault);
    if (status == STATUS_OK)
        status =
            run_four(repro, "best-fit", "fcfs/best-fit", "once:n=1,in=1,out=1,service=s+", fault);
    return status;
}

void papers_aladdin_fig3_judge(struct papers *repro)
{
    int64_t jsq = most_of(repro, "jsq"), best = most_of(repro, "best-fit");
    papers_judge(repro, jsq == 10, "JSQ: the most that a worker needs", "10 of 9 tokens", "%lld",
                 (long long)jsq);
    papers_judge(repro, best == 7, "best fit: the most that a worker needs", "7 of 9 tokens",
                 "%lld", (long long)best);
}

/* ---- Figures 6 and 7: prefill by the sum of inputs, decode by batch and context. ---- */

static void row_of_sum(const struct papers_step *s, double *x)
{
    x[0] = (double)s->n_batch * s->n_prompt;
    x[1] = 1;
}

static void row_of_contexts(const struct papers_step *s, double *x)
{
    x[0] = s->n_batch * (s->n_prompt + 64.0); /* in the middle of 128 steps */
    x[1] = s->n_batch;
    x[2] = 1;
}

static bool is_one_prompt(const struct papers_step *s)
{
    return s->n_batch == 1;
}

static bool is_near(const struct papers_step *s)
{
    return s->n_batch * s->n_prompt <= 4096 && s->n_prompt >= 512;
}

static void judge_fit(struct papers *repro, const struct papers_fit *fit, double limit,
                      const char *what, const char *paper)
{
    int n_steps;
    const struct papers_step *steps = papers_tables_llama70b(&n_steps);
    struct papers_fitted fitted;
    int n = papers_tables_fit(steps, n_steps, fit, &fitted);
    CHECK(n > fit->n_columns);
    papers_judge(repro, fitted.worst < limit, what, paper, "mean %.1f%%, worst %.1f%% of %d points",
                 100 * fitted.mean, 100 * fitted.worst, n);
}

void papers_aladdin_fig6_judge(struct papers *repro)
{
    static const int tps[] = { 4, 8 };
    static const char *const whats[3][2] = { { "A100 TP4: any batch", "A100 TP8: any batch" },
                                             { "A100 TP4: sums of 512 to 4096",
                                               "A100 TP8: sums of 512 to 4096" },
                                             { "A100 TP4: one prompt", "A100 TP8: one prompt" } };
    static bool (*const keeps[3])(const struct papers_step *) = { NULL, is_near, is_one_prompt };
    for (int k = 0; k < 3; k++) {
        for (int i = 0; i < 2; i++) {
            struct papers_fit fit = { .device = PAPERS_A100,
                                      .tp = tps[i],
                                      .n_columns = 2,
                                      .is_relative = true,
                                      .keeps = keeps[k],
                                      .row = row_of_sum };
            judge_fit(repro, &fit, 0.04, whats[k][i], "worst < 4%");
        }
    }
    int n;
    const struct papers_step *steps = papers_tables_llama70b(&n);
    for (int i = 0; i < n; i++)
        for (int k = 0; k < n; k++)
            if (steps[i].device == PAPERS_A100 && steps[i].tp == 4 && steps[i].n_batch == 8 &&
                steps[k].device == PAPERS_A100 && steps[k].tp == 4 && steps[k].n_prompt == 4096)
                papers_note(repro, "8 prompts of 512 and one of 4096, TP4", "the same",
                            "%.0f ms, %.0f ms", steps[i].prompt_ms, steps[k].prompt_ms);
    papers_differs(repro,
                   "times are Splitwise's of Llama2-70B (medians): there a batch costs more than "
                   "one prompt of its sum; the claim needs kernels for which it does not");
    papers_differs(repro, "nothing else measured the V100 half of the figure");
}

void papers_aladdin_fig7_judge(struct papers *repro)
{
    static const char *const whats[] = { "A100 TP4: decode step", "A100 TP8: decode step",
                                         "H100 TP8: decode step" };
    for (int i = 0; i < 3; i++) {
        struct papers_fit fit = { .device = i < 2 ? PAPERS_A100 : PAPERS_H100,
                                  .tp = i == 0 ? 4 : 8,
                                  .n_columns = 3,
                                  .is_decode = true,
                                  .is_relative = true,
                                  .row = row_of_contexts };
        judge_fit(repro, &fit, 0.1, whats[i], "< 5% (all models < 10%)");
    }
    papers_differs(repro, "times are Splitwise's of Llama2-70B, batches of 1 to 64; judged by the "
                          "paper's bound for all of its models, 10%");
}

/* ---- Figure 8: KV is linear in the context. ---- */

enum status papers_aladdin_fig8_run(struct papers *repro, struct fault *fault)
{
    return papers_simulate(repro, "sharegpt", "fcfs",
                           "workload: sharegpt:rate=5,service=s\n"
                           "requests: 2000\n"
                           "services:\n"
                           "  s: {model: llama-2-13b}\n"
                           "engines: 4\n",
                           fault);
}

void papers_aladdin_fig8_judge(struct papers *repro)
{
    enum { BLOCK = 16, GROUP = 32 };
    double worst = 0;
    const struct predict_model *mha = predict_model_find("llama-2-13b");
    const struct predict_model *gqa = predict_model_find("llama-2-70b");
    const struct record_set *set = &papers_case(repro, "sharegpt", 0)->set;
    for (size_t i = 0; i + GROUP <= set->n; i += GROUP) {
        int64_t taken = 0, predicted = 0;
        for (size_t k = i; k < i + GROUP; k++) {
            int32_t n = set->at[k].n_prompt + set->at[k].n_output;
            taken += div_up_i64(n, BLOCK) * BLOCK;
            predicted += n + BLOCK / 2; /* h (i + n) + j, j half a block */
        }
        double error = away((double)predicted / (double)taken - 1);
        worst = error > worst ? error : worst;
    }
    papers_judge(repro, worst < 0.01, "KV of a batch of 32, in blocks of 16", "< 1%",
                 "worst %.2f%%", 100 * worst);
    papers_judge(repro,
                 predict_model_kv_bytes_per_token(mha) > predict_model_kv_bytes_per_token(gqa),
                 "13B needs more a token than 70B", "yes", "%lld : %lld bytes",
                 (long long)predict_model_kv_bytes_per_token(mha),
                 (long long)predict_model_kv_bytes_per_token(gqa));
}

/* ---- Workers needed (the question of Figure 11), and the time that placing takes (13). ---- */

struct workers { /* a pool under a router, at a rate */
    const char *policy;
    int rate;
};

static void name_workers(const void *self, int n_workers, char key[PAPERS_KEY_MAX])
{
    const struct workers *w = self;
    const char *router = w->policy + sizeof("fcfs/") - 1;
    snprintf(key, PAPERS_KEY_MAX, "%s-%d-%d", router, w->rate, n_workers);
}

static enum status run_workers(struct papers *repro, const void *self, int n_workers,
                               const char *key, struct fault *fault)
{
    const struct workers *w = self;
    int rate = w->rate;
    char yaml[512];
    snprintf(yaml, sizeof(yaml),
             "workload: sharegpt:rate=%d,service=s\n"
             "duration: %s\n"
             "ttft: 600ms\n"
             "tpot: 30ms\n"
             "slo: aladdin\n"
             "services:\n"
             "  s: {model: llama-2-13b}\n"
             "engines: %d\n",
             rate, rate <= 10 ? "60s" : "40s", n_workers);
    return papers_simulate(repro, key, w->policy, yaml, fault);
}

static struct papers_search search_of(const struct workers *w)
{
    return (struct papers_search){ .first = w->rate <= 10 ? 3 : 6,
                                   .last = w->rate <= 10 ? 14 : 22,
                                   .step = 1,
                                   .n_devices = 1,
                                   .self = w,
                                   .name = name_workers,
                                   .run = run_workers };
}

static const struct workers pools[2][3] = {
    { { "fcfs/best-fit", 10 }, { "fcfs/jsq", 10 }, { "fcfs/p2c", 10 } },
    { { "fcfs/best-fit", 20 }, { "fcfs/jsq", 20 }, { "fcfs/p2c", 20 } },
};

static int n_rates_of(const struct papers *repro)
{
    return papers_is_quick(repro) ? 1 : 2;
}

enum status papers_aladdin_workers_run(struct papers *repro, struct fault *fault)
{
    enum status status = STATUS_OK;
    for (int r = 0; r < n_rates_of(repro); r++)
        for (int p = 0; p < 3 && status == STATUS_OK; p++) {
            const struct papers_search search = search_of(&pools[r][p]);
            status = papers_needed_run(repro, &search, fault);
        }
    return status;
}

void papers_aladdin_workers_judge(struct papers *repro)
{
    static const char *const names[2][3] = {
        { "10 requests/s, best fit", "10 requests/s, JSQ", "10 requests/s, power of two" },
        { "20 requests/s, best fit", "20 requests/s, JSQ", "20 requests/s, power of two" }
    };
    static const char *const papers[2][3] = {
        { "E-5: 5.0, 5.0, -", "E-5: 7.75, 5.0, -", "E-5: 8.25, 5.25, -" },
        { "E-5: 8.25, 8.0, -", "E-5: 12.0, 9.25, -", "E-5: 14.75, 9.0, -" }
    };
    for (int r = 0; r < n_rates_of(repro); r++) {
        double n[3][PAPERS_TARGETS];
        for (int p = 0; p < 3; p++) {
            struct papers_needed needed;
            const struct papers_search search = search_of(&pools[r][p]);
            papers_needed_count(repro, &search, &needed);
            memcpy(n[p], needed.devices, sizeof(n[p]));
            papers_note(repro, names[r][p], papers[r][p], "%.2f, %.2f, %.2f for 100, 99, 95%%",
                        n[p][0], n[p][1], n[p][2]);
        }
        papers_judge(repro, n[0][0] < n[1][0], "fewer workers than JSQ for 100%", "up to -40%",
                     "%+.0f%% (99%%: %+.0f%%, 95%%: %+.0f%%)", 100 * (n[0][0] / n[1][0] - 1),
                     100 * (n[0][1] / n[1][1] - 1), 100 * (n[0][2] / n[1][2] - 1));
        papers_judge(repro, n[0][0] <= 0.7 * n[1][0], "and by 30% or more", "-40%", "%+.0f%%",
                     100 * (n[0][0] / n[1][0] - 1));
        papers_judge(repro, n[0][0] < n[2][0], "fewer than power of two for 100%", "yes", "%+.0f%%",
                     100 * (n[0][0] / n[2][0] - 1));
    }
    papers_differs(repro, "LLaMA-13B on one A100 each, 600 ms and 30 ms, lengths known; prompts go "
                          "before decodes; E-5 stands in docs/ALGORITHMS.md, appendix E");
}

static const struct workers fig13_pool = { "fcfs/best-fit", 25 };

enum status papers_aladdin_fig13_run(struct papers *repro, struct fault *fault)
{
    char key[PAPERS_KEY_MAX];
    int64_t begin_ns = time_now_ns();
    name_workers(&fig13_pool, 12, key);
    enum status status = run_workers(repro, &fig13_pool, 12, key, fault);
    papers_keep(repro, (double)(time_now_ns() - begin_ns) * 1e-6);
    return status;
}

void papers_aladdin_fig13_judge(struct papers *repro)
{
    char key[PAPERS_KEY_MAX];
    name_workers(&fig13_pool, 12, key);
    double wall_ms = papers_kept(repro, 0);
    const struct score *score = papers_score(repro, key, 0);
    double n_beats = score->makespan_s / 0.05 * papers_n_seeds(repro);
    papers_judge(repro, wall_ms / n_beats < 50,
                 "a heartbeat at 25 requests/s, all engines included", "< 50 ms to place",
                 "at most %.3f ms", wall_ms / n_beats);
    papers_differs(repro, "wall time of the whole simulation, engines and records too, over its "
                          "heartbeats: an upper bound of what placing takes");
}
