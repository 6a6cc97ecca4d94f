/* The claims of UELLM that need only batching: Figure 3's worked example, and Figures 4a and 4b. In
 * these, a list of queries at t = 0 on one engine is batched by FIFO, ODBS, SLO-DBS and
 * SLO-ODBS. */
#include "papers/uellm.h"
#include "papers/register.h"

#include "base/rng.h"
#include <stdio.h>

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
                             const char *cost, struct fault *fault)
{
    char yaml[640];
    snprintf(yaml, sizeof(yaml),
             "workload: once:n=1,in=1,out=1,service=q+once:n=1,in=7,out=58,service=q+"
             "once:n=1,in=5,out=8,service=q+once:n=1,in=3,out=6,service=q\n" SERVICE
             "router_thresholds: [n_batch=3, cost=%s, cost_max=100, slo_weight=0]\n",
             cost);
    return papers_simulate(repro, key, policy, yaml, fault);
}

/* Sets the pads, and the tokens that were generated. */
static void count_three(const struct papers *repro, const char *key, int64_t out[2])
{
    const struct record_set *set = &papers_case(repro, key, 0)->set;
    out[0] = out[1] = 0;
    for (size_t i = 0; i < set->n; i++) {
        if (set->at[i].n_prompt == 1)
            continue; /* the first only keeps the engine busy until all have arrived */
        out[0] += set->at[i].lost.n_pad;
        out[1] += set->at[i].n_output + set->at[i].lost.n_invalid;
    }
}

static const char *const fig3_costs[] = { "text", "code", "waste" };

enum status papers_uellm_fig3_run(struct papers *repro, struct fault *fault)
{
    enum status status = run_three(repro, "fifo", "cohort/fifo", "waste", fault);
    for (size_t i = 0; i < COUNT_OF(fig3_costs) && status == STATUS_OK; i++)
        status = run_three(repro, fig3_costs[i], "cohort/slo-odbs", fig3_costs[i], fault);
    return status;
}

void papers_uellm_fig3_judge(struct papers *repro)
{
    static const char *const names[] = { "SLO-ODBS, cost as the text has it",
                                         "SLO-ODBS, cost as the code has it",
                                         "SLO-ODBS, cost by waste (ours)" };
    int64_t fifo[2], odbs[2];
    count_three(repro, "fifo", fifo);
    papers_judge(repro, fifo[0] == 6 && fifo[1] == 174, "default batching", "6 pads, 174 tokens",
                 "%lld pads, %lld tokens", (long long)fifo[0], (long long)fifo[1]);
    for (int i = 0; i < (int)COUNT_OF(fig3_costs); i++) {
        count_three(repro, fig3_costs[i], odbs);
        papers_judge(repro, odbs[0] == 2 && odbs[1] == 74, names[i], "2 pads, 74 tokens",
                     "%lld pads, %lld tokens", (long long)odbs[0], (long long)odbs[1]);
    }
    papers_differs(repro, "prompts of 7, 5 and 3 tokens and outputs of 58, 8 and 6 are what makes "
                          "the paper's sums come out; its figure does not print all of them");
}

/* ---- Figures 4a and 4b. ---- */

/* The paper prints the form of the cost that is `text` here, its repository computes `code`, and
 * `waste` is ours. Lengths are known in advance unless a predictor is named. */
static const struct method {
    const char *key, *name, *policy, *cost, *predictor;
} methods[] = {
    { "fifo", "FIFO", "cohort/fifo", "text", "oracle" },
    { "odbs", "ODBS, the paper's cost", "cohort/odbs", "text", "oracle" },
    { "slo-dbs", "SLO-DBS, the paper's cost", "cohort/slo-dbs", "text", "oracle" },
    { "slo-odbs", "SLO-ODBS, the paper's cost", "cohort/slo-odbs", "text", "oracle" },
    { "odbs-code", "ODBS, the code's cost", "cohort/odbs", "code", "oracle" },
    { "slo-dbs-code", "SLO-DBS, the code's cost", "cohort/slo-dbs", "code", "oracle" },
    { "slo-odbs-code", "SLO-ODBS, the code's cost", "cohort/slo-odbs", "code", "oracle" },
    { "odbs-waste", "ODBS, cost by waste (ours)", "cohort/odbs", "waste", "oracle" },
    { "slo-dbs-waste", "SLO-DBS, cost by waste (ours)", "cohort/slo-dbs", "waste", "oracle" },
    { "slo-odbs-waste", "SLO-ODBS, cost by waste (ours)", "cohort/slo-odbs", "waste", "oracle" },
    { "odbs-bucket", "ODBS, lengths in buckets", "cohort/odbs", "text", "bucket:2048" },
    { "slo-odbs-bucket", "SLO-ODBS, lengths in buckets", "cohort/slo-odbs", "text", "bucket:2048" },
    { "slo-odbs-mean", "SLO-ODBS, the mean length", "cohort/slo-odbs", "text", "mean" },
};
enum { N_METHODS = (int)COUNT_OF(methods), FIFO = 0, ODBS, SLO_DBS, SLO_ODBS };

struct outcome { /* means over trials */
    double last_s, violated;
};

/* The SLO file of the repository: each of these ranges of seconds has a fifth of the queries. */
static double draw_slo_s(struct rng *rng, int i, int n, bool is_wide)
{
    static const double ranges[5][2] = {
        { 220, 250 }, { 180, 220 }, { 150, 180 }, { 100, 120 }, { 90, 100 }
    };
    static const double wide[2] = { 1, 350 };
    const double *range = is_wide ? wide : ranges[i * 5 / n];
    return range[0] + (range[1] - range[0]) * rng_unit(rng);
}

static void name_draw(int n, int trial, char key[32])
{
    snprintf(key, 32, "draw-%d-%d", n, trial);
}

enum status papers_uellm_draw(struct papers *repro, int n, int trial, struct fault *fault)
{
    char key[32], yaml[512];
    name_draw(n, trial, key);
    snprintf(yaml, sizeof(yaml), "workload: once:n=%d,lengths=alpaca,service=q,seed=%d\n" SERVICE,
             n, trial + 1);
    return papers_simulate(repro, key, "fcfs", yaml, fault);
}

void papers_uellm_drawn(const struct papers *repro, int n, int trial, bool is_wide,
                        struct papers_uellm_queries *q)
{
    char key[32];
    struct rng rng;
    name_draw(n, trial, key);
    const struct record_set *set = &papers_case(repro, key, trial)->set;
    rng_init(&rng, (uint64_t)trial + 1, 0);
    q->n = n;
    for (int i = 0; i < n; i++) {
        q->n_prompt[i] = set->at[i].n_prompt;
        q->n_output[i] = set->at[i].n_output;
        q->slo_s[i] = draw_slo_s(&rng, i, n, is_wide);
    }
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

/* A row of the figure: this many queries. SLOs are the repository's ranges, or, if wide, those that
 * the paper states. */
static const struct row {
    const char *name;
    int n;
    bool is_wide;
} rows[] = { { "100 queries", 100, false },
             { "200 queries", 200, false },
             { "300 queries", 300, false },
             { "300 queries, SLOs of 1 to 350 s", 300, true } };

static void name_method(const struct method *method, int row, int trial, char key[64])
{
    snprintf(key, 64, "%s-uellm-queries-%d-%d.csv", method->key, row, trial);
}

static enum status run_trial(struct papers *repro, int row, int trial, struct fault *fault)
{
    static struct papers_uellm_queries q;
    char path[512];
    enum status status = STATUS_OK;
    if (!rows[row].is_wide) /* the wide row has the queries of the row before */
        status = papers_uellm_draw(repro, rows[row].n, trial, fault);
    if (status != STATUS_OK)
        return status;
    papers_uellm_drawn(repro, rows[row].n, trial, rows[row].is_wide, &q);
    snprintf(path, sizeof(path), "%s/uellm-queries-%d-%d.csv", papers_folder(repro), row, trial);
    status = papers_uellm_write(&q, 0, q.n, path, fault);
    for (int m = 0; m < N_METHODS && status == STATUS_OK; m++) {
        char key[64], yaml[1024];
        name_method(&methods[m], row, trial, key);
        snprintf(yaml, sizeof(yaml),
                 "workload: file:%s\n"
                 "soft-deadlines: true\n"
                 "predictor: %s\n"
                 "router_thresholds: [n_batch=10, n_odbs_batch=10, cost=%s]\n" SERVICE,
                 path, methods[m].predictor, methods[m].cost);
        status = papers_simulate(repro, key, methods[m].policy, yaml, fault);
    }
    return status;
}

/* Adds the end of the last query, and the part that ended after their SLO. */
static void add_method(const struct papers *repro, int method, int row, int trial,
                       const struct papers_uellm_queries *q, struct outcome *out)
{
    char key[64];
    double last_s = 0, violated = 0;
    name_method(&methods[method], row, trial, key);
    const struct record_set *set = &papers_case(repro, key, 0)->set;
    for (size_t i = 0; i < set->n && i < (size_t)q->n; i++) {
        double end_s = (double)set->at[i].end_ns * 1e-9;
        last_s = end_s > last_s ? end_s : last_s;
        violated += end_s > q->slo_s[set->at[i].id] ? 1.0 / q->n : 0;
    }
    out->last_s += last_s / papers_n_seeds(repro);
    out->violated += violated / papers_n_seeds(repro);
}

enum status papers_uellm_fig4_run(struct papers *repro, struct fault *fault)
{
    enum status status = STATUS_OK;
    for (int row = 0; row < (int)COUNT_OF(rows); row++)
        for (int trial = 0; trial < papers_n_seeds(repro) && status == STATUS_OK; trial++)
            status = run_trial(repro, row, trial, fault);
    return status;
}

static void judge_row(struct papers *repro, const char *const what[4], const struct outcome *o)
{
    papers_judge(repro, o[SLO_ODBS].last_s < 0.98 * o[FIFO].last_s, what[0], "yes",
                 "%.0f s : %.0f s", o[SLO_ODBS].last_s, o[FIFO].last_s);
    papers_judge(repro, o[SLO_ODBS].last_s < 1.1 * o[ODBS].last_s, what[1], "similar",
                 "%.0f s : %.0f s", o[SLO_ODBS].last_s, o[ODBS].last_s);
    papers_judge(repro, o[SLO_ODBS].violated < o[FIFO].violated, what[2], "yes", "%.1f%% : %.1f%%",
                 100 * o[SLO_ODBS].violated, 100 * o[FIFO].violated);
    papers_judge(repro, o[SLO_ODBS].violated < o[SLO_DBS].violated + 0.05, what[3], "close",
                 "%.1f%% : %.1f%%", 100 * o[SLO_ODBS].violated, 100 * o[SLO_DBS].violated);
}

void papers_uellm_fig4_judge(struct papers *repro)
{
    static const char *const what[][4] = {
        { "200: SLO-ODBS sooner than FIFO", "200: and near ODBS", "200: fewer violations than FIFO",
          "200: and near SLO-DBS" },
        { "300: SLO-ODBS sooner than FIFO", "300: and near ODBS", "300: fewer violations than FIFO",
          "300: and near SLO-DBS" },
        { "1 to 350 s: SLO-ODBS sooner than FIFO", "1 to 350 s: and near ODBS",
          "1 to 350 s: fewer violations than FIFO", "1 to 350 s: and near SLO-DBS" },
    };
    static struct papers_uellm_queries q;
    struct outcome all[COUNT_OF(rows)][N_METHODS] = { 0 };
    for (int k = 0; k < (int)COUNT_OF(rows); k++) {
        for (int trial = 0; trial < papers_n_seeds(repro); trial++) {
            papers_uellm_drawn(repro, rows[k].n, trial, rows[k].is_wide, &q);
            for (int m = 0; m < N_METHODS; m++)
                add_method(repro, m, k, trial, &q, &all[k][m]);
        }
        for (int m = 0; m < N_METHODS; m++)
            papers_note(repro, rows[k].name, "-", "%s: %.0f s, %.1f%% violated", methods[m].name,
                        all[k][m].last_s, 100 * all[k][m].violated);
        if (k > 0)
            judge_row(repro, what[k - 1], all[k]);
    }
    papers_differs(repro, "one engine with a static engine's times, lengths of Alpaca in tokens; "
                          "the paper's code orders by characters and cuts answers at its caps");
    papers_differs(repro, "judged with the cost of the paper's text, and with lengths that are "
                          "known in advance; the other rows have the predictors that their names "
                          "say, which learn from the answers of the run");
    papers_differs(repro, "latency is the end of the last query, as in the repository's logs; SLOs "
                          "are its file's, 90 to 250 s in five steps, or the paper's 1 to 350 s");
}
