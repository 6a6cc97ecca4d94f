/* Plans one model's layers over unlike devices with each planner of place/layers.h, for one
 * cluster. */
#include "report/layers.h"

#include "base/file.h"
#include "base/json_out.h"
#include "base/mem.h"
#include "place/layers.h"
#include "place/links.h"
#include "predict/device.h"
#include "scenario/links_file.h"
#include "scenario/problem.h"
#include <stdio.h>
#include <string.h>

enum { PLANNERS_MAX = 8 };

/* A hop between machines: twice the latency within a machine, and a network of 100 Gbit/s. It is
 * used only if no file has a better figure. */
static const struct links_link network = { 40000, 12.5e9 };

struct option {
    const struct layers_planner *planner;
    struct layers_plan plan;
};
struct run {
    const struct report_layers_ask *ask;
    const struct predict_model *model;
    struct scenario_problem of; /* its nodes */
    struct layers_problem problem;
    struct layers_device devices[LAYERS_DEVICES_MAX];
    struct links links;
    int64_t *link_ps; /* (n_devices, n_devices) */
    struct option options[PLANNERS_MAX];
    int n;
};

static const struct predict_device *device_of(const struct run *run, int32_t device)
{
    int32_t node = place_problem_node_of(&run->of.problem, device);
    return run->of.devices[run->of.problem.nodes[node].kind];
}

/* ---- The problem. ---- */

/* Layers hold their weights and the KV of the whole batch at its longest. Every device reserves the
 * rest of the model (embedding, output matrix), since any may be first or last. */
static void open_devices(struct run *run)
{
    const struct predict_model *m = run->model;
    const struct place_problem *p = &run->of.problem;
    int64_t table_bytes = 2 * (int64_t)m->n_vocabulary * m->width;
    int64_t all_bytes = predict_model_weights_bytes(m);
    int64_t n_tables = m->is_tied ? 1 : 2;
    for (int32_t d = 0; d < p->n_devices; d++) {
        const struct place_kind *kind = &p->kinds[p->nodes[place_problem_node_of(p, d)].kind];
        struct perf perf;
        (void)perf_preset(m, device_of(run, d), 1, &perf);
        const struct perf_load load = { .n_decodes = (int32_t)run->ask->n_batch,
                                        .n_decode_context =
                                            run->ask->n_batch * run->ask->n_context };
        const struct layers_memory memory = {
            .device = kind->memory_bytes,
            .reserve = n_tables * table_bytes,
            .layer = (all_bytes - n_tables * table_bytes) / m->n_layers,
            .kv_token = predict_model_kv_bytes_per_token(m) / m->n_layers,
            .n_tokens = load.n_decode_context,
        };
        run->devices[d] = (struct layers_device){ perf_step_ps(&perf, &load) / m->n_layers,
                                                  layers_holding(&memory) };
    }
}

static enum status open_links(struct run *run, struct fault *fault)
{
    int32_t n = run->of.problem.n_devices;
    run->link_ps = mem_take((size_t)n * (size_t)n * sizeof(*run->link_ps));
    if (run->ask->links != NULL) {
        enum status status = links_file_read(run->ask->links, n, &run->links, fault);
        if (status != STATUS_OK)
            return status;
    } else {
        run->links = (struct links){ n, mem_take((size_t)n * (size_t)n * sizeof(network)) };
        for (int32_t i = 0; i < n * n; i++) {
            int32_t a = place_problem_node_of(&run->of.problem, i / n);
            bool is_near = a == place_problem_node_of(&run->of.problem, i % n);
            run->links.at[i] = is_near
                                   ? (struct links_link){ LINKS_NEIGHBOUR_NS,
                                                          device_of(run, i / n)->link_bytes_per_s }
                                   : network;
        }
    }
    links_times(&run->links, 2 * (int64_t)run->model->width * run->ask->n_batch, run->link_ps);
    return STATUS_OK;
}

static enum status open_run(struct run *run, struct fault *fault)
{
    run->model = predict_model_find(run->ask->model);
    if (run->model == NULL)
        return fault_set(fault, STATUS_NOT_FOUND,
                         "there is no model \"%.60s\": docs/SIMULATOR.md lists them",
                         run->ask->model);
    enum status status = scenario_problem_nodes(&run->of, run->ask->scenario, fault);
    if (status != STATUS_OK)
        return status;
    if (run->of.problem.n_devices > LAYERS_DEVICES_MAX)
        return fault_set(fault, STATUS_TOO_LARGE, "%d devices: layers are planned for at most %d",
                         run->of.problem.n_devices, LAYERS_DEVICES_MAX);
    open_devices(run);
    status = open_links(run, fault);
    run->problem = (struct layers_problem){ run->of.problem.n_devices, run->model->n_layers,
                                            run->devices, run->link_ps, true };
    return status;
}

static enum status solve(struct run *run, const struct layers_planner *planner, struct fault *fault)
{
    struct option *option = &run->options[run->n];
    option->planner = planner;
    enum status status = layers_solve(&run->problem, planner->aim, NULL, &option->plan, fault);
    if (status == STATUS_OK)
        status = layers_check(&run->problem, &option->plan, fault);
    run->n += status == STATUS_OK;
    return status;
}

static enum status solve_all(struct run *run, struct fault *fault)
{
    int n;
    const struct layers_planner *all = layers_planners(&n);
    enum status status = STATUS_OK;
    if (run->ask->planners == NULL) {
        for (int i = 0; i < n && status == STATUS_OK; i++)
            status = solve(run, &all[i], fault);
        return status;
    }
    for (const char *at = run->ask->planners; *at != '\0' && status == STATUS_OK;) {
        char name[32];
        size_t n_name = strcspn(at, ",");
        snprintf(name, sizeof(name), "%.*s", (int)(n_name < 31 ? n_name : 31), at);
        at += n_name + (at[n_name] == ',');
        const struct layers_planner *planner = layers_find(name);
        if (planner == NULL || run->n == PLANNERS_MAX)
            return fault_set(fault, STATUS_NOT_FOUND,
                             "--planner with --layers is a list of helr, he, lr, bgs, even-layers");
        status = solve(run, planner, fault);
    }
    return status;
}

/* ---- Telling. ---- */

static double busy(const struct run *run, const struct layers_plan *plan)
{
    double ps = 0;
    for (int32_t i = 0; i < plan->n_parts; i++)
        ps +=
            (double)plan->parts[i].n_layers * (double)run->devices[plan->parts[i].device].layer_ps;
    return plan->step_ps > 0 ? ps / (double)plan->step_ps : 0;
}

static void tell_text(const struct run *run, struct str *out)
{
    str_printf(out, "%s: %d layers; a step of %lld requests of %lld tokens\n", run->model->name,
               run->model->n_layers, (long long)run->ask->n_batch, (long long)run->ask->n_context);
    for (int i = 0; i < run->n; i++) {
        const struct layers_plan *plan = &run->options[i].plan;
        str_printf(out, "%-12s %8.3f ms, %7.1f tokens/s, %2d devices, each busy %.0f%%:",
                   run->options[i].planner->name, (double)plan->step_ps * 1e-9,
                   (double)run->ask->n_batch * 1e12 / (double)plan->step_ps, plan->n_parts,
                   100 * busy(run, plan) / plan->n_parts);
        for (int32_t k = 0; k < plan->n_parts; k++) {
            int32_t d = plan->parts[k].device;
            str_printf(out, " %s#%d:%d", device_of(run, d)->name, d, plan->parts[k].n_layers);
        }
        str_add_char(out, '\n');
    }
}

static void tell_json(const struct run *run, struct str *out)
{
    struct json_out json;
    json_out_init(&json, out);
    json_out_open(&json, '{');
    json_out_key_text(&json, "model", run->model->name);
    json_out_key_i64(&json, "layers", run->model->n_layers);
    json_out_key(&json, "plans");
    json_out_open(&json, '[');
    for (int i = 0; i < run->n; i++) {
        const struct layers_plan *plan = &run->options[i].plan;
        json_out_open(&json, '{');
        json_out_key_text(&json, "planner", run->options[i].planner->name);
        json_out_key_f64(&json, "step_ms", (double)plan->step_ps * 1e-9);
        json_out_key_f64(&json, "busy", busy(run, plan) / plan->n_parts);
        json_out_key(&json, "parts");
        json_out_open(&json, '[');
        for (int32_t k = 0; k < plan->n_parts; k++) {
            json_out_open(&json, '{');
            json_out_key_i64(&json, "device", plan->parts[k].device);
            json_out_key_text(&json, "kind", device_of(run, plan->parts[k].device)->name);
            json_out_key_i64(&json, "layers", plan->parts[k].n_layers);
            json_out_close(&json, '}');
        }
        json_out_close(&json, ']');
        json_out_close(&json, '}');
    }
    json_out_close(&json, ']');
    json_out_close(&json, '}');
    str_add_char(out, '\n');
}

int report_layers(const struct report_layers_ask *ask)
{
    struct run *run = mem_take(sizeof(*run));
    struct fault fault;
    struct str out;
    run->ask = ask;
    str_init(&out);
    enum status status = open_run(run, &fault);
    if (status == STATUS_OK)
        status = solve_all(run, &fault);
    if (status == STATUS_OK) {
        if (ask->scenario->is_json)
            tell_json(run, &out);
        else
            tell_text(run, &out);
        fputs(out.at, stdout);
    } else {
        fprintf(stderr, "shoal: %s\n", fault.text);
    }
    str_free(&out);
    links_free(&run->links);
    mem_give(run->link_ps);
    scenario_problem_close(&run->of);
    mem_give(run);
    return status == STATUS_OK ? 0 : 2;
}
