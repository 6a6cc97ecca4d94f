/* Layers on unlike devices of this machine. */
#include "serve/layer_map.h"

#include "base/log.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/time.h"
#include "cpu/cpu.h"
#include "run/meter.h"
#include "run/sums.h"
#include "serve/file.h"
#include "serve/kv.h"
#include <stdio.h>
#include <string.h>

enum { TOKENS_USUAL = 256, RUNS = 30, ROUNDS = 3, STEP_MS_MAX = 2000 };

bool serve_layer_map_is_asked(const struct config *config)
{
    return config->planner != NULL && layers_find(config->planner) != NULL;
}

/* ---- The plan. ---- */

enum status serve_layer_map_plan(const struct serve_layer_map *l, enum layers_aim aim,
                                 struct layers_plan *plan, struct fault *fault)
{
    struct layers_device devices[DEVICE_RANKS_MAX];
    int64_t layer_bytes = (l->weights_bytes - l->table_bytes) / l->n_layers;
    for (int32_t d = 0; d < l->n_devices; d++) {
        const struct layers_memory memory = { .device = l->memory_bytes[d],
                                              .reserve = l->table_bytes,
                                              .layer = layer_bytes,
                                              .kv_token = l->kv_layer_bytes,
                                              .n_tokens = l->n_tokens };
        devices[d] = (struct layers_device){ l->step_ps[d] / l->n_layers,
                                             min_i32(layers_holding(&memory), l->n_layers) };
    }
    const struct layers_problem problem = { l->n_devices, l->n_layers, devices, l->link_ps, true };
    enum status status = layers_solve(&problem, aim, NULL, plan, fault);
    return status == STATUS_OK ? layers_check(&problem, plan, fault) : status;
}

void serve_layer_map_print(const struct serve_layer_map *l, const struct layers_plan *plan,
                           char *text, size_t n_bytes)
{
    if (plan->n_parts == 1) {
        snprintf(text, n_bytes, "%s", l->names[plan->parts[0].device]);
        return;
    }
    size_t at = (size_t)snprintf(text, n_bytes, "group(");
    for (int32_t i = 0; i < plan->n_parts && at < n_bytes; i++)
        at += (size_t)snprintf(text + at, n_bytes - at, "%s=%d%s", l->names[plan->parts[i].device],
                               plan->parts[i].n_layers, i + 1 < plan->n_parts ? "," : ")");
}

/* ---- What is measured. ---- */

struct lanes { /* the devices as lanes of one, so that the model is loaded once */
    struct device_spec all;
    struct device_spec of[DEVICE_RANKS_MAX];
    struct compute_device *device;
};

/* Joins the devices to one, whose ranks they are, which also checks that they share no core. */
static enum status open_lanes(struct lanes *lanes, const struct config *config, struct fault *fault)
{
    char text[DEVICE_RANKS_MAX * 64 + 16];
    struct cpu_topology *topology = mem_take(sizeof(*topology));
    size_t at = (size_t)snprintf(text, sizeof(text), "group(");
    for (int i = 0; i < config->n_devices && at < sizeof(text); i++)
        at += (size_t)snprintf(text + at, sizeof(text) - at, "%s%s", config->devices[i],
                               i + 1 < config->n_devices ? "," : ")");
    enum status status = cpu_topology_read(NULL, topology, fault);
    if (status == STATUS_OK)
        status = device_parse(text, topology->n_processors, &lanes->all, fault);
    if (status == STATUS_OK)
        status = cpu_topology_check(topology, &lanes->all, text, fault);
    mem_give(topology);
    if (status != STATUS_OK)
        return status;
    for (int i = 0; i < config->n_devices; i++)
        device_rank(&lanes->all, i, &lanes->of[i]);
    lanes->all.n_ranks = 0;
    lanes->device = cpu_open(&lanes->all, cpu_isa_best());
    for (int i = 0; i < config->n_devices; i++)
        cpu_add_lane(lanes->device, &lanes->of[i]);
    return STATUS_OK;
}

/* Returns the positions of each request of the step that is timed. */
static int64_t context_of(const struct config_model *from, const struct model_spec *spec)
{
    int64_t n_prompt = from->n_prompt > 0 ? from->n_prompt : TOKENS_USUAL;
    int64_t n_output = from->n_output > 0 ? from->n_output : TOKENS_USUAL;
    int64_t n_context = from->n_context > 0 ? from->n_context : spec->n_positions_max;
    n_context = min_i64(n_context, spec->n_positions_max);
    return max_i64(min_i64(n_context, n_prompt + n_output / 2), 1);
}

/* Checks that the devices together have room for the model and the step's KV, before these are in
 * memory. */
static enum status check_room(const struct serve_layer_map *l, const struct config_model *from,
                              struct weights *weights, const struct run_model_options *options,
                              struct fault *fault)
{
    const struct model_spec *spec = weights_spec(weights);
    int64_t n_tokens = SERVE_LAYER_MAP_BATCH * context_of(from, spec), memory_bytes = 0;
    int64_t n_bytes = run_model_packed_bytes(weights, options->device) +
                      n_tokens * model_spec_kv_bytes_per_token(spec, options->kv_dtype);
    for (int32_t d = 0; d < l->n_devices; d++)
        memory_bytes += l->memory_bytes[d];
    return n_bytes <= memory_bytes
               ? STATUS_OK
               : fault_set(fault, STATUS_TOO_LARGE,
                           "%.60s and the KV of %lld tokens have %lld MiB, and its devices may use "
                           "%lld MiB together",
                           from->name, (long long)n_tokens, (long long)(n_bytes >> 20),
                           (long long)(memory_bytes >> 20));
}

static enum status open_model(const struct serve_layer_map *l, struct run_model *model,
                              const struct config *config, struct compute_device *device,
                              struct fault *fault)
{
    const struct config_model *from = &config->models[0];
    struct serve_file file;
    struct weights *weights;
    enum status status = serve_file_open(&file, config, from, fault);
    if (status != STATUS_OK)
        return status;
    status = weights_open(&weights, file.path, fault);
    serve_file_close(&file);
    if (status != STATUS_OK)
        return status;
    struct run_model_options options = { .device = device,
                                         .kv_dtype =
                                             serve_kv_dtype(config, from, weights_spec(weights)) };
    status = model_spec_check_kv(weights_spec(weights), from->name, options.kv_dtype, fault);
    if (status == STATUS_OK)
        status = check_room(l, from, weights, &options, fault);
    if (status == STATUS_OK)
        return run_model_open(model, weights, &options, fault);
    weights_close(weights);
    return status;
}

/* Times a decode step on each device, in rounds over all devices: the mean, since a device that
 * other work slows for a part of the time is as slow as that. */
static void measure_steps(struct serve_layer_map *l, const struct run_model *model,
                          int32_t n_context)
{
    const struct run_meter_pass pass = { SERVE_LAYER_MAP_BATCH, 1, n_context - 1 };
    int64_t sums[DEVICE_RANKS_MAX] = { 0 };
    int32_t n[DEVICE_RANKS_MAX] = { 0 };
    for (int round = 0; round < ROUNDS; round++) {
        for (int32_t d = 0; d < l->n_devices; d++) {
            struct run_meter *meter = run_meter_open(
                model,
                &(struct run_meter_options){ .n_rows_max = SERVE_LAYER_MAP_BATCH,
                                             .n_sequences_max = SERVE_LAYER_MAP_BATCH,
                                             .n_tokens_max = SERVE_LAYER_MAP_BATCH * n_context,
                                             .lane = d + 1 });
            int64_t end_ns = time_now_ns() + STEP_MS_MAX * TIME_NS_PER_MS / ROUNDS;
            (void)run_meter_step(meter, &pass, 1, TIME_NEVER); /* with cold caches */
            for (int run = 0; run < RUNS && (run == 0 || time_now_ns() < end_ns); run++, n[d]++)
                sums[d] += run_meter_step(meter, &pass, 1, TIME_NEVER).ps;
            run_meter_close(meter);
        }
    }
    for (int32_t d = 0; d < l->n_devices; d++)
        l->step_ps[d] = sums[d] / n[d];
}

static enum status measure_links(struct serve_layer_map *l, const struct lanes *lanes,
                                 int32_t width, struct fault *fault)
{
    int64_t n_bytes = (int64_t)sizeof(float) * width * SERVE_LAYER_MAP_BATCH;
    enum status status = STATUS_OK;
    for (int32_t a = 0; a < l->n_devices; a++)
        for (int32_t b = a + 1; b < l->n_devices && status == STATUS_OK; b++) {
            int64_t ps = 0;
            status =
                run_sums_link(lanes->of[a].cores[0], lanes->of[b].cores[0], n_bytes, &ps, fault);
            l->link_ps[a * l->n_devices + b] = l->link_ps[b * l->n_devices + a] = ps;
        }
    return status;
}

static enum status measure(struct serve_layer_map *l, const struct config *config,
                           const struct lanes *lanes, struct fault *fault)
{
    const struct config_model *from = &config->models[0];
    struct run_model model;
    enum status status = open_model(l, &model, config, lanes->device, fault);
    if (status != STATUS_OK)
        return status;
    const struct model_spec *spec = weights_spec(model.weights);
    int64_t n_context = context_of(from, spec);
    l->n_layers = spec->n_layers;
    l->weights_bytes = model.weights_bytes;
    /* Embedding and output matrix are of one type with the rest, as far as their bytes tell. */
    double tables = (double)(spec->is_tied ? 1 : 2) * spec->n_vocabulary * spec->width;
    double all = (double)model_spec_flops_per_token(spec) / 2 + tables;
    l->table_bytes = (int64_t)((double)l->weights_bytes * tables / all);
    l->kv_layer_bytes = model_spec_kv_bytes_per_token(spec, model.kv_dtype) / spec->n_layers;
    l->n_tokens = SERVE_LAYER_MAP_BATCH * n_context;
    measure_steps(l, &model, (int32_t)n_context);
    status = measure_links(l, lanes, spec->width, fault);
    run_model_close(&model);
    return status;
}

/* ---- The whole. ---- */

static enum status check(const struct config *config, struct fault *fault)
{
    if (config->n_models != 1)
        return fault_set(fault, STATUS_BAD_INPUT,
                         "planner %.20s puts the layers of one model on devices, and this server "
                         "has %d models: expected one",
                         config->planner, config->n_models);
    if (config->n_devices < 2 || config->n_devices > DEVICE_RANKS_MAX)
        return fault_set(
            fault, STATUS_BAD_INPUT,
            "planner %.20s: expected 2 to %d devices to put layers on, as in --devices "
            "cpu:0 --devices cpu:1",
            config->planner, DEVICE_RANKS_MAX);
    if (config->n_lanes > 0 || config->placement != NULL)
        return fault_set(fault, STATUS_BAD_INPUT,
                         "planner %.20s: its devices are one engine of one lane, so lanes and "
                         "placement can't be set",
                         config->planner);
    for (int i = 0; i < config->n_devices; i++)
        if (strncmp(config->devices[i], "cpu:", 4) != 0 || strlen(config->devices[i]) >= 60)
            return fault_set(
                fault, STATUS_UNSUPPORTED,
                "planner %.20s: device %.40s: expected devices of cores, as in cpu:0-1",
                config->planner, config->devices[i]);
    return STATUS_OK;
}

static void say(const struct serve_layer_map *l, const struct layers_plan *plan,
                const char *planner, const char *device)
{
    for (int32_t d = 0; d < l->n_devices; d++)
        log_line(LOG_INFO, "serve",
                 "%s: a step of %d requests takes %.3f ms on all %d layers; to the next device "
                 "%.1f us",
                 l->names[d], SERVE_LAYER_MAP_BATCH, (double)l->step_ps[d] * 1e-9, l->n_layers,
                 (double)l->link_ps[d * l->n_devices + (d + 1) % l->n_devices] * 1e-6);
    log_line(LOG_INFO, "serve", "layers placed by %s: %s, a step of %d requests in %.3f ms",
             planner, device, SERVE_LAYER_MAP_BATCH, (double)plan->step_ps * 1e-9);
}

enum status serve_layer_map_place(struct config *config, int64_t memory_bytes, struct fault *fault)
{
    char device[DEVICE_RANKS_MAX * 72];
    enum status status = check(config, fault);
    if (status != STATUS_OK)
        return status;
    struct lanes *lanes = mem_take(sizeof(*lanes));
    struct serve_layer_map *l = mem_take(sizeof(*l));
    struct layers_plan *plan = mem_take(sizeof(*plan));
    l->n_devices = config->n_devices;
    status = open_lanes(lanes, config, fault);
    for (int32_t d = 0; d < l->n_devices && status == STATUS_OK; d++) {
        l->names[d] = config->devices[d];
        l->memory_bytes[d] = memory_bytes / lanes->all.n_cores * lanes->of[d].n_cores;
    }
    if (status == STATUS_OK)
        status = measure(l, config, lanes, fault);
    if (lanes->device != NULL)
        lanes->device->close(lanes->device->self);
    if (status == STATUS_OK)
        status = serve_layer_map_plan(l, layers_find(config->planner)->aim, plan, fault);
    if (status == STATUS_OK) {
        serve_layer_map_print(l, plan, device, sizeof(device));
        say(l, plan, config->planner, device);
        config->devices[0] = pile_text(&config->pile, device, strlen(device));
        config->n_devices = 1;
        config->models[0].n_devices = 0;
    }
    mem_give(plan);
    mem_give(l);
    mem_give(lanes);
    return status;
}
