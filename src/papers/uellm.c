/* The claims of UELLM that need only batching: Figure 3's worked example, and Figures 4a and 4b. In
 * these, a list of queries at t = 0 on one engine is batched by FIFO, ODBS, SLO-DBS and
 * SLO-ODBS. */
#include "papers/uellm.h"

#include "base/rng.h"
#include <stdio.h>
#include <string.h>

/* ChatGLM2-6B (28 layers, 2 KV groups of 128) under a static engine, with steps that the host
 * bounds. */
#define SERVICE                                                                                    \
    "services:\n"                                                                                  \
    "  q: {weights_bytes: 12GiB, kv_bytes_per_token: 28672, prefill_us_per_token: 200, "           \
    "decode_ms: 30, decode_us_per_request: 200, decode_ns_per_context: 300}\n"                     \
    "device: rtx-3090\n"                                                                           \
    "engines: 1\n"

/* ---- Figure 3. ---- */

static enum status run_three(struct papers *repro, const char *key, const char *policy,
                             const char *cost, int64_t out[2], struct fault *fault)
{
    char yaml[640];
    snprintf(yaml, sizeof(yaml),
             "workload: once:n=1,in=1,out=1,service=q+once:n=1,in=7,out=58,service=q+"
             "once:n=1,in=5,out=8,service=q+once:n=1,in=3,out=6,service=q\n" SERVICE
             "router_thresholds: [n_batch=3, cost=%s, cost_max=100, slo_weight=0]\n",
             cost);
    enum status status = papers_simulate(repro, key, policy, yaml, fault);
    if (status != STATUS_OK)
        return status;
    const struct record_set *set = &papers_case(repro, key, 0)->set;
    out[0] = out[1] = 0;
    for (size_t i = 0; i < set->n; i++) {
        if (set->at[i].n_prompt == 1)
            continue; /* the first only keeps the engine busy until all have arrived */
        out[0] += set->at[i].n_pad;
        out[1] += set->at[i].n_output + set->at[i].n_invalid;
    }
    return STATUS_OK;
}

static enum status fig3(struct papers *repro, struct fault *fault)
{
    static const char *const costs[] = { "text", "code", "waste" };
    static const char *const names[] = { "SLO-ODBS, cost as the text has it",
                                         "SLO-ODBS, cost as the code has it",
                                         "SLO-ODBS, cost by waste (ours)" };
    int64_t fifo[2], odbs[2];
    enum status status = run_three(repro, "fifo", "cohort/fifo", "waste", fifo, fault);
    if (status != STATUS_OK)
        return status;
    papers_judge(repro, fifo[0] == 6 && fifo[1] == 174, "default batching", "6 pads, 174 tokens",
                 "%lld pads, %lld tokens", (long long)fifo[0], (long long)fifo[1]);
    for (int i = 0; i < (int)COUNT_OF(costs); i++) {
        status = run_three(repro, costs[i], "cohort/slo-odbs", costs[i], odbs, fault);
        if (status != STATUS_OK)
            return status;
        papers_judge(repro, odbs[0] == 2 && odbs[1] == 74, names[i], "2 pads, 74 tokens",
                     "%lld pads, %lld tokens", (long long)odbs[0], (long long)odbs[1]);
    }
    papers_differs(repro, "prompts of 7, 5 and 3 tokens and outputs of 58, 8 and 6 are what makes "
                          "the paper's sums come out; its figure does not print all of them");
    return STATUS_OK;
}

/* ---- Figures 4a and 4b. ---- */

static const struct method {
    const char *key, *name, *policy, *cost;
} methods[] = { { "fifo", "FIFO", "cohort/fifo", "waste" },
                { "odbs", "ODBS", "cohort/odbs", "waste" },
                { "slo-dbs", "SLO-DBS", "cohort/slo-dbs", "waste" },
                { "slo-odbs", "SLO-ODBS, cost by waste (ours)", "cohort/slo-odbs", "waste" },
                { "text", "SLO-ODBS, cost as the text has it", "cohort/slo-odbs", "text" },
                { "code", "SLO-ODBS, cost as the code has it", "cohort/slo-odbs", "code" } };
enum { N_METHODS = (int)COUNT_OF(methods), FIFO = 0, ODBS, SLO_DBS, SLO_ODBS };

struct outcome { /* means over trials */
    double last_s, violated;
};

/* The SLO file of the repository: each of these ranges of seconds has a fifth of the queries. */
static double draw_slo_s(struct rng *rng, int i, int n)
{
    static const double ranges[5][2] = {
        { 220, 250 }, { 180, 220 }, { 150, 180 }, { 100, 120 }, { 90, 100 }
    };
    const double *range = ranges[i * 5 / n];
    return range[0] + (range[1] - range[0]) * rng_unit(rng);
}

enum status papers_uellm_draw(struct papers *repro, int n, int trial,
                              struct papers_uellm_queries *q, struct fault *fault)
{
    char key[32], yaml[512];
    struct rng rng;
    snprintf(key, sizeof(key), "draw-%d-%d", n, trial);
    snprintf(yaml, sizeof(yaml), "workload: once:n=%d,lengths=alpaca,service=q,seed=%d\n" SERVICE,
             n, trial + 1);
    enum status status = papers_simulate(repro, key, "fcfs", yaml, fault);
    if (status != STATUS_OK)
        return status;
    const struct record_set *set = &papers_case(repro, key, trial)->set;
    rng_init(&rng, (uint64_t)trial + 1, 0);
    q->n = n;
    for (int i = 0; i < n; i++) {
        q->n_prompt[i] = set->at[i].n_prompt;
        q->n_output[i] = set->at[i].n_output;
        q->slo_s[i] = draw_slo_s(&rng, i, n);
    }
    return STATUS_OK;
}

enum status papers_uellm_write(const struct papers_uellm_queries *q, int begin, int end,
                               const char *path, struct fault *fault)
{
    FILE *file = fopen(path, "w");
    if (file == NULL)
        return fault_set(fault, STATUS_NOT_FOUND, "can't write %.100s", path);
    fprintf(file, "arrived_s,model,n_prompt,n_output,deadline_s\n");
    for (int i = begin; i < end; i++)
        fprintf(file, "0,q,%d,%d,%.3f\n", q->n_prompt[i], q->n_output[i], q->slo_s[i]);
    fclose(file);
    return STATUS_OK;
}

/* Sets the end of the last query, and the part that ended after their SLO. */
static enum status run_method(struct papers *repro, const struct method *method,
                              const struct papers_uellm_queries *q, const char *path,
                              struct outcome *out, struct fault *fault)
{
    char key[64], yaml[1024];
    snprintf(key, sizeof(key), "%s-%s", method->key, strrchr(path, '/') + 1);
    snprintf(yaml, sizeof(yaml),
             "workload: file:%s\n"
             "soft-deadlines: true\n"
             "router_thresholds: [n_batch=10, n_odbs_batch=10, cost=%s]\n" SERVICE,
             path, method->cost);
    enum status status = papers_simulate(repro, key, method->policy, yaml, fault);
    if (status != STATUS_OK)
        return status;
    const struct record_set *set = &papers_case(repro, key, 0)->set;
    out->last_s = out->violated = 0;
    for (size_t i = 0; i < set->n && i < (size_t)q->n; i++) {
        double end_s = (double)set->at[i].end_ns * 1e-9;
        out->last_s = end_s > out->last_s ? end_s : out->last_s;
        out->violated += end_s > q->slo_s[set->at[i].id] ? 1.0 / q->n : 0;
    }
    return STATUS_OK;
}

static enum status run_trial(struct papers *repro, int n, int trial, struct outcome out[N_METHODS],
                             struct fault *fault)
{
    static struct papers_uellm_queries q;
    struct outcome one = { 0 };
    char path[512];
    enum status status = papers_uellm_draw(repro, n, trial, &q, fault);
    snprintf(path, sizeof(path), "%s/uellm-queries-%d-%d.csv", papers_folder(repro), n, trial);
    if (status == STATUS_OK)
        status = papers_uellm_write(&q, 0, q.n, path, fault);
    for (int m = 0; m < N_METHODS && status == STATUS_OK; m++) {
        status = run_method(repro, &methods[m], &q, path, &one, fault);
        out[m].last_s += one.last_s / papers_n_seeds(repro);
        out[m].violated += one.violated / papers_n_seeds(repro);
    }
    return status;
}

static enum status fig4(struct papers *repro, struct fault *fault)
{
    static const int counts[] = { 100, 200, 300 };
    static const char *const names[] = { "100 queries", "200 queries", "300 queries" };
    struct outcome all[COUNT_OF(counts)][N_METHODS] = { 0 };
    for (int k = 0; k < (int)COUNT_OF(counts); k++) {
        for (int trial = 0; trial < papers_n_seeds(repro); trial++) {
            enum status status = run_trial(repro, counts[k], trial, all[k], fault);
            if (status != STATUS_OK)
                return status;
        }
        for (int m = 0; m < N_METHODS; m++)
            papers_note(repro, names[k], "-", "%s: %.0f s, %.1f%% violated", methods[m].name,
                        all[k][m].last_s, 100 * all[k][m].violated);
    }
    for (int k = 1; k < (int)COUNT_OF(counts); k++) {
        const struct outcome *o = all[k];
        papers_judge(repro, o[SLO_ODBS].last_s < o[FIFO].last_s,
                     k == 1 ? "200: SLO-ODBS sooner than FIFO" : "300: SLO-ODBS sooner than FIFO",
                     "yes", "%.0f s : %.0f s", o[SLO_ODBS].last_s, o[FIFO].last_s);
        papers_judge(repro, o[SLO_ODBS].last_s < 1.1 * o[ODBS].last_s,
                     k == 1 ? "200: and near ODBS" : "300: and near ODBS", "similar",
                     "%.0f s : %.0f s", o[SLO_ODBS].last_s, o[ODBS].last_s);
        papers_judge(repro, o[SLO_ODBS].violated < o[FIFO].violated,
                     k == 1 ? "200: fewer violations than FIFO" : "300: fewer violations than FIFO",
                     "yes", "%.1f%% : %.1f%%", 100 * o[SLO_ODBS].violated, 100 * o[FIFO].violated);
        papers_judge(repro, o[SLO_ODBS].violated < o[SLO_DBS].violated + 0.05,
                     k == 1 ? "200: and near SLO-DBS" : "300: and near SLO-DBS", "close",
                     "%.1f%% : %.1f%%", 100 * o[SLO_ODBS].violated, 100 * o[SLO_DBS].violated);
    }
    papers_differs(repro, "one engine with a static engine's times, lengths of Alpaca in tokens; "
                          "the paper's code orders by characters and cuts answers at its caps");
    papers_differs(repro, "latency is the end of the last query, as in the repository's logs; SLOs "
                          "are its file's, 90 to 250 s in five steps");
    return STATUS_OK;
}

const struct papers_claim papers_uellm[] = {
    { "uellm-fig3", "UELLM, Figure 3", "three queries in one batch and in two", fig3 },
    { "uellm-fig4", "UELLM, Figures 4a, 4b", "ODBS, SLO-DBS and SLO-ODBS against FIFO", fig4 },
    { "uellm-fig1", "UELLM, Figure 1", "devices and batch sizes", papers_uellm_fig1 },
    { "uellm-table1", "UELLM, Table 1", "layers moved from a 3090 to a V100", papers_uellm_table1 },
    { "uellm-fig4cd", "UELLM, Figures 4c, 4d", "HELR, HE and LR against BGS", papers_uellm_fig4cd },
    { "uellm-fig5", "UELLM, Figure 5", "S3, Morphling, UD, UB and UA", papers_uellm_fig5 },
    { NULL, NULL, NULL, NULL },
};
