/* The claims of UELLM about layers on unlike cards: Figure 1, Table 1, Figures 4c and 4d. */
#include "papers/uellm.h"
#include "papers/register.h"

#include "base/lsq.h"
#include "base/rng.h"
#include "place/layers.h"
#include "place/links.h"
#include <stdio.h>
#include <string.h>

/* A step of ChatGLM2-6B on one card at its full power takes the times of uellm-fig4: 30 ms, 0.2 ms
 * a request, 0.3 us a token of context, and 0.2 ms a token of prompt. KV takes 28,672 bytes a
 * token, weights 12 GiB; activations have 4,096 values of 16 bits. */
enum { STEP_US = 30000, REQUEST_US = 200, CONTEXT_NS = 300, PROMPT_US = 200 };
#define WEIGHTS   "12GiB"
#define KV_BYTES  28672
#define ACT_BYTES 8192

/* ---- A chain of cards. ---- */

static struct links_link link_of(int a, int b)
{
    struct links_link link;
    CHECK(links_word(a / 2 == b / 2 ? "PIX" : "NODE", &link));
    return link;
}

enum status papers_uellm_place(const struct papers_uellm_card *cards, int n, const char *planner,
                               struct papers_uellm_chain *chain, struct fault *fault)
{
    struct layers_device devices[PAPERS_UELLM_CARDS_MAX];
    struct links links = { .n = n };
    struct links_link at[PAPERS_UELLM_CARDS_MAX * PAPERS_UELLM_CARDS_MAX];
    int64_t link_ps[PAPERS_UELLM_CARDS_MAX * PAPERS_UELLM_CARDS_MAX];
    struct layers_plan plan;
    CHECK(n <= PAPERS_UELLM_CARDS_MAX && layers_find(planner) != NULL);
    links.at = at;
    for (int i = 0; i < n; i++) {
        double layer_us = (STEP_US + REQUEST_US) / (PAPERS_UELLM_UNITS * cards[i].speed);
        devices[i] = (struct layers_device){ (int64_t)(layer_us * 1e6), cards[i].units };
        for (int k = 0; k < n; k++)
            at[i * n + k] = link_of(i, k);
    }
    links_times(&links, ACT_BYTES, link_ps);
    const struct layers_problem problem = { n, PAPERS_UELLM_UNITS, devices, link_ps, true };
    enum status status = layers_solve(&problem, layers_find(planner)->aim, NULL, &plan, fault);
    if (status != STATUS_OK)
        return status;
    double part = 0, latency_us = 0, token_us = 0;
    for (int i = 0; i < plan.n_parts; i++) {
        int from = plan.parts[i].device, to = plan.parts[(i + 1) % plan.n_parts].device;
        part += plan.parts[i].n_layers / (PAPERS_UELLM_UNITS * cards[from].speed);
        if (plan.n_parts > 1) {
            latency_us += (double)link_of(from, to).latency_ns * 1e-3;
            token_us += ACT_BYTES * 1e6 / link_of(from, to).bytes_per_s;
        }
    }
    *chain = (struct papers_uellm_chain){
        .decode_ms = (STEP_US * part + latency_us) * 1e-3,
        .decode_us_per_request = REQUEST_US * part + token_us,
        .decode_ns_per_context = CONTEXT_NS * part,
        .prefill_ms = latency_us * 1e-3,
        .prefill_us_per_token = PROMPT_US * part + token_us,
        .n_cards = plan.n_parts,
    };
    chain->utilization = part * STEP_US / (chain->decode_ms * 1e3) / plan.n_parts;
    return STATUS_OK;
}

void papers_uellm_service(const struct papers_uellm_chain *chain, double slower, struct str *yaml)
{
    str_printf(yaml,
               "services:\n"
               "  q: {weights_bytes: " WEIGHTS ", kv_bytes_per_token: %d, prefill_ms: %.6f, "
               "prefill_us_per_token: %.6f, decode_ms: %.6f, decode_us_per_request: %.6f, "
               "decode_ns_per_context: %.6f}\n"
               "engines:\n"
               "  - {count: 1, device: rtx-3090, memory: 24GiB}\n",
               KV_BYTES, slower * chain->prefill_ms, slower * chain->prefill_us_per_token,
               slower * chain->decode_ms, slower * chain->decode_us_per_request,
               slower * chain->decode_ns_per_context);
}

/* Runs a list of queries on the chain, batched as they come. */
static enum status run(struct papers *repro, const char *key, int n_queries, int n_batch,
                       const struct papers_uellm_chain *chain, struct fault *fault)
{
    struct str yaml;
    str_init(&yaml);
    str_printf(&yaml,
               "workload: once:n=%d,lengths=alpaca,service=q\n"
               "router_thresholds: [n_batch=%d]\n",
               n_queries, n_batch);
    papers_uellm_service(chain, 1, &yaml);
    enum status status = papers_simulate(repro, key, "cohort/fifo", yaml.at, fault);
    str_free(&yaml);
    return status;
}

static double tokens_per_s(const struct score *score)
{
    return score->tokens_per_s;
}

static double last_s(const struct score *score)
{
    return score->makespan_s;
}

/* ---- Figure 1. ---- */

/* Returns the most bytes of KV held at once: at the end of each request, the sum over all running
 * then. */
static double kv_peak(const struct record_set *set)
{
    double peak = 0;
    for (size_t i = 0; i < set->n; i++) {
        double held = 0;
        for (size_t k = 0; k < set->n; k++)
            if (set->at[k].first_ns <= set->at[i].end_ns && set->at[k].end_ns >= set->at[i].end_ns)
                held += (double)KV_BYTES * (set->at[k].n_prompt + set->at[k].n_output);
        peak = held > peak ? held : peak;
    }
    return peak;
}

struct spread {
    double least, most;
};

static void widen(struct spread *s, double value)
{
    s->least = s->least == 0 || value < s->least ? value : s->least;
    s->most = value > s->most ? value : s->most;
}

static const int fig1_batches[] = { 1, 4, 16, 64, 128 };
enum { N_FIG1 = (int)COUNT_OF(fig1_batches) };

/* The chain of n cards. n = 0: one card with room for 22 units. The others are read from the host
 * at every step, 12 GiB / 33 at 16 GB/s each, which is like a card with a 27th of the speed. */
static enum status fig1_chain(int n, struct papers_uellm_chain *chain, struct fault *fault)
{
    struct papers_uellm_card cards[4] = { { 1, 33 }, { 1, 33 }, { 1, 33 }, { 1, 33 } };
    if (n == 0) {
        cards[0].units = 22;
        cards[1].speed = 0.0373;
    }
    return papers_uellm_place(cards, n == 0 ? 2 : n, n == 0 ? "lr" : "even-layers", chain, fault);
}

enum status papers_uellm_layers_fig1_run(struct papers *repro, struct fault *fault)
{
    enum status status = STATUS_OK;
    for (int n = 0; n <= 4; n++) {
        struct papers_uellm_chain chain;
        if (status == STATUS_OK)
            status = fig1_chain(n, &chain, fault);
        for (int i = 0; i < N_FIG1 && status == STATUS_OK; i++) {
            char key[32];
            snprintf(key, sizeof(key), "%d-cards-%d", n, fig1_batches[i]);
            status = run(repro, key, 128, fig1_batches[i], &chain, fault);
        }
    }
    return status;
}

void papers_uellm_layers_fig1_judge(struct papers *repro)
{
    struct spread latency = { 0, 0 }, used = { 0, 0 }, kv = { 0, 0 }, offloaded = { 0, 0 };
    for (int n = 0; n <= 4; n++) {
        struct papers_uellm_chain chain;
        struct fault fault;
        CHECK(fig1_chain(n, &chain, &fault) == STATUS_OK); /* as for the runs */
        for (int i = 0; i < N_FIG1; i++) {
            char key[32];
            snprintf(key, sizeof(key), "%d-cards-%d", n, fig1_batches[i]);
            widen(n == 0 ? &offloaded : &latency, papers_mean(repro, key, last_s));
            if (n > 0) {
                widen(&used, chain.utilization);
                widen(&kv, kv_peak(&papers_case(repro, key, 0)->set));
            }
        }
    }
    double worst = offloaded.most > latency.most ? offloaded.most : latency.most;
    papers_judge(repro, worst >= 20 * latency.least, "latency, best to worst, offloading included",
                 "20x", "%.1fx", worst / latency.least);
    papers_note(repro, "the same without offloading", "-", "%.1fx", latency.most / latency.least);
    papers_note(repro, "utilization, 1 card to 4", "4x to 5x",
                "%.1fx, by construction: cards of a chain work in turn", used.most / used.least);
    papers_judge(repro, kv.most >= 100 * kv.least, "KV held, batches of 1 to 128", "150x", "%.0fx",
                 kv.most / kv.least);
    papers_differs(repro, "128 queries of Alpaca's lengths in static batches; utilization is a "
                          "card's part of a step, since one batch passes the chain at a time");
    papers_differs(repro, "KV is what requests hold at once, each its own length; a padded cache "
                          "holds the longest for all, and weights, which the paper may count, are "
                          "the same for every batch");
}

/* ---- Table 1. ---- */

static const struct table1 {
    const char *what, *key, *paper;
    int n_first;
    double tokens_per_s;
} table1[] = { { "16 units on the V100, 17 on the 3090", "16", "11.19 tokens/s", 16, 11.19 },
               { "20 and 13", "20", "13.09", 20, 13.09 },
               { "24 and 9", "24", "14.85", 24, 14.85 },
               { "28 and 5", "28", "17.23", 28, 17.23 },
               { "32 and 1", "32", "22.55", 32, 22.55 } };

/* Fits the milliseconds of a unit on each card, by least squares of 1 / throughput, relative. */
static void fit_table1(double unit_ms[2])
{
    double x[2 * COUNT_OF(table1)], y[COUNT_OF(table1)], weight[COUNT_OF(table1)];
    for (size_t i = 0; i < COUNT_OF(table1); i++) {
        x[2 * i] = table1[i].n_first;
        x[2 * i + 1] = PAPERS_UELLM_UNITS - table1[i].n_first;
        y[i] = 1000 / table1[i].tokens_per_s;
        weight[i] = 1 / (y[i] * y[i]);
    }
    CHECK(lsq_solve((int)COUNT_OF(table1), 2, x, y, weight, NULL, unit_ms));
}

/* Lets HELR place the units on both cards. */
static enum status solve_table1(const double unit_ms[2], struct layers_plan *plan,
                                struct fault *fault)
{
    const struct layers_device devices[] = {
        { (int64_t)(unit_ms[0] * 1e9), PAPERS_UELLM_UNITS },
        { (int64_t)(unit_ms[1] * 1e9), PAPERS_UELLM_UNITS },
    };
    static const int64_t no_links[4] = { 0 };
    const struct layers_problem problem = { 2, PAPERS_UELLM_UNITS, devices, no_links, true };
    return layers_solve(&problem, LAYERS_HELR, NULL, plan, fault);
}

enum status papers_uellm_layers_table1_run(struct papers *repro, struct fault *fault)
{
    double unit_ms[2];
    struct layers_plan plan;
    fit_table1(unit_ms);
    enum status status = solve_table1(unit_ms, &plan, fault);
    for (size_t i = 0; i < COUNT_OF(table1) && status == STATUS_OK; i++) {
        int n = table1[i].n_first;
        double step_ms = n * unit_ms[0] + (PAPERS_UELLM_UNITS - n) * unit_ms[1];
        /* A prompt passes all units once, as each token after it does. */
        const struct papers_uellm_chain chain = { .prefill_ms = step_ms, .decode_ms = step_ms };
        status = run(repro, table1[i].key, 20, 1, &chain, fault);
    }
    return status;
}

void papers_uellm_layers_table1_judge(struct papers *repro)
{
    double unit_ms[2], first = 0, last = 0;
    struct layers_plan plan;
    struct fault fault;
    fit_table1(unit_ms);
    for (size_t i = 0; i < COUNT_OF(table1); i++) {
        last = papers_mean(repro, table1[i].key, tokens_per_s);
        first = i == 0 ? last : first;
        double off = last / table1[i].tokens_per_s - 1;
        papers_judge(repro, off > -0.1 && off < 0.1, table1[i].what, table1[i].paper,
                     "%.2f tokens/s", last);
    }
    papers_judge(repro, last >= 0.9 * 2.02 * first, "from the first row to the last", "2.02x",
                 "%.2fx", last / first);
    CHECK(solve_table1(unit_ms, &plan, &fault) == STATUS_OK); /* as when it was run */
    papers_judge(repro, plan.parts[0].device == 0 && plan.n_parts == 1,
                 "HELR puts as many as it can on the V100", "the last row",
                 "%d units of 33, %.2f/s", plan.parts[0].device == 0 ? plan.parts[0].n_layers : 0,
                 1e12 / (double)plan.step_ps);
    papers_note(repro, "a unit on the V100, on the 3090 (fitted)", "-", "%.2f ms, %.2f ms",
                unit_ms[0], unit_ms[1]);
    papers_differs(repro,
                   "two constants are fitted to the five rows; by data sheets both cards read "
                   "weights equally fast (900 and 936 GB/s): the paper's 3090 was 3x slower");
}

/* ---- Figures 4c and 4d. ---- */

static const char *const planners[] = { "helr", "lr", "he", "bgs", "even-layers" };
enum { N_PLANNERS = 5, HELR = 0, LR, HE, BGS, EVEN, N_CLUSTERS = 6 };

/* Draws the paper's four cards (350, 300, 250, 150 W), each with memory for 6 to 33 units that
 * others left; all together have room. */
static void draw_cards(int cluster, struct papers_uellm_card cards[4])
{
    static const double speeds[4] = { 1, 0.9, 0.8, 0.55 };
    struct rng rng;
    int32_t room = 0;
    rng_init(&rng, 1, (uint64_t)cluster);
    while (room < PAPERS_UELLM_UNITS) {
        room = 0;
        for (int i = 0; i < 4; i++) {
            cards[i] = (struct papers_uellm_card){ speeds[i], 6 + (int32_t)rng_below(&rng, 28) };
            room += cards[i].units;
        }
    }
}

enum status papers_uellm_layers_fig4cd_run(struct papers *repro, struct fault *fault)
{
    enum status status = STATUS_OK;
    for (int i = 0; i < N_CLUSTERS * N_PLANNERS && status == STATUS_OK; i++) {
        struct papers_uellm_card cards[4];
        struct papers_uellm_chain chain;
        char key[32];
        int c = i / N_PLANNERS, p = i % N_PLANNERS;
        draw_cards(c, cards);
        snprintf(key, sizeof(key), "%s-%d", planners[p], c);
        status = papers_uellm_place(cards, 4, planners[p], &chain, fault);
        if (status == STATUS_OK)
            status = run(repro, key, 20, 1, &chain, fault);
    }
    return status;
}

void papers_uellm_layers_fig4cd_judge(struct papers *repro)
{
    double per_s[N_PLANNERS] = { 0 }, used[N_PLANNERS] = { 0 }, n_cards[N_PLANNERS] = { 0 };
    for (int c = 0; c < N_CLUSTERS; c++) {
        struct papers_uellm_card cards[4];
        draw_cards(c, cards);
        for (int p = 0; p < N_PLANNERS; p++) {
            struct papers_uellm_chain chain;
            struct fault fault;
            char key[32];
            snprintf(key, sizeof(key), "%s-%d", planners[p], c);
            CHECK(papers_uellm_place(cards, 4, planners[p], &chain, &fault) == STATUS_OK);
            per_s[p] += papers_mean(repro, key, tokens_per_s) / N_CLUSTERS;
            used[p] += chain.utilization / N_CLUSTERS;
            n_cards[p] += (double)chain.n_cards / N_CLUSTERS;
        }
    }
    for (int p = 0; p < N_PLANNERS; p++)
        papers_note(repro, planners[p],
                    p == HELR ? "log: 32.5 tokens/s"
                    : p == LR ? "log: 34.8"
                    : p == HE ? "log: 16.5"
                              : "-",
                    "%.1f tokens/s, %.0f%% used, %.1f cards", per_s[p], 100 * used[p], n_cards[p]);
    papers_judge(repro, per_s[HELR] >= 0.9 * per_s[LR], "HELR's throughput near LR's", "similar",
                 "%.0f%% of it", 100 * per_s[HELR] / per_s[LR]);
    papers_judge(repro, used[HELR] >= 0.9 * used[HE], "HELR's utilization near HE's", "close",
                 "%.0f%% of it", 100 * used[HELR] / used[HE]);
    papers_judge(repro, per_s[HELR] > per_s[BGS], "throughput above BGS", "yes", "%.2fx",
                 per_s[HELR] / per_s[BGS]);
    papers_judge(repro, used[HELR] > used[BGS], "utilization above BGS", "yes", "%.3fx",
                 used[HELR] / used[BGS]);
    papers_judge(repro, per_s[HE] < 0.6 * per_s[LR], "HE pays for utilization with throughput",
                 "0.47 of LR's", "%.2f", per_s[HE] / per_s[LR]);
    papers_differs(repro, "means of 6 drawn clusters: four cards of the paper's powers, each with "
                          "free memory for 6 to 33 units; with all of their memory free one card "
                          "holds the model and all but even-layers choose the same one");
    papers_differs(repro,
                   "the repository has no HELR: its three maps put every layer on one card by "
                   "hand, HE's on a slow one; BGS, which the paper does not define, fills "
                   "cards by free memory");
}
