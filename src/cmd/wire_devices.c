/* Describes the devices of engines for GET /models, `shoal ps` and /metrics. */
#include "cmd/wire_house.h"

#include "base/json_out.h"
#include "base/log.h"
#include "cmd/gpu.h"
#include "metrics/nvml.h"
#include "metrics/print.h"
#include <stdio.h>

static bool is_gpu(const struct house *house, int e)
{
    return house->engines[e].device_spec.kind == DEVICE_CUDA;
}

void wire_devices_open(struct house *house)
{
    const char *buses[LIMIT_DEVICES];
    struct fault fault;
    int n = 0;
    for (int e = 0; e < house->n_engines; e++) {
        struct gpu_facts *facts = &house->engines[e].gpu;
        if (is_gpu(house, e) && gpu_look(house->engines[e].device_spec.cores[0], facts)) {
            log_line(LOG_INFO, "serve", "engine %d: %s is %s, with %.1f GiB", e,
                     house->device_names[e], facts->name, (double)facts->memory_bytes * 0x1p-30);
            n++;
        }
        buses[e] = facts->bus;
    }
    if (n > 0 &&
        nvml_open(nvml_library, buses, house->n_engines, &house->nvml, &fault) != STATUS_OK)
        log_line(LOG_INFO, "serve", "no power, temperature or use of GPUs: %s", fault.text);
}

void wire_devices_close(struct house *house)
{
    nvml_close(house->nvml);
}

/* The figures, in the order of enum nvml_figure. */
static const struct {
    const char *key, *metric, *help;
} figures[NVML_FIGURES] = {
    { NULL, "shoal_gpu_memory_total_bytes", "Memory of the GPU." },
    { "gpu_memory_used_bytes", "shoal_gpu_memory_used_bytes", "Memory of the GPU in use." },
    { "gpu_power_watts", "shoal_gpu_power_watts", "Power that the GPU draws." },
    { "gpu_utilisation", "shoal_gpu_utilisation",
      "Share of the last period in which the GPU ran a kernel, 0 to 1." },
    { "gpu_celsius", "shoal_gpu_celsius", "Temperature of the GPU." },
};

void wire_describe_engine(void *self, int engine, struct json_out *json)
{
    const struct house *house = self;
    if (engine >= house->n_engines)
        return; /* another machine's */
    const struct gpu_facts *facts = &house->engines[engine].gpu;
    json_out_key_text(json, "kind", is_gpu(house, engine) ? "cuda" : "cpu");
    if (!is_gpu(house, engine))
        return;
    json_out_key_text(json, "gpu", facts->name);
    json_out_key_i64(json, "gpu_memory_bytes", facts->memory_bytes);
    const struct nvml_reading reading = nvml_read(house->nvml, engine);
    for (int i = 0; i < NVML_FIGURES; i++) {
        if (reading.has[i] && i == NVML_MEMORY_USED) /* all of its digits */
            json_out_key_i64(json, figures[i].key, (int64_t)reading.of[i]);
        else if (reading.has[i] && figures[i].key != NULL)
            json_out_key_f64(json, figures[i].key, reading.of[i]);
    }
}

static void add_labels(const struct house *house, int e, struct str *out)
{
    char number[16];
    snprintf(number, sizeof number, "%d", e);
    metrics_print_label(out, '{', "engine", number);
    metrics_print_label(out, ',', "device", house->device_names[e]);
}

/* Engines' kinds, and each figure that a GPU tells. */
void wire_devices_metrics(const struct house *house, struct str *out)
{
    if (house->n_engines > 0)
        metrics_print_name(out, "shoal_engine_device_info", "1 for the device of each engine.",
                           "gauge");
    for (int e = 0; e < house->n_engines; e++) {
        str_add_text(out, "shoal_engine_device_info");
        add_labels(house, e, out);
        metrics_print_label(out, ',', "kind", is_gpu(house, e) ? "cuda" : "cpu");
        metrics_print_label(out, ',', "name", house->engines[e].gpu.name);
        str_add_text(out, "} 1\n");
    }
    for (int i = 0; i < NVML_FIGURES && house->nvml != NULL; i++) {
        metrics_print_name(out, figures[i].metric, figures[i].help, "gauge");
        for (int e = 0; e < house->n_engines; e++) {
            const struct nvml_reading reading = nvml_read(house->nvml, e);
            if (!reading.has[i])
                continue;
            str_add_text(out, figures[i].metric);
            add_labels(house, e, out);
            str_printf(out, "} %.15g\n", reading.of[i]);
        }
    }
}
