/* The claims of SeaLLM about costs: the devices that a load needs, an iteration's time on more
 * devices, and the time that planning takes. Systems and setting are those of seallm_placed.c. */
#include "papers/needed.h"
#include "papers/register.h"
#include "papers/seallm_placed.h"

#include "base/mem.h"
#include "scenario/problem.h"
#include <stdio.h>
#include <string.h>

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

/* Runs one system on n devices, if its planner places all services there. */
static enum status run_on(struct papers *repro, const void *self, int n, const char *key,
                          struct fault *fault)
{
    const struct papers_system *system = self;
    struct str setting;
    bool is_placed;
    str_init(&setting);
    papers_seallm_placed_setting(10, &setting);
    str_printf(&setting, "duration: %ds\n", papers_is_quick(repro) ? 60 : 300);
    add_devices(n, &setting);
    const struct papers_place_ask ask = { system->planner, system->policy, setting.at };
    enum status status = papers_simulate_placed(repro, key, &ask, "", &is_placed, fault);
    str_free(&setting);
    return status;
}

static void name_run(const void *self, int n, char key[PAPERS_KEY_MAX])
{
    const struct papers_system *system = self;
    snprintf(key, PAPERS_KEY_MAX, "%s-devices%d", system->key, n);
}

static struct papers_search search_of(const struct papers *repro,
                                      const struct papers_system *system)
{
    bool is_quick = papers_is_quick(repro);
    return (struct papers_search){ .first = is_quick ? 16 : DEVICES_FIRST,
                                   .last = DEVICES_LAST,
                                   .step = is_quick ? 16 : 4,
                                   .n_devices = 1,
                                   .self = system,
                                   .name = name_run,
                                   .run = run_on };
}

static const struct papers_system *const devices_all[] = {
    &papers_seallm_placed_sea, &papers_seallm_placed_vllm, &papers_seallm_placed_alpa,
    &papers_seallm_placed_mux, &papers_seallm_placed_ours
};

enum status papers_seallm_cost_devices_run(struct papers *repro, struct fault *fault)
{
    enum status status = STATUS_OK;
    for (size_t i = 0; i < COUNT_OF(devices_all) && status == STATUS_OK; i++) {
        const struct papers_search search = search_of(repro, devices_all[i]);
        status = papers_needed_run(repro, &search, fault);
    }
    return status;
}

void papers_seallm_cost_devices_judge(struct papers *repro)
{
    enum { SEA, VLLM, ALPA, MUX, OURS };
    static const struct {
        int less, more;
        const char *what;
    } rows[] = { { SEA, VLLM, "SeaLLM needs no more than vLLM" },
                 { SEA, ALPA, "SeaLLM needs no more than AlpaServe" },
                 { SEA, MUX, "SeaLLM needs no more than MuxServe" },
                 { OURS, SEA, "our default needs no more than SeaLLM" } };
    struct papers_needed needed[COUNT_OF(devices_all)];
    for (size_t i = 0; i < COUNT_OF(devices_all); i++) {
        struct str text;
        const struct papers_search search = search_of(repro, devices_all[i]);
        papers_needed_count(repro, &search, &needed[i]);
        str_init(&text);
        for (int t = 0; t < PAPERS_TARGETS; t++)
            str_printf(&text, "%s%s%.1f", t > 0 ? ", " : "",
                       needed[i].n_open[t] > 0 ? "more than " : "", needed[i].devices[t]);
        papers_note(repro, devices_all[i]->key, "devices for 100, 99, 95%", "%s", text.at);
        str_free(&text);
    }
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        const double *less = needed[rows[i].less].devices, *more = needed[rows[i].more].devices;
        papers_judge(repro, less[1] <= more[1] && less[2] <= more[2], rows[i].what, "-",
                     "%+.0f%% for 99%%, %+.0f%% for 95%%", 100 * (less[1] / more[1] - 1),
                     100 * (less[2] / more[2] - 1));
    }
    papers_seallm_placed_differs(repro);
    papers_differs(repro, "10 requests/s, machines of eight and a rest of four, 12 to 64 devices; "
                          "within five times alone; the mean over seeds of the fewest that do");
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

enum status papers_seallm_cost_fig3_run(struct papers *repro, struct fault *fault)
{
    static const char yaml[] = "workload: \"sharegpt:rate=1\"\nrequests: 8\n"
                               "nodes: [{count: 1, device: a800, devices: 8}]\n"
                               "services: {sharegpt: {model: llama-2-13b}}\n";
    struct scenario *scenario = mem_take(sizeof(*scenario));
    struct scenario_problem *of = mem_take(sizeof(*of));
    scenario_init(scenario);
    enum status status = scenario_parse(scenario, "figure 3", yaml, strlen(yaml), fault);
    if (status == STATUS_OK)
        status = scenario_problem_open(of, scenario, (struct plan_spans){ 0 }, fault);
    for (int k = 0; k < 2 * N_DEGREES * N_LENGTHS && status == STATUS_OK; k++) {
        int phase = k / N_LENGTHS / N_DEGREES, d = k / N_LENGTHS % N_DEGREES;
        papers_keep(repro, iteration_ms(&of->problem, 1 << d, lengths[k % N_LENGTHS], phase == 0));
    }
    scenario_problem_close(of);
    scenario_close(scenario);
    mem_give(of);
    mem_give(scenario);
    return status;
}

void papers_seallm_cost_fig3_judge(struct papers *repro)
{
    static const char *const names[2][N_DEGREES] = {
        { "prompts, 1 device", "prompts, 2", "prompts, 4", "prompts, 8" },
        { "decodes, 1 device", "decodes, 2", "decodes, 4", "decodes, 8" },
    };
    double ms[2][N_DEGREES][N_LENGTHS];
    for (int phase = 0; phase < 2; phase++) {
        for (int d = 0; d < N_DEGREES; d++) {
            struct str text;
            str_init(&text);
            for (int k = 0; k < N_LENGTHS; k++) {
                ms[phase][d][k] = papers_kept(repro, (phase * N_DEGREES + d) * N_LENGTHS + k);
                str_printf(&text, "%s%d: %.4g", k > 0 ? ", " : "", lengths[k], ms[phase][d][k]);
            }
            papers_note(repro, names[phase][d], "ms by tokens of each of 8", "%s", text.at);
            str_free(&text);
        }
    }
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
}

/* ---- Figure 14: how long planning takes. ---- */

static const int fig14_nodes[] = { 2, 4, 8 };
static const struct papers_system *const fig14_all[] = { &papers_seallm_placed_sea,
                                                         &papers_seallm_placed_ours };

enum status papers_seallm_cost_fig14_run(struct papers *repro, struct fault *fault)
{
    enum status status = STATUS_OK;
    for (size_t i = 0; i < COUNT_OF(fig14_nodes) * COUNT_OF(fig14_all) && status == STATUS_OK;
         i++) {
        const struct papers_system *system = fig14_all[i % COUNT_OF(fig14_all)];
        struct papers_placed placed = { 0 };
        struct str yaml;
        str_init(&yaml);
        papers_seallm_placed_setting(10, &yaml);
        str_printf(&yaml, "nodes: [{count: %d, device: a800, devices: 8}]\n",
                   fig14_nodes[i / COUNT_OF(fig14_all)]);
        const struct papers_place_ask ask = { system->planner, system->policy, yaml.at };
        status = papers_place(repro, &ask, &placed, fault);
        str_free(&yaml);
        if (status == STATUS_UNSUPPORTED)
            status = STATUS_OK;
        papers_keep(repro, placed.plan_s);
        papers_keep(repro, placed.n_placed);
        papers_keep(repro, placed.n_services);
    }
    return status;
}

void papers_seallm_cost_fig14_judge(struct papers *repro)
{
    enum { N_SYSTEMS = (int)COUNT_OF(fig14_all) };
    double most = 0;
    for (int i = 0; i < (int)COUNT_OF(fig14_nodes) * N_SYSTEMS; i++) {
        bool is_theirs = i % N_SYSTEMS == 0;
        double plan_s = papers_kept(repro, 3 * i);
        if (is_theirs)
            most = plan_s > most ? plan_s : most;
        papers_note(repro, fig14_all[i % N_SYSTEMS]->key, is_theirs ? "below 1 minute" : "-",
                    "%d devices: %.2f s, %d of %d services placed", 8 * fig14_nodes[i / N_SYSTEMS],
                    plan_s, (int)papers_kept(repro, 3 * i + 1), (int)papers_kept(repro, 3 * i + 2));
    }
    papers_judge(repro, most < 60, "SeaLLM's planner, up to 64 devices", "< 1 minute, 8 processes",
                 "%.1f s at most", most);
    papers_differs(repro, "2,000 requests are simulated for every step of the search, on all cores "
                          "that there are");
}
