/* The worked example of SeaLLM, Figure 2: two services, five requests, one at a time. */
#include "papers/papers.h"
#include "papers/register.h"

#include "base/str.h"
#include "base/time.h"

enum { WARM = 30, WARM_GAP_S = 20, EXAMPLE_AT_S = 2 * WARM * WARM_GAP_S };

/* Units are seconds: S0's requests take 2, S1's 8. Earlier requests teach the engine these
 * times. */
static void write_example(struct str *csv)
{
    str_printf(csv, "arrived_s,model,n_prompt,n_output\n");
    for (int i = 0; i < 2 * WARM; i++)
        str_printf(csv, "%d,S%d,10,%d\n", i * WARM_GAP_S, i % 2, i % 2 == 0 ? 2 : 8);
    static const int at[5][2] = { { 0, 0 }, { 2, 0 }, { 4, 1 }, { 5, 0 }, { 5, 0 } };
    for (int i = 0; i < 5; i++)
        str_printf(csv, "%d,S%d,10,%d\n", EXAMPLE_AT_S + at[i][0], at[i][1], at[i][1] == 0 ? 2 : 8);
}

struct example {
    double mean_s[2];  /* L_0, L_1 */
    double normalized; /* the sum of Equation 1 */
};

static struct example measure_example(const struct papers *repro, const char *key)
{
    const struct record_set *set = &papers_case(repro, key, 0)->set;
    struct example e = { 0 };
    int n[2] = { 0 };
    for (size_t i = 0; i < set->n; i++) {
        const struct record *r = &set->at[i];
        if (r->arrived_ns < EXAMPLE_AT_S * TIME_NS_PER_S)
            continue;
        double latency_s = metrics_score_latency_s(r, r->end_ns);
        n[r->service]++;
        e.mean_s[r->service] += latency_s;
        e.normalized += latency_s / ((double)r->solo_ns * 1e-9);
    }
    for (int s = 0; s < 2; s++)
        e.mean_s[s] /= n[s];
    return e;
}

static const char *const fig2_policies[] = { "fcfs", "rr", "db-turn", "db-literal", "default" };

enum status papers_seallm_example_fig2_run(struct papers *repro, struct fault *fault)
{
    struct str csv, yaml;
    str_init(&csv);
    str_init(&yaml);
    write_example(&csv);
    const char *path;
    enum status status = papers_file(repro, "requests.csv", csv.at, &path, fault);
    if (status == STATUS_OK) {
        str_printf(&yaml,
                   "workload: \"file:%s\"\ndevice: a800\nmax_batch: 1\n"
                   "engines: [{count: 1, tp: 2}]\nservices:\n",
                   path);
        for (int s = 0; s < 2; s++)
            str_printf(&yaml,
                       "  S%d: {weights_bytes: 13GiB, kv_bytes_per_token: 524288, "
                       "prefill_ms: 1000, decode_ms: 1000}\n",
                       s);
    }
    for (size_t i = 0; i < COUNT_OF(fig2_policies) && status == STATUS_OK; i++)
        status = papers_simulate(repro, fig2_policies[i], fig2_policies[i], yaml.at, fault);
    str_free(&csv);
    str_free(&yaml);
    return status;
}

void papers_seallm_example_fig2_judge(struct papers *repro)
{
    struct example e[COUNT_OF(fig2_policies)];
    for (size_t i = 0; i < COUNT_OF(fig2_policies); i++)
        e[i] = measure_example(repro, fig2_policies[i]);
    for (size_t i = 0; i < COUNT_OF(fig2_policies); i++)
        papers_note(repro, fig2_policies[i], "-", "L0 %.3g, L1 %.3g, L_N %.4g", e[i].mean_s[0],
                    e[i].mean_s[1], e[i].normalized);
    double l0 = e[0].mean_s[0] / e[2].mean_s[0], fcfs_ln = e[0].normalized / e[2].normalized;
    double rr_ln = e[1].normalized / e[2].normalized;
    papers_judge(repro, l0 > 2.15 && l0 < 2.45, "L0 of FCFS over L0 of SeaLLM", "2.3x", "%.2fx",
                 l0);
    papers_judge(repro, fcfs_ln > 1.95 && fcfs_ln < 2.05, "L_N of FCFS over SeaLLM's", "2x",
                 "%.2fx", fcfs_ln);
    papers_judge(repro, rr_ln > 1.25 && rr_ln < 1.35, "L_N of round robin over SeaLLM's", "1.3x",
                 "%.2fx", rr_ln);
    papers_judge(repro, e[4].normalized <= e[2].normalized, "our default is no worse than SeaLLM's",
                 "-", "%.4g : %.4g", e[4].normalized, e[2].normalized);
    papers_differs(repro,
                   "the figure's block lengths are not printed: S0 takes 2 units (a prompt, a "
                   "token), S1 8, arrivals 0, 2, 4, 5, 5, the example that fits its ratios");
}
