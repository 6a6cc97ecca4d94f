/* The claims of SeaLLM that are about placement: every system has its own planner, which plans on
 * one history of requests; runs are of other seeds. The same sixteen services as in
 * repro_seallm.c, on nodes of eight A800. */
#include "cmd/repro_sweep.h"

#include "cmd/plan_problem.h"
#include <stdio.h>
#include <string.h>

static const struct repro_system vllm = { "vllm", "fcfs", "", NULL, "even" },
                                 alpa = { "alpaserve", "temporal", "", NULL, "alpaserve" },
                                 mux = { "muxserve", "adbs", "", NULL, "muxserve" },
                                 sea = { "seallm", "db-turn", "", NULL, "seallm" },
                                 sea_p = { "seallm-p", "db-turn", "", NULL, "even" },
                                 ours = { "default", "default", "", NULL, "default" };

static void add_setting(double rate, struct str *yaml)
{
    str_printf(yaml, "workload: \"sea16:seed=2,rate=%g\"\npredictor: mean\n", rate);
}

static void of_rate(const struct repro_sweep *sweep, double at, struct str *yaml)
{
    (void)sweep;
    add_setting(at, yaml);
}

static int four_nodes(const struct repro_sweep *sweep, double at)
{
    (void)sweep;
    (void)at;
    return 4;
}

static void of_density(const struct repro_sweep *sweep, double at, struct str *yaml)
{
    (void)at;
    add_setting(sweep->rate, yaml);
}

/* Density 1 is 32 devices; 0.67 stands for 48. */
static int nodes_of_density(const struct repro_sweep *sweep, double at)
{
    (void)sweep;
    return (int)(4 / at + 0.5);
}

static void differs_in_setting(struct repro *repro)
{
    repro_differs(repro, "every system's planner sees 2,000 requests of another seed, and its plan "
                         "stays; AlpaServe's has no pipelines, whose gain is for models apart");
    repro_differs(repro, "arrivals are bursts of a power law: the functions' trace of 2021 is not "
                         "public here; prompts are cut to 4,096 - output tokens");
    repro_differs(repro, "the paper prints neither its services' lengths nor their shares: the "
                         "rate of the knee is ours");
}

/* ---- Figures 6 and 8. ---- */

static struct repro_sweep rates_of(const struct repro *repro)
{
    struct repro_sweep sweep = { .word = "rate",
                                 .at = { 2, 5, 10, 20, 30, 40, 50 },
                                 .n = 7,
                                 .duration_s = 120,
                                 .setting = of_rate,
                                 .device = "a800",
                                 .n_nodes = four_nodes };
    if (repro_is_quick(repro)) {
        sweep.at[0] = 5;
        sweep.at[1] = 20;
        sweep.n = 2;
        sweep.duration_s = 60;
    }
    return sweep;
}

static enum status run_and_show(struct repro *repro, const struct repro_sweep *sweep,
                                const struct repro_system *const *all, size_t n,
                                struct fault *fault)
{
    enum status status = repro_sweep_run(repro, sweep, all, n, fault);
    if (status != STATUS_OK)
        return status;
    repro_sweep_show(repro, sweep, all, n,
                     (struct repro_shown){ repro_nl, 1, "normalized latency" });
    repro_sweep_show(repro, sweep, all, n,
                     (struct repro_shown){ repro_attained, 100, "% within 5 times solo" });
    return STATUS_OK;
}

static void judge_ours(struct repro *repro, const struct repro_sweep *sweep)
{
    static const struct {
        const struct repro_system *rival;
        const char *what;
    } rows[] = { { &vllm, "NL, our default : vLLM" },
                 { &alpa, "NL, our default : AlpaServe" },
                 { &mux, "NL, our default : MuxServe" },
                 { &sea, "NL, our default : SeaLLM" } };
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        repro_sweep_judge(repro, sweep,
                          (struct repro_duel){ &ours, rows[i].rival, repro_nl, false },
                          rows[i].what, "-");
}

static void judge_promise(struct repro *repro, const struct repro_sweep *sweep)
{
    double top_nl = 0, low_slo = 1, last = 0;
    bool is_kept = true;
    for (int i = 0; i < sweep->n; i++) {
        double nl = repro_sweep_mean(repro, sweep, &sea, i, repro_nl);
        double slo = repro_sweep_mean(repro, sweep, &sea, i, repro_attained);
        top_nl = nl > top_nl ? nl : top_nl;
        low_slo = slo < low_slo ? slo : low_slo;
        is_kept &= nl < 3 && slo > 0.9;
        last = is_kept ? sweep->at[i] : last;
    }
    repro_judge(repro, is_kept, "SeaLLM: NL < 3 and attainment > 90%", "at every rate",
                "NL up to %.2f, attainment from %.1f%%; up to %g/s", top_nl, 100 * low_slo, last);
}

static enum status fig6(struct repro *repro, struct fault *fault)
{
    static const struct repro_system *const all[] = { &vllm, &alpa, &mux, &sea, &ours };
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
    static repro_figure *const figures[] = { repro_nl, repro_p99, repro_attained };
    const struct repro_sweep sweep = rates_of(repro);
    enum status status = run_and_show(repro, &sweep, all, COUNT_OF(all), fault);
    if (status != STATUS_OK)
        return status;
    for (int f = 0; f < 3; f++)
        for (int i = 0; i < 3; i++)
            repro_sweep_judge(repro, &sweep,
                              (struct repro_duel){ &sea, all[i], figures[f], f == 2 }, words[f][i],
                              papers[f][i]);
    judge_ours(repro, &sweep);
    judge_promise(repro, &sweep);
    differs_in_setting(repro);
    return STATUS_OK;
}

static enum status fig8(struct repro *repro, struct fault *fault)
{
    static const struct repro_system *const all[] = { &sea, &sea_p };
    const struct repro_sweep sweep = rates_of(repro);
    enum status status = run_and_show(repro, &sweep, all, COUNT_OF(all), fault);
    if (status != STATUS_OK)
        return status;
    repro_sweep_judge(repro, &sweep, (struct repro_duel){ &sea, &sea_p, repro_nl, false },
                      "NL, SeaLLM : -P", "as vLLM");
    repro_sweep_judge(repro, &sweep, (struct repro_duel){ &sea, &sea_p, repro_attained, true },
                      "attainment, SeaLLM : -P", "as vLLM");
    differs_in_setting(repro);
    return STATUS_OK;
}

/* ---- Figure 11: the same load on 64, 48, 32 and 16 devices. ---- */

static enum status fig11(struct repro *repro, struct fault *fault)
{
    static const struct repro_system *const all[] = { &vllm, &alpa, &mux, &sea, &ours };
    static const char *const words[] = { "NL, SeaLLM : vLLM", "NL, SeaLLM : AlpaServe",
                                         "NL, SeaLLM : MuxServe" };
    struct repro_sweep sweep = { .word = "density",
                                 .at = { 0.5, 2.0 / 3, 1, 2 },
                                 .n = 4,
                                 .duration_s = repro_is_quick(repro) ? 60 : 300,
                                 .setting = of_density,
                                 .device = "a800",
                                 .n_nodes = nodes_of_density,
                                 .rate = 10 };
    if (repro_is_quick(repro)) {
        sweep.at[1] = 2;
        sweep.n = 2;
    }
    enum status status = run_and_show(repro, &sweep, all, COUNT_OF(all), fault);
    if (status != STATUS_OK)
        return status;
    for (int i = 0; i < 3; i++)
        repro_sweep_judge(repro, &sweep, (struct repro_duel){ &sea, all[i], repro_nl, false },
                          words[i], "lower, most where it is dense");
    judge_ours(repro, &sweep);
    bool is_placed = repro_sweep_has(repro, &sweep, &mux, sweep.n - 1);
    repro_judge(repro, !is_placed, "MuxServe finds no placement at density 2", "yes", "%s",
                is_placed ? "it places all sixteen" : "it leaves services out");
    differs_in_setting(repro);
    repro_differs(repro, "10 requests/s; density 0.5 is 64 devices, 2 is 16");
    return STATUS_OK;
}

/* ---- Figure 3: what more devices do to an iteration. ---- */

enum { N_DEGREES = 4, N_LENGTHS = 4, BATCH = 8 };
static const int32_t lengths[N_LENGTHS] = { 64, 256, 1024, 4096 };

/* ms of an iteration of 8 requests of a length. */
static double iteration_ms(const struct place_problem *problem, int32_t degree, int32_t length,
                           bool is_prompt)
{
    const struct perf *perf = place_problem_perf(problem, 0, 0, degree);
    int64_t n = BATCH, l = length;
    const struct perf_load prompt = { .n_new = BATCH * length, .n_new_squared = n * l * l };
    const struct perf_load decode = { .n_decodes = BATCH, .n_decode_context = n * l };
    return (double)perf_step_ps(perf, is_prompt ? &prompt : &decode) * 1e-9;
}

static enum status fig3(struct repro *repro, struct fault *fault)
{
    static const char yaml[] = "workload: \"sharegpt:rate=1\"\nrequests: 8\n"
                               "nodes: [{count: 1, device: a800, devices: 8}]\n"
                               "services: {sharegpt: {model: llama-2-13b}}\n";
    struct scenario *scenario = mem_take(sizeof(*scenario));
    struct plan_problem *of = mem_take(sizeof(*of));
    double ms[2][N_DEGREES][N_LENGTHS];
    scenario_init(scenario);
    enum status status = scenario_parse(scenario, "figure 3", yaml, strlen(yaml), fault);
    if (status == STATUS_OK)
        status = plan_problem_open(of, scenario, 0, fault);
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
            repro_note(repro, names[phase][d], "ms by tokens of each of 8", "%s", text.at);
            str_free(&text);
        }
    }
    plan_problem_close(of);
    scenario_close(scenario);
    mem_give(of);
    mem_give(scenario);
    if (status != STATUS_OK)
        return status;
    bool is_quicker = true;
    for (int d = 1; d < N_DEGREES; d++)
        is_quicker &= ms[0][d][N_LENGTHS - 1] < ms[0][d - 1][N_LENGTHS - 1];
    repro_judge(repro, is_quicker, "more devices shorten long prompts", "yes",
                "%.0f ms on one, %.0f on eight", ms[0][0][N_LENGTHS - 1],
                ms[0][N_DEGREES - 1][N_LENGTHS - 1]);
    double shortest = ms[1][0][0], longest = ms[1][N_DEGREES - 1][0];
    for (int d = 0; d < N_DEGREES; d++)
        shortest = ms[1][d][0] < shortest ? ms[1][d][0] : shortest;
    repro_judge(repro, longest > shortest, "more devices may lengthen short iterations", "yes",
                "decodes at 64 tokens: %.2f ms at best, %.2f on eight", shortest, longest);
    repro_differs(repro, "times are fits of an A100's, with all-reduce over NVLink; the paper's "
                         "A800 has links of two thirds of that");
    return STATUS_OK;
}

/* ---- Figure 14: how long planning takes. ---- */

static enum status fig14(struct repro *repro, struct fault *fault)
{
    static const int nodes[] = { 2, 4, 8 };
    double most = 0;
    enum status status = STATUS_OK;
    for (size_t i = 0; i < COUNT_OF(nodes) && status == STATUS_OK; i++) {
        static const struct repro_system *const both[] = { &sea, &ours };
        for (size_t s = 0; s < COUNT_OF(both) && status == STATUS_OK; s++) {
            struct repro_placed placed;
            struct str yaml, out;
            str_init(&yaml);
            str_init(&out);
            add_setting(10, &yaml);
            str_printf(&yaml, "nodes: [{count: %d, device: a800, devices: 8}]\n", nodes[i]);
            const struct repro_place_ask ask = { both[s]->planner, both[s]->policy, yaml.at };
            status = repro_place(repro, &ask, &placed, &out, fault);
            str_free(&yaml);
            str_free(&out);
            if (status == STATUS_UNSUPPORTED)
                status = STATUS_OK;
            if (status != STATUS_OK)
                break;
            if (s == 0)
                most = placed.plan_s > most ? placed.plan_s : most;
            repro_note(repro, both[s]->key, s == 0 ? "below 1 minute" : "-",
                       "%d devices: %.2f s, %d of %d services placed", 8 * nodes[i], placed.plan_s,
                       placed.n_placed, placed.n_services);
        }
    }
    repro_judge(repro, most < 60, "SeaLLM's planner, up to 64 devices", "< 1 minute, 8 processes",
                "%.1f s at most", most);
    repro_differs(repro, "2,000 requests are simulated for every step of the search, on all cores "
                         "that there are");
    return status;
}

const struct repro_claim repro_seallm_placed[] = {
    { "seallm-fig3", "SeaLLM, Figure 3", "an iteration's time by tensor parallelism", fig3 },
    { "seallm-fig6p", "SeaLLM, Figure 6", "as seallm-fig6, each with its own planner", fig6 },
    { "seallm-fig8p", "SeaLLM, Figure 8", "its placement replaced by dedicated devices (-P)",
      fig8 },
    { "seallm-fig11", "SeaLLM, Figure 11", "the same load on 64 to 16 devices", fig11 },
    { "seallm-fig14", "SeaLLM, Figure 14", "time that planning takes", fig14 },
    { NULL, NULL, NULL, NULL },
};
