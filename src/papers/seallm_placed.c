/* The claims of SeaLLM about placement. Every system has its own planner, which plans on one
 * history of requests; runs use other seeds. The same sixteen services as in seallm.c, on
 * nodes of eight A800. */
#include "papers/needed.h"
#include "papers/sweep.h"

#include "scenario/problem.h"
#include <stdio.h>
#include <string.h>

static const struct papers_system vllm = { "vllm", "fcfs", "", NULL, "even" },
                                  alpa = { "alpaserve", "temporal", "", NULL, "alpaserve" },
                                  mux = { "muxserve", "adbs", "", NULL, "muxserve" },
                                  sea = { "seallm", "db-turn", "", NULL, "seallm" },
                                  sea_p = { "seallm-p", "db-turn", "", NULL, "even" },
                                  sea_a = { "seallm-a", "db-turn", "", NULL, "seallm" },
                                  ours = { "default", "default", "", NULL, "default" };

static void add_setting(double rate, struct str *yaml)
{
    str_printf(yaml, "workload: \"sea16:seed=2,rate=%g\"\npredictor: mean\n", rate);
}

static void of_rate(const struct papers_sweep *sweep, double at, struct str *yaml)
{
    (void)sweep;
    add_setting(at, yaml);
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
    add_setting(sweep->rate, yaml);
}

/* Density 1 is 32 devices; 0.67 means 48. */
static int nodes_of_density(const struct papers_sweep *sweep, double at)
{
    (void)sweep;
    return (int)(4 / at + 0.5);
}

static void differs_in_setting(struct papers *repro)
{
    papers_differs(repro,
                   "every system's planner sees 2,000 requests of another seed, and its plan "
                   "stays; AlpaServe's has no pipelines, whose gain is for models apart");
    papers_differs(repro, "arrivals are bursts of a power law: the functions' trace of 2021 is not "
                          "public here; prompts are cut to 4,096 - output tokens");
    papers_differs(repro, "the paper prints neither its services' lengths nor their shares: the "
                          "rate of the knee is ours");
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

static enum status run_and_show(struct papers *repro, const struct papers_sweep *sweep,
                                const struct papers_system *const *all, size_t n,
                                struct fault *fault)
{
    enum status status = papers_sweep_run(repro, sweep, all, n, fault);
    if (status == STATUS_OK)
        show(repro, sweep, all, n);
    return status;
}

static void judge_ours(struct papers *repro, const struct papers_sweep *sweep)
{
    static const struct {
        const struct papers_system *rival;
        const char *what;
    } rows[] = { { &vllm, "NL, our default : vLLM" },
                 { &alpa, "NL, our default : AlpaServe" },
                 { &mux, "NL, our default : MuxServe" },
                 { &sea, "NL, our default : SeaLLM" } };
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        papers_sweep_judge(repro, sweep,
                           (struct papers_duel){ &ours, rows[i].rival, papers_nl, false },
                           rows[i].what, "-");
}

static void judge_promise(struct papers *repro, const struct papers_sweep *sweep)
{
    double top_nl = 0, low_slo = 1, last = 0;
    bool is_kept = true;
    for (int i = 0; i < sweep->n; i++) {
        double nl = papers_sweep_mean(repro, sweep, &sea, i, papers_nl);
        double slo = papers_sweep_mean(repro, sweep, &sea, i, papers_attained);
        top_nl = nl > top_nl ? nl : top_nl;
        low_slo = slo < low_slo ? slo : low_slo;
        is_kept &= nl < 3 && slo > 0.9;
        last = is_kept ? sweep->at[i] : last;
    }
    papers_judge(repro, is_kept, "SeaLLM: NL < 3 and attainment > 90%", "at every rate",
                 "NL up to %.2f, attainment from %.1f%%; up to %g/s", top_nl, 100 * low_slo, last);
}

static enum status fig6(struct papers *repro, struct fault *fault)
{
    static const struct papers_system *const all[] = { &vllm, &alpa, &mux, &sea, &ours };
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
    const struct papers_sweep sweep = rates_of(repro);
    enum status status = run_and_show(repro, &sweep, all, COUNT_OF(all), fault);
    if (status != STATUS_OK)
        return status;
    for (int f = 0; f < 3; f++)
        for (int i = 0; i < 3; i++)
            papers_sweep_judge(repro, &sweep,
                               (struct papers_duel){ &sea, all[i], figures[f], f == 2 },
                               words[f][i], papers[f][i]);
    judge_ours(repro, &sweep);
    judge_promise(repro, &sweep);
    differs_in_setting(repro);
    return STATUS_OK;
}

static enum status fig8(struct papers *repro, struct fault *fault)
{
    static const struct papers_system *const all[] = { &sea, &sea_p };
    const struct papers_sweep sweep = rates_of(repro);
    enum status status = run_and_show(repro, &sweep, all, COUNT_OF(all), fault);
    if (status != STATUS_OK)
        return status;
    papers_sweep_judge(repro, &sweep, (struct papers_duel){ &sea, &sea_p, papers_nl, false },
                       "NL, SeaLLM : -P", "as vLLM");
    papers_sweep_judge(repro, &sweep, (struct papers_duel){ &sea, &sea_p, papers_attained, true },
                       "attainment, SeaLLM : -P", "as vLLM");
    differs_in_setting(repro);
    return STATUS_OK;
}

/* ---- Figure 8, -A: models move towards their load, or stay. ---- */

/* Makes lasting bursts: ten minutes at four times the rate of the twenty between. */
static void of_lasting_bursts(const struct papers_sweep *sweep, double at, struct str *yaml)
{
    bool is_short = sweep->duration_s < 1800;
    str_printf(yaml, "workload: \"sea16:seed=2,rate=%g,on=%s,off-rate=0.25\"\npredictor: mean\n",
               at, is_short ? "3m,off=6m" : "10m,off=20m");
}

/* moves: "on" or "off". Both begin with the plan for the first requests of the run itself. */
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
                   "replace: [%s, first_ns=120000, n_window=%d]\n",
                   sweep->duration_s, sweep->n_nodes(sweep, sweep->at[i]), sweep->device,
                   system->planner, papers_swapped(repro, moves),
                   papers_is_quick(repro) ? 500 : 5000);
        status = papers_simulate(repro, key, system->policy, yaml.at, fault);
        str_free(&yaml);
    }
    return status;
}

static void note_moves(struct papers *repro, const struct papers_sweep *sweep)
{
    struct str text;
    str_init(&text);
    for (int i = 0; i < sweep->n; i++) {
        char key[PAPERS_KEY_MAX];
        int64_t n_plans = 0, n_moves = 0;
        papers_sweep_key(sweep, &sea, i, key);
        for (int seed = 0; seed < papers_n_seeds(repro); seed++) {
            n_plans += papers_case(repro, key, seed)->report.replace.n_plans;
            n_moves += papers_case(repro, key, seed)->report.replace.n_moves;
        }
        str_printf(&text, "%s%g: %lld of %lld", i > 0 ? ", " : "", sweep->at[i], (long long)n_moves,
                   (long long)n_plans);
    }
    papers_note(repro, sea.key, "plans installed, all seeds", "%s", text.at);
    str_free(&text);
}

static enum status run_both(struct papers *repro, const struct papers_sweep *sweep,
                            struct fault *fault)
{
    static const struct papers_system *const all[] = { &sea, &sea_a };
    enum status status = run_moving(repro, sweep, &sea, "on", fault);
    if (status == STATUS_OK)
        status = run_moving(repro, sweep, &sea_a, "off", fault);
    if (status != STATUS_OK)
        return status;
    show(repro, sweep, all, COUNT_OF(all));
    note_moves(repro, sweep);
    return STATUS_OK;
}

static enum status fig8a(struct papers *repro, struct fault *fault)
{
    struct papers_sweep sweep = rates_of(repro), minutes;
    sweep.duration_s = papers_is_quick(repro) ? 600 : 1800;
    minutes = sweep;
    minutes.word = "minutes-rate";
    minutes.at[0] = 10;
    minutes.n = 1;
    sweep.setting = of_lasting_bursts;
    enum status status = run_both(repro, &sweep, fault);
    if (status == STATUS_OK) {
        papers_note(repro, "bursts of a minute", "-", "as the mix has them, 10/s, not judged:");
        status = run_both(repro, &minutes, fault);
    }
    if (status != STATUS_OK)
        return status;
    papers_sweep_judge(repro, &sweep, (struct papers_duel){ &sea, &sea_a, papers_nl, false },
                       "NL, SeaLLM : -A", "up to 2.44x lower");
    papers_sweep_judge(repro, &sweep, (struct papers_duel){ &sea, &sea_a, papers_attained, true },
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
    return STATUS_OK;
}

/* ---- Figure 11: the same load on 64, 48, 32 and 16 devices. ---- */

static enum status fig11(struct papers *repro, struct fault *fault)
{
    static const struct papers_system *const all[] = { &vllm, &alpa, &mux, &sea, &ours };
    static const char *const words[] = { "NL, SeaLLM : vLLM", "NL, SeaLLM : AlpaServe",
                                         "NL, SeaLLM : MuxServe" };
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
    enum status status = run_and_show(repro, &sweep, all, COUNT_OF(all), fault);
    if (status != STATUS_OK)
        return status;
    for (int i = 0; i < 3; i++)
        papers_sweep_judge(repro, &sweep, (struct papers_duel){ &sea, all[i], papers_nl, false },
                           words[i], "lower, most where it is dense");
    judge_ours(repro, &sweep);
    bool is_placed = papers_sweep_has(repro, &sweep, &mux, sweep.n - 1);
    papers_judge(repro, !is_placed, "MuxServe finds no placement at density 2", "yes", "%s",
                 is_placed ? "it places all sixteen" : "it leaves services out");
    differs_in_setting(repro);
    papers_differs(repro, "10 requests/s; density 0.5 is 64 devices, 2 is 16");
    return STATUS_OK;
}

/* ---- Devices needed for the load of Figure 11. ---- */

enum { DEVICES_FIRST = 12, DEVICES_LAST = 64 };

/* Writes machines of eight devices, and one more with the rest. */
static void add_devices(int n, struct str *yaml)
{
    str_add_text(yaml, "nodes:\n");
    if (n >= 8)
        str_printf(yaml, "  - {count: %d, device: a800, devices: 8}\n", n / 8);
    if (n % 8 > 0)
        str_printf(yaml, "  - {count: 1, device: a800, devices: %d}\n", n % 8);
}

/* Runs one system on n devices, placed by its planner; *is_placed: it was run. */
static enum status run_on(struct papers *repro, const struct papers_system *system, int n,
                          const char *key, bool *is_placed, struct fault *fault)
{
    struct str setting;
    str_init(&setting);
    add_setting(10, &setting);
    str_printf(&setting, "duration: %ds\n", papers_is_quick(repro) ? 60 : 300);
    add_devices(n, &setting);
    const struct papers_place_ask ask = { system->planner, system->policy, setting.at };
    enum status status = papers_simulate_placed(repro, key, &ask, "", is_placed, fault);
    str_free(&setting);
    return status;
}

static enum status need(struct papers *repro, const struct papers_system *system,
                        struct papers_needed *needed, struct fault *fault)
{
    int step = papers_is_quick(repro) ? 16 : 4;
    bool is_over = false, is_placed;
    papers_needed_init(repro, needed);
    for (int n = papers_is_quick(repro) ? 16 : DEVICES_FIRST; n <= DEVICES_LAST && !is_over;
         n += step) {
        char key[PAPERS_KEY_MAX];
        snprintf(key, sizeof(key), "%s-devices%d", system->key, n);
        enum status status = run_on(repro, system, n, key, &is_placed, fault);
        if (status != STATUS_OK)
            return status;
        is_over = is_placed && papers_needed_saw(repro, needed, key, n);
    }
    papers_needed_end(repro, needed, DEVICES_LAST);
    return STATUS_OK;
}

static enum status devices(struct papers *repro, struct fault *fault)
{
    static const struct papers_system *const all[] = { &sea, &vllm, &alpa, &mux, &ours };
    enum { SEA, VLLM, ALPA, MUX, OURS };
    static const struct {
        int less, more;
        const char *what;
    } rows[] = { { SEA, VLLM, "SeaLLM needs no more than vLLM" },
                 { SEA, ALPA, "SeaLLM needs no more than AlpaServe" },
                 { SEA, MUX, "SeaLLM needs no more than MuxServe" },
                 { OURS, SEA, "our default needs no more than SeaLLM" } };
    struct papers_needed needed[COUNT_OF(all)];
    for (size_t i = 0; i < COUNT_OF(all); i++) {
        enum status status = need(repro, all[i], &needed[i], fault);
        if (status != STATUS_OK)
            return status;
        struct str text;
        str_init(&text);
        for (int t = 0; t < PAPERS_TARGETS; t++)
            str_printf(&text, "%s%s%.1f", t > 0 ? ", " : "",
                       needed[i].n_open[t] > 0 ? "more than " : "", needed[i].devices[t]);
        papers_note(repro, all[i]->key, "devices for 100, 99, 95%", "%s", text.at);
        str_free(&text);
    }
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        const double *less = needed[rows[i].less].devices, *more = needed[rows[i].more].devices;
        papers_judge(repro, less[1] <= more[1] && less[2] <= more[2], rows[i].what, "-",
                     "%+.0f%% for 99%%, %+.0f%% for 95%%", 100 * (less[1] / more[1] - 1),
                     100 * (less[2] / more[2] - 1));
    }
    differs_in_setting(repro);
    papers_differs(repro, "10 requests/s, machines of eight and a rest of four, 12 to 64 devices; "
                          "within five times alone; the mean over seeds of the fewest that do");
    return STATUS_OK;
}

/* ---- Figure 3: the effect of more devices on an iteration. ---- */

enum { N_DEGREES = 4, N_LENGTHS = 4, BATCH = 8 };
static const int32_t lengths[N_LENGTHS] = { 64, 256, 1024, 4096 };

/* Returns the ms of an iteration of 8 requests of a length. */
static double iteration_ms(const struct place_problem *problem, int32_t degree, int32_t length,
                           bool is_prompt)
{
    const struct perf *perf = place_problem_perf(problem, 0, 0, degree);
    int64_t n = BATCH, l = length;
    const struct perf_load prompt = { .n_new = BATCH * length, .n_new_squared = n * l * l };
    const struct perf_load decode = { .n_decodes = BATCH, .n_decode_context = n * l };
    return (double)perf_step_ps(perf, is_prompt ? &prompt : &decode) * 1e-9;
}

static enum status fig3(struct papers *repro, struct fault *fault)
{
    static const char yaml[] = "workload: \"sharegpt:rate=1\"\nrequests: 8\n"
                               "nodes: [{count: 1, device: a800, devices: 8}]\n"
                               "services: {sharegpt: {model: llama-2-13b}}\n";
    struct scenario *scenario = mem_take(sizeof(*scenario));
    struct scenario_problem *of = mem_take(sizeof(*of));
    double ms[2][N_DEGREES][N_LENGTHS];
    scenario_init(scenario);
    enum status status = scenario_parse(scenario, "figure 3", yaml, strlen(yaml), fault);
    if (status == STATUS_OK)
        status = scenario_problem_open(of, scenario, (struct plan_spans){ 0 }, fault);
    for (int phase = 0; phase < 2 && status == STATUS_OK; phase++) {
        for (int d = 0; d < N_DEGREES; d++) {
            struct str text;
            str_init(&text);
            for (int k = 0; k < N_LENGTHS; k++) {
                ms[phase][d][k] = iteration_ms(&of->problem, 1 << d, lengths[k], phase == 0);
                str_printf(&text, "%s%d: %.4g", k > 0 ? ", " : "", lengths[k], ms[phase][d][k]);
            }
            static const char *const names[2][N_DEGREES] = {
                { "prompts, 1 device", "prompts, 2", "prompts, 4", "prompts, 8" },
                { "decodes, 1 device", "decodes, 2", "decodes, 4", "decodes, 8" },
            };
            papers_note(repro, names[phase][d], "ms by tokens of each of 8", "%s", text.at);
            str_free(&text);
        }
    }
    scenario_problem_close(of);
    scenario_close(scenario);
    mem_give(of);
    mem_give(scenario);
    if (status != STATUS_OK)
        return status;
    bool is_quicker = true;
    for (int d = 1; d < N_DEGREES; d++)
        is_quicker &= ms[0][d][N_LENGTHS - 1] < ms[0][d - 1][N_LENGTHS - 1];
    papers_judge(repro, is_quicker, "more devices shorten long prompts", "yes",
                 "%.0f ms on one, %.0f on eight", ms[0][0][N_LENGTHS - 1],
                 ms[0][N_DEGREES - 1][N_LENGTHS - 1]);
    double shortest = ms[1][0][0], longest = ms[1][N_DEGREES - 1][0];
    for (int d = 0; d < N_DEGREES; d++)
        shortest = ms[1][d][0] < shortest ? ms[1][d][0] : shortest;
    papers_judge(repro, longest > shortest, "more devices may lengthen short iterations", "yes",
                 "decodes at 64 tokens: %.2f ms at best, %.2f on eight", shortest, longest);
    papers_differs(repro, "times are fits of an A100's, with all-reduce over NVLink; the paper's "
                          "A800 has links of two thirds of that");
    return STATUS_OK;
}

/* ---- Figure 14: how long planning takes. ---- */

static enum status fig14(struct papers *repro, struct fault *fault)
{
    static const int nodes[] = { 2, 4, 8 };
    double most = 0;
    enum status status = STATUS_OK;
    for (size_t i = 0; i < COUNT_OF(nodes) && status == STATUS_OK; i++) {
        static const struct papers_system *const both[] = { &sea, &ours };
        for (size_t s = 0; s < COUNT_OF(both) && status == STATUS_OK; s++) {
            struct papers_placed placed;
            struct str yaml;
            str_init(&yaml);
            add_setting(10, &yaml);
            str_printf(&yaml, "nodes: [{count: %d, device: a800, devices: 8}]\n", nodes[i]);
            const struct papers_place_ask ask = { both[s]->planner, both[s]->policy, yaml.at };
            status = papers_place(repro, &ask, &placed, fault);
            str_free(&yaml);
            if (status == STATUS_UNSUPPORTED)
                status = STATUS_OK;
            if (status != STATUS_OK)
                break;
            if (s == 0)
                most = placed.plan_s > most ? placed.plan_s : most;
            papers_note(repro, both[s]->key, s == 0 ? "below 1 minute" : "-",
                        "%d devices: %.2f s, %d of %d services placed", 8 * nodes[i], placed.plan_s,
                        placed.n_placed, placed.n_services);
        }
    }
    papers_judge(repro, most < 60, "SeaLLM's planner, up to 64 devices", "< 1 minute, 8 processes",
                 "%.1f s at most", most);
    papers_differs(repro, "2,000 requests are simulated for every step of the search, on all cores "
                          "that there are");
    return status;
}

const struct papers_claim papers_seallm_placed[] = {
    { "seallm-fig3", "SeaLLM, Figure 3", "an iteration's time by tensor parallelism", fig3 },
    { "seallm-fig6p", "SeaLLM, Figure 6", "as seallm-fig6, each with its own planner", fig6 },
    { "seallm-fig8p", "SeaLLM, Figure 8", "its placement replaced by dedicated devices (-P)",
      fig8 },
    { "seallm-fig8a", "SeaLLM, Figure 8", "without adaptive re-placement (-A)", fig8a },
    { "seallm-fig11", "SeaLLM, Figure 11", "the same load on 64 to 16 devices", fig11 },
    { "seallm-devices", "SeaLLM, section 6.2", "devices needed for 100, 99 and 95%", devices },
    { "seallm-fig14", "SeaLLM, Figure 14", "time that planning takes", fig14 },
    { NULL, NULL, NULL, NULL },
};
