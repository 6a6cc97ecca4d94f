/* The claims of MuxServe about placement and about resources: nineteen models on four nodes of
 * eight A100, sixteen of ChatLMSYS, and small clusters. Spatial partitioning is placed by hand, as
 * in the paper; MuxServe and temporal multiplexing by MuxServe's planner. */
#include "papers/register.h"
#include "papers/sweep.h"

#include "base/num.h"
#include "base/time.h"
#include <stdio.h>
#include <string.h>

/* Attainment counts what ends within this time after the last arrival. */
enum { DRAIN_S = 120 };

#define ALONE(tp, service) "  - {count: 1, tp: " tp ", services: [" service "]}\n"
static const char spatial_engines[] = ALONE("1", "power01-7b") ALONE("1", "power02-7b")
    ALONE("1", "power03-7b") ALONE("1", "power04-7b") ALONE("1", "power05-7b")
        ALONE("1", "power06-7b") ALONE("1", "power07-7b") ALONE("1", "power08-7b")
            ALONE("1", "power09-7b") ALONE("1", "power10-7b") ALONE("1", "power11-7b")
                ALONE("1", "power12-7b") ALONE("1", "power13-13b") ALONE("1", "power14-13b")
                    ALONE("1", "power15-13b") ALONE("1", "power16-13b") ALONE("4", "power17-30b")
                        ALONE("4", "power18-30b") ALONE("8", "power19-65b");
static const char spatial_chat_engines[] = ALONE("1", "chat01-13b") ALONE("2", "chat02-13b")
    ALONE("1", "chat03-13b") ALONE("2", "chat04-13b") ALONE("2", "chat05-13b")
        ALONE("2", "chat06-13b") ALONE("1", "chat07-7b") ALONE("1", "chat08-7b")
            ALONE("1", "chat09-7b") ALONE("1", "chat10-7b") ALONE("2", "chat11-30b")
                ALONE("2", "chat12-30b") ALONE("2", "chat13-30b") ALONE("4", "chat14-65b")
                    ALONE("4", "chat15-65b") ALONE("4", "chat16-65b");
static const struct papers_system spatial = { "spatial", "fcfs", "", spatial_engines, NULL },
                                  spatial_chats = { "spatial", "fcfs", "", spatial_chat_engines,
                                                    NULL },
                                  temporal = { "temporal", "temporal", "lanes: 1\nkv: head-wise\n",
                                               NULL, "muxserve" },
                                  mux = { "muxserve", "adbs", "kv: head-wise\n", NULL, "muxserve" },
                                  greedy = { "greedy", "adbs", "kv: head-wise\n", NULL, "greedy" },
                                  ours = { "default", "default", "", NULL, "default" },
                                  ours_1 = { "default-one-lane", "default", "lanes: 1\n", NULL,
                                             "default" };

/* ---- Throughput. ---- */

/* Throughput within the window of arrivals. A request that ends later counts for attainment
 * alone. */
struct served {
    double weighted, plain, least; /* sum(rate X) / sum(rate); sum of X; least X / rate */
};

static void add_served(const struct scenario_case *c, int duration_s, double part,
                       struct served *out)
{
    double done[LIMIT_SERVICES] = { 0 }, came[LIMIT_SERVICES] = { 0 }, sum = 0, rates = 0,
           plain = 0;
    double least = 1;
    for (size_t i = 0; i < c->set.n; i++) {
        const struct record *r = &c->set.at[i];
        came[r->service] += 1;
        done[r->service] += record_is_done(r) && r->end_ns <= duration_s * TIME_NS_PER_S ? 1 : 0;
    }
    for (int32_t i = 0; i < c->set.n_services; i++) {
        sum += came[i] * done[i] / duration_s;
        rates += came[i];
        plain += done[i] / duration_s;
        least = came[i] > 0 && done[i] / came[i] < least ? done[i] / came[i] : least;
    }
    out->weighted += rates > 0 ? part * sum / rates : 0;
    out->plain += part * plain;
    out->least += part * least;
}

/* Returns means over seeds. */
static struct served served_of(const struct papers *repro, const struct papers_sweep *sweep,
                               const struct papers_system *system, int i)
{
    struct served out = { 0, 0, 0 };
    char key[PAPERS_KEY_MAX];
    papers_sweep_key(sweep, system, i, key);
    for (int seed = 0; seed < papers_n_seeds(repro); seed++)
        add_served(papers_case(repro, key, seed), sweep->duration_s, 1.0 / papers_n_seeds(repro),
                   &out);
    return out;
}

static double ttft_p99(const struct score *score)
{
    return score->ttft_s.p99;
}
static void show_throughput(struct papers *repro, const struct papers_sweep *sweep,
                            const struct papers_system *const *all, size_t n)
{
    for (size_t s = 0; s < n; s++) {
        struct str text;
        str_init(&text);
        for (int i = 0; i < sweep->n; i++) {
            str_printf(&text, "%s%g: ", i > 0 ? ", " : "", sweep->at[i]);
            if (papers_sweep_has(repro, sweep, all[s], i)) {
                struct served served = served_of(repro, sweep, all[s], i);
                str_printf(&text, "%.3g (%.3g, %.0f%%)", served.plain, served.weighted,
                           100 * served.least);
            } else {
                str_add_text(&text, "not placed");
            }
        }
        papers_note(repro, all[s]->key, "sum (weighted), least", "%s", text.at);
        str_free(&text);
    }
}

/* Returns the most by which `better` serves more than `worse`, and whether it never serves less
 * than 99%. */
static bool serves_more(const struct papers *repro, const struct papers_sweep *sweep,
                        const struct papers_system *better, const struct papers_system *worse,
                        double *most)
{
    bool is_never_less = true;
    *most = 0;
    for (int i = 0; i < sweep->n; i++) {
        if (!papers_sweep_has(repro, sweep, better, i) || !papers_sweep_has(repro, sweep, worse, i))
            continue;
        double a = served_of(repro, sweep, better, i).plain;
        double b = served_of(repro, sweep, worse, i).plain;
        double ratio = b > 0 ? a / b : 1;
        *most = ratio > *most ? ratio : *most;
        is_never_less &= ratio > 0.99;
    }
    return is_never_less && *most > 0;
}

static void judge_throughput(struct papers *repro, const struct papers_sweep *sweep,
                             const struct papers_system *better, const struct papers_system *worse,
                             const char *what, const char *paper)
{
    double most;
    bool is_more = serves_more(repro, sweep, better, worse, &most);
    papers_judge(repro, is_more && most > 1.02, what, paper, "%s, up to %.2fx",
                 is_more ? "never less" : "less somewhere", most);
    if (most < PAPERS_SIZE_PART * papers_sweep_size(paper))
        papers_by_direction(repro);
}

/* Returns the most requests per second that a system was offered while at least this part of them
 * met the rule; 0: it was never so. */
static double within(const struct papers *repro, const struct papers_sweep *sweep,
                     const struct papers_system *system, double part)
{
    double most = 0;
    for (int i = 0; i < sweep->n; i++) {
        if (!papers_sweep_has(repro, sweep, system, i) ||
            papers_sweep_mean(repro, sweep, system, i, papers_attained) < part)
            continue;
        double offered = papers_sweep_mean(repro, sweep, system, i, papers_offered);
        most = offered > most ? offered : most;
    }
    return most;
}

/* The paper's metric of attainment: requests within the SLO at 99%. */
static void judge_within(struct papers *repro, const struct papers_sweep *sweep,
                         const struct papers_system *worse, const char *what, const char *paper)
{
    double a = within(repro, sweep, &mux, 0.99), b = within(repro, sweep, worse, 0.99);
    if (b > 0)
        papers_judge(repro, a > (1 + PAPERS_EVEN) * b, what, paper, "%.1f/s : %.1f/s, %.2fx", a, b,
                     a / b);
    else
        papers_judge(repro, a > 0, what, paper, "%.1f/s : none of the rates", a);
    if (b > 0 && a / b < PAPERS_SIZE_PART * papers_sweep_size(paper))
        papers_by_direction(repro);
}

static void differs_in_setting(struct papers *repro)
{
    papers_differs(repro, "throughput counts what ends within the window of arrivals, attainment "
                          "what ends within two minutes more; a planner sees 2,000 requests of "
                          "another seed");
    papers_differs(repro, "times and slowdowns of lanes are fits of the authors' tables, and their "
                          "host takes 70 to 100 us for each request of a step, as in their code");
    papers_differs(repro, "the throughput that is judged is the sum over models; a mean weighted "
                          "by rate hides a starved model, so the least served stands beside it");
}

/* Judges our default over MuxServe, with the lanes that its planner chooses and with one. */
static void judge_ours(struct papers *repro, const struct papers_sweep *sweep,
                       papers_figure *figure, bool more_is_better, const char *what,
                       const char *with_one)
{
    papers_sweep_judge(repro, sweep, (struct papers_duel){ &ours, &mux, figure, more_is_better },
                       what, "-");
    papers_sweep_judge(repro, sweep, (struct papers_duel){ &ours_1, &mux, figure, more_is_better },
                       with_one, "-");
}

/* The authors' host takes this long for each request of a step. */
static void add_host(struct str *yaml, const char *service, const char *model)
{
    int us = strcmp(model, "7b") == 0 ? 100 : strcmp(model, "13b") == 0 ? 80 : 70;
    str_printf(yaml, "  %s: {host_us_per_request: %d}\n", service, us);
}

static void add_hosts(struct str *yaml, const char *prefix, const char *const *models, int n)
{
    str_add_text(yaml, "services:\n");
    for (int k = 0; k < n; k++) {
        char name[32];
        snprintf(name, sizeof(name), "%s%02d-%s", prefix, k + 1, models[k]);
        add_host(yaml, name, models[k]);
    }
}

/* ---- Figures 5 and 11: nineteen models. ---- */

static int four_nodes(const struct papers_sweep *sweep, double at)
{
    (void)sweep;
    (void)at;
    return 4;
}

static void of_power(const struct papers_sweep *sweep, double at, struct str *yaml)
{
    static const char *const models[] = { "7b",  "7b",  "7b",  "7b",  "7b", "7b",  "7b",
                                          "7b",  "7b",  "7b",  "7b",  "7b", "13b", "13b",
                                          "13b", "13b", "30b", "30b", "65b" };
    str_printf(yaml,
               "workload: \"power19:alpha=%g\"\nrate_scale: %g\npredictor: mean\nslo: muxserve:8\n"
               "until: %ds\n",
               sweep->rate, at, sweep->duration_s + DRAIN_S);
    add_hosts(yaml, "power", models, (int)COUNT_OF(models));
}

static struct papers_sweep power_sweep(const struct papers *repro, double alpha, const char *word)
{
    struct papers_sweep sweep = { .word = word,
                                  .at = { 0.5, 1, 1.5, 2, 2.5 },
                                  .n = 5,
                                  .duration_s = 240,
                                  .setting = of_power,
                                  .device = "a100",
                                  .n_nodes = four_nodes,
                                  .rate = alpha };
    if (papers_is_quick(repro)) {
        sweep.at[1] = 1.5;
        sweep.n = 2;
        sweep.duration_s = 60;
    }
    return sweep;
}

static const struct papers_system *const fig5_all[] = { &spatial, &temporal, &mux, &ours, &ours_1 };
static const struct {
    double alpha;
    const char *word, *name;
} fig5_rows[] = { { 0.7, "a0.7-x", "alpha 0.7" },
                  { 0.9, "a0.9-x", "alpha 0.9" },
                  { 1.3, "a1.3-x", "alpha 1.3" },
                  { 1.7, "a1.7-x", "alpha 1.7" },
                  { 2.1, "a2.1-x", "alpha 2.1" } };

/* The short form has two of the rows. */
static bool fig5_has(const struct papers *repro, size_t row)
{
    return !papers_is_quick(repro) || row == 1 || row == 4;
}

enum status papers_muxserve_placed_fig5_run(struct papers *repro, struct fault *fault)
{
    enum status status = STATUS_OK;
    for (size_t r = 0; r < COUNT_OF(fig5_rows) && status == STATUS_OK; r++) {
        const struct papers_sweep sweep = power_sweep(repro, fig5_rows[r].alpha, fig5_rows[r].word);
        if (fig5_has(repro, r))
            status = papers_sweep_run(repro, &sweep, fig5_all, COUNT_OF(fig5_all), fault);
    }
    return status;
}

void papers_muxserve_placed_fig5_judge(struct papers *repro)
{
    for (size_t r = 0; r < COUNT_OF(fig5_rows); r++) {
        if (!fig5_has(repro, r))
            continue;
        const struct papers_sweep sweep = power_sweep(repro, fig5_rows[r].alpha, fig5_rows[r].word);
        papers_note(repro, fig5_rows[r].name, "-", "by scale of the rates 20 k^-alpha:");
        show_throughput(repro, &sweep, fig5_all, COUNT_OF(fig5_all));
        papers_sweep_show(repro, &sweep, fig5_all, COUNT_OF(fig5_all),
                          (struct papers_shown){ papers_attained, 100, "% within 8 times solo" });
        judge_throughput(repro, &sweep, &mux, &spatial, "MuxServe serves more than spatial",
                         "up to 1.8x");
        judge_throughput(repro, &sweep, &mux, &temporal, "MuxServe serves more than temporal",
                         "up to 1.8x");
        judge_within(repro, &sweep, &spatial, "requests within the SLO at 99%: over spatial",
                     "up to 2.9x");
        judge_within(repro, &sweep, &temporal, "requests within the SLO at 99%: over temporal",
                     "more");
        judge_ours(repro, &sweep, papers_nl, false, "NL, our default : MuxServe",
                   "NL, our default with one lane : MuxServe");
    }
    differs_in_setting(repro);
}

static const struct papers_system *const fig11_all[] = { &spatial, &temporal, &mux };

enum status papers_muxserve_placed_fig11_run(struct papers *repro, struct fault *fault)
{
    const struct papers_sweep sweep = power_sweep(repro, 0.9, "x");
    return papers_sweep_run(repro, &sweep, fig11_all, COUNT_OF(fig11_all), fault);
}

void papers_muxserve_placed_fig11_judge(struct papers *repro)
{
    const struct papers_sweep sweep = power_sweep(repro, 0.9, "x");
    static const struct {
        papers_figure *figure;
        const char *name, *over_spatial, *over_temporal;
    } rows[] = {
        { papers_p99, "p99 latency, s", "p99, MuxServe : spatial", "p99, MuxServe : temporal" },
        { ttft_p99, "p99 TTFT, s", "TTFT, MuxServe : spatial", "TTFT, MuxServe : temporal" },
        { papers_p99_tpot, "p99 TPOT, s", "TPOT, MuxServe : spatial", "TPOT, MuxServe : temporal" },
    };
    for (size_t r = 0; r < COUNT_OF(rows); r++) {
        papers_sweep_show(repro, &sweep, fig11_all, COUNT_OF(fig11_all),
                          (struct papers_shown){ rows[r].figure, 1, rows[r].name });
        if (r < 2)
            papers_sweep_judge(repro, &sweep,
                               (struct papers_duel){ &mux, &spatial, rows[r].figure, false },
                               rows[r].over_spatial, "lower");
        else
            papers_sweep_judge(repro, &sweep,
                               (struct papers_duel){ &spatial, &mux, rows[r].figure, false },
                               "TPOT, spatial : MuxServe", "slightly lower");
        papers_sweep_judge(repro, &sweep,
                           (struct papers_duel){ &mux, &temporal, rows[r].figure, false },
                           rows[r].over_temporal, "lower");
    }
    differs_in_setting(repro);
    papers_differs(repro, "alpha 0.9");
}

/* ---- Figure 6: how unequal the rates are. ---- */

static const double fig6_alphas[] = { 0.7, 0.9, 1.3, 1.7, 2.1 };

static struct papers_sweep fig6_sweep(double alpha)
{
    return (struct papers_sweep){ .word = "alpha",
                                  .at = { alpha },
                                  .n = 1,
                                  .duration_s = 60,
                                  .setting = of_power,
                                  .device = "a100",
                                  .n_nodes = four_nodes,
                                  .rate = alpha };
}

enum status papers_muxserve_placed_fig6_run(struct papers *repro, struct fault *fault)
{
    static const struct papers_system *const one[] = { &spatial };
    enum status status = STATUS_OK;
    for (size_t a = 0; a < COUNT_OF(fig6_alphas) && status == STATUS_OK; a++) {
        const struct papers_sweep sweep = fig6_sweep(fig6_alphas[a]);
        status = papers_sweep_run(repro, &sweep, one, 1, fault);
    }
    return status;
}

void papers_muxserve_placed_fig6_judge(struct papers *repro)
{
    static const char *const names[] = { "alpha 0.7", "alpha 0.9", "alpha 1.3", "alpha 1.7",
                                         "alpha 2.1" };
    double share[COUNT_OF(fig6_alphas)];
    for (size_t a = 0; a < COUNT_OF(fig6_alphas); a++) {
        char key[PAPERS_KEY_MAX];
        const struct papers_sweep sweep = fig6_sweep(fig6_alphas[a]);
        double rates[LIMIT_SERVICES], top = 0, all = 0;
        papers_sweep_key(&sweep, &spatial, 0, key);
        const struct scenario_case *c = papers_case(repro, key, 0);
        for (int32_t i = 0; i < c->set.n_services; i++) {
            rates[i] = c->scores[i].offered_per_s;
            all += rates[i];
        }
        for (int k = 0; k < 4; k++) { /* four of nineteen are 21% */
            int32_t most = 0;
            for (int32_t i = 1; i < c->set.n_services; i++)
                most = rates[i] > rates[most] ? i : most;
            top += rates[most];
            rates[most] = 0;
        }
        share[a] = top / all;
        papers_note(repro, names[a], "-", "four of nineteen models get %.0f%% of the requests",
                    100 * share[a]);
    }
    papers_judge(repro, share[1] > 0.45 && share[1] < 0.6, "at 0.9 a fifth of the models gets",
                 "50%", "%.0f%%", 100 * share[1]);
    papers_judge(repro, share[4] > 0.85 && share[4] < 0.95, "at 2.1 a fifth of the models gets",
                 "90%", "%.0f%%", 100 * share[4]);
    papers_differs(repro,
                   "counted from the requests of one minute; four of nineteen models are 21%");
}

/* ---- Figure 7: ChatLMSYS. ---- */

static void of_chats(const struct papers_sweep *sweep, double at, struct str *yaml)
{
    static const char *const models[] = { "13b", "13b", "13b", "13b", "13b", "13b", "7b",  "7b",
                                          "7b",  "7b",  "30b", "30b", "30b", "65b", "65b", "65b" };
    str_printf(yaml,
               "workload: \"chatlmsys16:rate=%g\"\npredictor: mean\nslo: muxserve:8\nuntil: %ds\n",
               16 * at, sweep->duration_s + DRAIN_S);
    add_hosts(yaml, "chat", models, (int)COUNT_OF(models));
}

static const struct papers_system *const fig7_all[] = { &spatial_chats, &temporal, &mux, &ours,
                                                        &ours_1 };

static struct papers_sweep fig7_sweep(const struct papers *repro)
{
    struct papers_sweep sweep = { .word = "mean-rate",
                                  .at = { 3, 4.8, 7.1, 9.5, 11.9 },
                                  .n = 5,
                                  .duration_s = 240,
                                  .setting = of_chats,
                                  .device = "a100",
                                  .n_nodes = four_nodes };
    if (papers_is_quick(repro)) {
        sweep.at[1] = 9.5;
        sweep.n = 2;
        sweep.duration_s = 60;
    }
    return sweep;
}

enum status papers_muxserve_placed_fig7_run(struct papers *repro, struct fault *fault)
{
    const struct papers_sweep sweep = fig7_sweep(repro);
    return papers_sweep_run(repro, &sweep, fig7_all, COUNT_OF(fig7_all), fault);
}

void papers_muxserve_placed_fig7_judge(struct papers *repro)
{
    const struct papers_sweep sweep = fig7_sweep(repro);
    show_throughput(repro, &sweep, fig7_all, COUNT_OF(fig7_all));
    papers_sweep_show(repro, &sweep, fig7_all, COUNT_OF(fig7_all),
                      (struct papers_shown){ papers_attained, 100, "% within 8 times solo" });
    judge_throughput(repro, &sweep, &mux, &spatial_chats, "MuxServe serves more than spatial",
                     "up to 1.38x");
    judge_throughput(repro, &sweep, &mux, &temporal, "MuxServe serves more than temporal",
                     "up to 1.46x");
    papers_sweep_judge(repro, &sweep,
                       (struct papers_duel){ &mux, &spatial_chats, papers_attained, true },
                       "attainment over spatial", "higher at every rate");
    papers_sweep_judge(repro, &sweep,
                       (struct papers_duel){ &mux, &temporal, papers_attained, true },
                       "attainment over temporal", "higher at every rate");
    judge_ours(repro, &sweep, papers_attained, true, "attainment, our default over MuxServe",
               "attainment, our default with one lane over MuxServe");
    differs_in_setting(repro);
}

/* ---- Figures 8 and 10: small clusters. ---- */

static void add_model(struct str *yaml, const char *model, const char *name, double rate)
{
    str_printf(yaml, "  - \"sharegpt:rate=%g,service=%s,model=%s\"\n", rate, name, model);
}

/* Half of the models are popular and get more than 70% of the requests. */
static void of_small(const struct papers_sweep *sweep, double at, struct str *yaml)
{
    bool is_large = sweep->rate == 16;
    str_add_text(yaml, "workload:\n");
    add_model(yaml, "llama-7b", "a", is_large ? 12 : 14);
    add_model(yaml, "llama-7b", "b", is_large ? 10 : 14);
    add_model(yaml, "llama-7b", "c", is_large ? 3 : 5);
    if (is_large) {
        add_model(yaml, "llama-13b", "d", 8);
        add_model(yaml, "llama-13b", "e", 2);
        add_model(yaml, "llama-65b", "g", 1);
    }
    add_model(yaml, "llama-30b", "f", is_large ? 2 : 3);
    str_printf(yaml, "rate_scale: %g\npredictor: mean\nslo: muxserve:8\nuntil: %ds\nservices:\n",
               at, sweep->duration_s + DRAIN_S);
    for (const char *name = is_large ? "abcdefg" : "abcf"; *name != '\0'; name++) {
        const char service[] = { *name, '\0' };
        add_host(yaml, service, *name < 'd' ? "7b" : *name == 'd' || *name == 'e' ? "13b" : "30b");
    }
}

static int one_or_two_nodes(const struct papers_sweep *sweep, double at)
{
    (void)at;
    return (int)sweep->rate / 8;
}

static const struct papers_system *const fig8_all[] = { &mux, &greedy, &ours, &ours_1 };

static struct papers_sweep fig8_sweep(const struct papers *repro, int i)
{
    struct papers_sweep sweep = { .word = i == 0 ? "8-x" : "16-x",
                                  .at = { 1, 2, 3 },
                                  .n = 3,
                                  .duration_s = 240,
                                  .setting = of_small,
                                  .device = "a100",
                                  .n_nodes = one_or_two_nodes,
                                  .rate = i == 0 ? 8 : 16 };
    if (papers_is_quick(repro)) {
        sweep.n = 1;
        sweep.duration_s = 60;
    }
    return sweep;
}

enum status papers_muxserve_placed_fig8_run(struct papers *repro, struct fault *fault)
{
    enum status status = STATUS_OK;
    for (int i = 0; i < 2 && status == STATUS_OK; i++) {
        const struct papers_sweep sweep = fig8_sweep(repro, i);
        status = papers_sweep_run(repro, &sweep, fig8_all, COUNT_OF(fig8_all), fault);
    }
    return status;
}

void papers_muxserve_placed_fig8_judge(struct papers *repro)
{
    static const char *const words[2][3] = {
        { "8 devices, 4 models: over greedy", "8 devices: NL, our default : MuxServe",
          "8 devices: NL, our default with one lane : MuxServe" },
        { "16 devices, 7 models: over greedy", "16 devices: NL, our default : MuxServe",
          "16 devices: NL, our default with one lane : MuxServe" },
    };
    for (int i = 0; i < 2; i++) {
        const struct papers_sweep sweep = fig8_sweep(repro, i);
        show_throughput(repro, &sweep, fig8_all, COUNT_OF(fig8_all));
        judge_throughput(repro, &sweep, &mux, &greedy, words[i][0],
                         i == 0 ? "about the same" : "1.3x");
        judge_ours(repro, &sweep, papers_nl, false, words[i][1], words[i][2]);
    }
    differs_in_setting(repro);
    papers_differs(repro,
                   "the paper does not name the models: here 7B, 7B, 7B and 30B, or three 7B, "
                   "two 13B, a 30B and a 65B; scales 1 to 3 of 36 or 38 requests/s");
}

/* Four models on four devices as one engine. */
static void of_four(const struct papers_sweep *sweep, double at, struct str *yaml)
{
    static const char *const models[] = { "llama-7b", "llama-7b", "llama-13b", "llama-30b" };
    static const char *const names[] = { "a", "b", "c", "d" };
    str_add_text(yaml, "workload:\n");
    for (int k = 0; k < 4; k++)
        add_model(yaml, models[k], names[k], 20 * num_exp(-at * num_log(k + 1)));
    str_printf(yaml,
               "rate_scale: %g\npredictor: mean\nslo: muxserve:8\nuntil: %ds\n"
               "memory_part: 0.62\nservices:\n",
               sweep->rate, sweep->duration_s + DRAIN_S);
    for (int k = 0; k < 4; k++)
        add_host(yaml, names[k], models[k] + strlen("llama-"));
}

/* Without shared memory, quotas stay and no model borrows; without parts, there is one lane. */
static const char four[] = "  - {count: 1, tp: 4, services: [a, b, c, d]}\n";
static const char split[] = "thresholds: [quota_donor=0, quota_lent=1]\n";
static const char alone[] = "thresholds: [quota_donor=0, quota_lent=1]\nlanes: 1\n";
static const struct papers_system none = { "neither", "adbs", alone, four, NULL },
                                  compute = { "compute", "adbs", split, four, NULL },
                                  both = { "compute-and-memory", "adbs", "", four, NULL };
static const struct papers_system *const fig10_all[] = { &none, &compute, &both };

static struct papers_sweep fig10_sweep(const struct papers *repro)
{
    struct papers_sweep sweep = { .word = "alpha",
                                  .at = { 0.7, 0.9, 1.3, 1.7, 2.1 },
                                  .n = 5,
                                  .duration_s = papers_is_quick(repro) ? 60 : 240,
                                  .setting = of_four,
                                  .device = "a100",
                                  .rate = 1 };
    return sweep;
}

enum status papers_muxserve_placed_fig10_run(struct papers *repro, struct fault *fault)
{
    const struct papers_sweep sweep = fig10_sweep(repro);
    return papers_sweep_run(repro, &sweep, fig10_all, COUNT_OF(fig10_all), fault);
}

void papers_muxserve_placed_fig10_judge(struct papers *repro)
{
    const struct papers_sweep sweep = fig10_sweep(repro);
    show_throughput(repro, &sweep, fig10_all, COUNT_OF(fig10_all));
    papers_sweep_show(repro, &sweep, fig10_all, COUNT_OF(fig10_all),
                      (struct papers_shown){ papers_attained, 100, "% within 8 times solo" });
    judge_throughput(repro, &sweep, &compute, &none, "parts of the device: throughput", "1.7x");
    judge_throughput(repro, &sweep, &both, &compute, "shared memory: throughput", "1.2x more");
    papers_sweep_judge(repro, &sweep, (struct papers_duel){ &both, &none, papers_attained, true },
                       "both: attainment", "3.6x");
    differs_in_setting(repro);
    papers_differs(repro, "without shared memory quotas stay where rates and lengths put them and "
                          "no model borrows; 62% of the memory, so that the cache is short; rates "
                          "20 k^-alpha of two 7B, a 13B and a 30B");
}
