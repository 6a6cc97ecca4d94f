/* The claims of SeaLLM about placement. Every system has its own planner, which plans on one
 * history of requests; runs use other seeds. The same sixteen services as in seallm.c, on
 * nodes of eight A800. */
#include "papers/seallm_placed.h"
#include "papers/register.h"

#include <stdio.h>
#include <string.h>

const struct papers_system papers_seallm_placed_vllm = { "vllm", "fcfs", "", NULL, "even" },
                           papers_seallm_placed_alpa = { "alpaserve", "temporal", "", NULL,
                                                         "alpaserve" },
                           papers_seallm_placed_mux = { "muxserve", "adbs", "kv: head-wise\n", NULL,
                                                        "muxserve" },
                           papers_seallm_placed_sea = { "seallm", "db-turn", "", NULL, "seallm" },
                           papers_seallm_placed_ours = { "default", "default", "", NULL,
                                                         "default" };
static const struct papers_system sea_p = { "seallm-p", "db-turn", "", NULL, "even" },
                                  sea_a = { "seallm-a", "db-turn", "", NULL, "seallm" },
                                  sea_stays = { "seallm-stays", "db-turn", "", NULL, "seallm" },
                                  ours_1 = { "default-one-lane", "default", "lanes: 1\n", NULL,
                                             "default" };

void papers_seallm_placed_setting(double rate, struct str *yaml)
{
    str_printf(yaml, "workload: \"sea16:seed=2,rate=%g\"\npredictor: mean\n", rate);
}

static void of_rate(const struct papers_sweep *sweep, double at, struct str *yaml)
{
    (void)sweep;
    papers_seallm_placed_setting(at, yaml);
}

static int four_nodes(const struct papers_sweep *sweep, double at)
{
    (void)sweep;
    (void)at;
    return 4;
}

static void of_density(const struct papers_sweep *sweep, double at, struct str *yaml)
{
    (void)at;
    papers_seallm_placed_setting(sweep->rate, yaml);
}

/* Density 1 is 32 devices; 0.67 means 48. */
static int nodes_of_density(const struct papers_sweep *sweep, double at)
{
    (void)sweep;
    return (int)(4 / at + 0.5);
}

void papers_seallm_placed_differs(struct papers *repro)
{
    papers_differs(repro,
                   "every system's planner sees 2,000 requests of another seed, and its plan "
                   "stays; AlpaServe's has no pipelines, whose gain is for models apart");
    papers_differs(repro, "arrivals are bursts of a power law: the functions' trace of 2021 is not "
                          "public here; prompts are cut to 4,096 - output tokens");
    papers_differs(repro, "the paper prints neither its services' lengths nor their shares: the "
                          "rate of the knee is ours");
}

/* Runs a system whose models move ("on") or stay ("off"). Both begin with the plan for the first
 * requests of the run itself. */
static enum status run_moving(struct papers *repro, const struct papers_sweep *sweep,
                              const struct papers_system *system, const char *moves,
                              struct fault *fault)
{
    enum status status = STATUS_OK;
    for (int i = 0; i < sweep->n && status == STATUS_OK; i++) {
        char key[PAPERS_KEY_MAX];
        struct str yaml;
        papers_sweep_key(sweep, system, i, key);
        str_init(&yaml);
        sweep->setting(sweep, sweep->at[i], &yaml);
        str_printf(&yaml,
                   "duration: %ds\n"
                   "nodes: [{count: %d, device: %s, devices: 8}]\n"
                   "planner: %s\n"
                   "replace: [%s, first_ns=%d, n_window=%d]\n",
                   sweep->duration_s, sweep->n_nodes(sweep, sweep->at[i]), sweep->device,
                   system->planner, papers_swapped(repro, moves),
                   sweep->duration_s < 600 ? 60000 : 120000, papers_is_quick(repro) ? 500 : 5000);
        status = papers_simulate(repro, key, system->policy, yaml.at, fault);
        str_free(&yaml);
    }
    return status;
}

/* ---- Figures 6 and 8. ---- */

static struct papers_sweep rates_of(const struct papers *repro)
{
    struct papers_sweep sweep = { .word = "rate",
                                  .at = { 2, 5, 10, 20, 30, 40, 50 },
                                  .n = 7,
                                  .duration_s = 120,
                                  .setting = of_rate,
                                  .device = "a800",
                                  .n_nodes = four_nodes };
    if (papers_is_quick(repro)) {
        sweep.at[0] = 5;
        sweep.at[1] = 20;
        sweep.n = 2;
        sweep.duration_s = 60;
    }
    return sweep;
}

static void show(struct papers *repro, const struct papers_sweep *sweep,
                 const struct papers_system *const *all, size_t n)
{
    papers_sweep_show(repro, sweep, all, n,
                      (struct papers_shown){ papers_nl, 1, "normalized latency" });
    papers_sweep_show(repro, sweep, all, n,
                      (struct papers_shown){ papers_attained, 100, "% within 5 times solo" });
}

static void judge_ours(struct papers *repro, const struct papers_sweep *sweep)
{
    static const struct {
        const struct papers_system *rival;
        const char *what, *with_one;
    } rows[] = {
        { &papers_seallm_placed_vllm, "NL, our default : vLLM", "NL, default, one lane : vLLM" },
        { &papers_seallm_placed_alpa, "NL, our default : AlpaServe",
          "NL, default, one lane : AlpaServe" },
        { &papers_seallm_placed_mux, "NL, our default : MuxServe",
          "NL, default, one lane : MuxServe" },
        { &papers_seallm_placed_sea, "NL, our default : SeaLLM", "NL, default, one lane : SeaLLM" }
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct papers_duel duel = { &papers_seallm_placed_ours, rows[i].rival, papers_nl, false };
        papers_sweep_judge(repro, sweep, duel, rows[i].what, "-");
        duel.better = &ours_1;
        if (papers_sweep_has(repro, sweep, &ours_1, 0))
            papers_sweep_judge(repro, sweep, duel, rows[i].with_one, "-");
    }
}

static void judge_promise(struct papers *repro, const struct papers_sweep *sweep)
{
    double top_nl = 0, low_slo = 1, last = 0;
    bool is_kept = true;
    for (int i = 0; i < sweep->n; i++) {
        double nl = papers_sweep_mean(repro, sweep, &papers_seallm_placed_sea, i, papers_nl);
        double slo = papers_sweep_mean(repro, sweep, &papers_seallm_placed_sea, i, papers_attained);
        top_nl = nl > top_nl ? nl : top_nl;
        low_slo = slo < low_slo ? slo : low_slo;
        is_kept &= nl < 3 && slo > 0.9;
        last = is_kept ? sweep->at[i] : last;
    }
    papers_judge(repro, is_kept, "SeaLLM: NL < 3 and attainment > 90%", "at every rate",
                 "NL up to %.2f, attainment from %.1f%%; up to %g/s", top_nl, 100 * low_slo, last);
}

static void note_moves(struct papers *repro, const struct papers_sweep *sweep)
{
    struct str text;
    str_init(&text);
    for (int i = 0; i < sweep->n; i++) {
        char key[PAPERS_KEY_MAX];
        int64_t n_plans = 0, n_moves = 0;
        papers_sweep_key(sweep, &papers_seallm_placed_sea, i, key);
        for (int seed = 0; seed < papers_n_seeds(repro); seed++) {
            n_plans += papers_case(repro, key, seed)->report.replace.n_plans;
            n_moves += papers_case(repro, key, seed)->report.replace.n_moves;
        }
        str_printf(&text, "%s%g: %lld of %lld", i > 0 ? ", " : "", sweep->at[i], (long long)n_moves,
                   (long long)n_plans);
    }
    papers_note(repro, papers_seallm_placed_sea.key, "plans installed, all seeds", "%s", text.at);
    str_free(&text);
}

static const struct papers_system *const fig6_all[] = { &papers_seallm_placed_vllm,
                                                        &papers_seallm_placed_alpa,
                                                        &papers_seallm_placed_mux,
                                                        &papers_seallm_placed_sea,
                                                        &sea_stays,
                                                        &papers_seallm_placed_ours,
                                                        &ours_1 };

/* Long enough for re-placement: SeaLLM plans again after a minute. */
static struct papers_sweep fig6_sweep(const struct papers *repro)
{
    struct papers_sweep sweep = rates_of(repro);
    sweep.duration_s = papers_is_quick(repro) ? 120 : 300;
    return sweep;
}

enum status papers_seallm_placed_fig6_run(struct papers *repro, struct fault *fault)
{
    const struct papers_sweep sweep = fig6_sweep(repro);
    enum status status = STATUS_OK;
    for (size_t s = 0; s < COUNT_OF(fig6_all) && status == STATUS_OK; s++)
        status = fig6_all[s] == &papers_seallm_placed_sea
                     ? run_moving(repro, &sweep, fig6_all[s], "on", fault)
                     : papers_sweep_run(repro, &sweep, &fig6_all[s], 1, fault);
    return status;
}

void papers_seallm_placed_fig6_judge(struct papers *repro)
{
    const struct papers_sweep sweep = fig6_sweep(repro);
    static const char *const words[3][3] = {
        { "NL, SeaLLM : vLLM", "NL, SeaLLM : AlpaServe", "NL, SeaLLM : MuxServe" },
        { "p99, SeaLLM : vLLM", "p99, SeaLLM : AlpaServe", "p99, SeaLLM : MuxServe" },
        { "attainment, SeaLLM : vLLM", "attainment, SeaLLM : AlpaServe",
          "attainment, SeaLLM : MuxServe" },
    };
    static const char *const papers[3][3] = {
        { "up to 10.38x lower", "up to 9.52x lower", "up to 13.60x lower" },
        { "up to 12.13x lower", "up to 5.80x lower", "up to 18.69x lower" },
        { "up to 1.82x higher", "up to 3.64x higher", "up to 2.11x higher" },
    };
    static papers_figure *const figures[] = { papers_nl, papers_p99, papers_attained };
    show(repro, &sweep, fig6_all, COUNT_OF(fig6_all));
    for (int f = 0; f < 3; f++)
        for (int i = 0; i < 3; i++)
            papers_sweep_judge(
                repro, &sweep,
                (struct papers_duel){ &papers_seallm_placed_sea, fig6_all[i], figures[f], f == 2 },
                words[f][i], papers[f][i]);
    static const char *const stays[] = { "NL, SeaLLM that stays : vLLM",
                                         "NL, SeaLLM that stays : AlpaServe",
                                         "NL, SeaLLM that stays : MuxServe" };
    for (int i = 0; i < 3; i++)
        papers_sweep_judge(repro, &sweep,
                           (struct papers_duel){ &sea_stays, fig6_all[i], papers_nl, false },
                           stays[i], papers[0][i]);
    papers_sweep_judge(
        repro, &sweep,
        (struct papers_duel){ &papers_seallm_placed_sea, &sea_stays, papers_nl, false },
        "NL, SeaLLM : its first plan, which stays", "-");
    note_moves(repro, &sweep);
    judge_ours(repro, &sweep);
    judge_promise(repro, &sweep);
    papers_seallm_placed_differs(repro);
    papers_differs(repro,
                   "SeaLLM's models move, as the paper has them: it begins with the plan for "
                   "the run's own first requests and plans again after a minute, for five "
                   "minutes of arrivals; the others' plans stay");
}

static const struct papers_system *const fig8_all[] = { &papers_seallm_placed_sea, &sea_p };

enum status papers_seallm_placed_fig8_run(struct papers *repro, struct fault *fault)
{
    const struct papers_sweep sweep = rates_of(repro);
    return papers_sweep_run(repro, &sweep, fig8_all, COUNT_OF(fig8_all), fault);
}

void papers_seallm_placed_fig8_judge(struct papers *repro)
{
    const struct papers_sweep sweep = rates_of(repro);
    show(repro, &sweep, fig8_all, COUNT_OF(fig8_all));
    papers_sweep_judge(repro, &sweep,
                       (struct papers_duel){ &papers_seallm_placed_sea, &sea_p, papers_nl, false },
                       "NL, SeaLLM : -P", "as vLLM");
    papers_sweep_judge(
        repro, &sweep,
        (struct papers_duel){ &papers_seallm_placed_sea, &sea_p, papers_attained, true },
        "attainment, SeaLLM : -P", "as vLLM");
    papers_seallm_placed_differs(repro);
}

/* ---- Figure 8, -A: models move towards their load, or stay. ---- */

/* Makes lasting bursts: ten minutes at four times the rate of the twenty between. */
static void of_lasting_bursts(const struct papers_sweep *sweep, double at, struct str *yaml)
{
    bool is_short = sweep->duration_s < 1800;
    str_printf(yaml, "workload: \"sea16:seed=2,rate=%g,on=%s,off-rate=0.25\"\npredictor: mean\n",
               at, is_short ? "3m,off=6m" : "10m,off=20m");
}

static enum status run_both(struct papers *repro, const struct papers_sweep *sweep,
                            struct fault *fault)
{
    enum status status = run_moving(repro, sweep, &papers_seallm_placed_sea, "on", fault);
    return status == STATUS_OK ? run_moving(repro, sweep, &sea_a, "off", fault) : status;
}

static void show_both(struct papers *repro, const struct papers_sweep *sweep)
{
    static const struct papers_system *const all[] = { &papers_seallm_placed_sea, &sea_a };
    show(repro, sweep, all, COUNT_OF(all));
    note_moves(repro, sweep);
}

static struct papers_sweep fig8a_sweep(const struct papers *repro)
{
    struct papers_sweep sweep = rates_of(repro);
    sweep.duration_s = papers_is_quick(repro) ? 600 : 1800;
    sweep.setting = of_lasting_bursts;
    return sweep;
}

/* The mix's own bursts of a minute, at one rate. */
static struct papers_sweep fig8a_minutes(const struct papers *repro)
{
    struct papers_sweep minutes = fig8a_sweep(repro);
    minutes.setting = of_rate;
    minutes.word = "minutes-rate";
    minutes.at[0] = 10;
    minutes.n = 1;
    return minutes;
}

enum status papers_seallm_placed_fig8a_run(struct papers *repro, struct fault *fault)
{
    const struct papers_sweep sweep = fig8a_sweep(repro), minutes = fig8a_minutes(repro);
    enum status status = run_both(repro, &sweep, fault);
    return status == STATUS_OK ? run_both(repro, &minutes, fault) : status;
}

void papers_seallm_placed_fig8a_judge(struct papers *repro)
{
    const struct papers_sweep sweep = fig8a_sweep(repro), minutes = fig8a_minutes(repro);
    show_both(repro, &sweep);
    papers_note(repro, "bursts of a minute", "-", "as the mix has them, 10/s, not judged:");
    show_both(repro, &minutes);
    papers_sweep_judge(repro, &sweep,
                       (struct papers_duel){ &papers_seallm_placed_sea, &sea_a, papers_nl, false },
                       "NL, SeaLLM : -A", "up to 2.44x lower");
    papers_sweep_judge(
        repro, &sweep,
        (struct papers_duel){ &papers_seallm_placed_sea, &sea_a, papers_attained, true },
        "attainment, SeaLLM : -A", "up to 1.33x higher");
    papers_differs(repro,
                   "both begin with the plan of SeaLLM's planner for the run's own first requests "
                   "(5,000, or half of them); -A keeps it; moves cost what they cost: weights that "
                   "load, requests that compute again");
    papers_differs(repro, "popularity lasts: every service has bursts of ten minutes, in the short "
                          "form of three, at a rate four times that of the pauses between; the "
                          "mix's own bursts last a minute, which looking back can never follow");
    papers_differs(repro,
                   "the paper prints no first interval: here it is two minutes, half an hour "
                   "is simulated, and plans are installed only when the move pays");
}

/* ---- Figure 11: the same load on 64, 48, 32 and 16 devices. ---- */

static const struct papers_system *const fig11_all[] = {
    &papers_seallm_placed_vllm, &papers_seallm_placed_alpa, &papers_seallm_placed_mux,
    &papers_seallm_placed_sea, &papers_seallm_placed_ours
};

static struct papers_sweep fig11_sweep(const struct papers *repro)
{
    struct papers_sweep sweep = { .word = "density",
                                  .at = { 0.5, 2.0 / 3, 1, 2 },
                                  .n = 4,
                                  .duration_s = papers_is_quick(repro) ? 60 : 300,
                                  .setting = of_density,
                                  .device = "a800",
                                  .n_nodes = nodes_of_density,
                                  .rate = 10 };
    if (papers_is_quick(repro)) {
        sweep.at[1] = 2;
        sweep.n = 2;
    }
    return sweep;
}

enum status papers_seallm_placed_fig11_run(struct papers *repro, struct fault *fault)
{
    const struct papers_sweep sweep = fig11_sweep(repro);
    return papers_sweep_run(repro, &sweep, fig11_all, COUNT_OF(fig11_all), fault);
}

void papers_seallm_placed_fig11_judge(struct papers *repro)
{
    const struct papers_sweep sweep = fig11_sweep(repro);
    static const char *const words[] = { "NL, SeaLLM : vLLM", "NL, SeaLLM : AlpaServe",
                                         "NL, SeaLLM : MuxServe" };
    show(repro, &sweep, fig11_all, COUNT_OF(fig11_all));
    for (int i = 0; i < 3; i++)
        papers_sweep_judge(
            repro, &sweep,
            (struct papers_duel){ &papers_seallm_placed_sea, fig11_all[i], papers_nl, false },
            words[i], "lower, most where it is dense");
    judge_ours(repro, &sweep);
    bool is_placed = papers_sweep_has(repro, &sweep, &papers_seallm_placed_mux, sweep.n - 1);
    papers_judge(repro, !is_placed, "MuxServe finds no placement at density 2", "yes", "%s",
                 is_placed ? "it places all sixteen" : "it leaves services out");
    papers_seallm_placed_differs(repro);
    papers_differs(repro, "10 requests/s; density 0.5 is 64 devices, 2 is 16");
}
