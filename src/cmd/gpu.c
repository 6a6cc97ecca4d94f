/* Opens GPUs through a plug-in, libshoal_cuda.so. It lies beside the program or on the loader's
 * path. */
#include "cmd/gpu.h"

#include "base/log.h"
#include "config/config.h"
#include "cuda/cuda.h"
#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define PLUGIN "libshoal_cuda.so"

/* Libraries of the driver take memory as they need it, so a tenth stays free. */
static int64_t usual_bytes(int64_t free_bytes)
{
    return free_bytes / 10 * 9;
}

static void path_of(char *path, size_t n_bytes)
{
    char program[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", program, sizeof program - 1);
    program[n > 0 ? n : 0] = '\0';
    char *slash = strrchr(program, '/');
    if (slash != NULL)
        *slash = '\0';
    snprintf(path, n_bytes, "%s/" PLUGIN, program);
    if (access(path, F_OK) != 0)
        snprintf(path, n_bytes, PLUGIN);
}

/* Opens the plug-in, which stays open for good. */
static enum status load(const struct cuda_plugin **out, struct fault *fault)
{
    char path[PATH_MAX + 32];
    path_of(path, sizeof path);
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL)
        return fault_set(fault, STATUS_UNSUPPORTED, "the CUDA plug-in does not load: %.180s",
                         dlerror());
    const struct cuda_plugin *plugin = dlsym(library, CUDA_PLUGIN);
    if (plugin == NULL || plugin->plugin_bytes != sizeof(struct cuda_plugin) ||
        plugin->device_bytes != sizeof(struct compute_device) ||
        plugin->pass_bytes != sizeof(struct compute_pass))
        return fault_set(fault, STATUS_UNSUPPORTED,
                         "%.160s is the plug-in of another build of shoal", path);
    *out = plugin;
    return STATUS_OK;
}

enum status gpu_open(struct device_spec *spec, const struct device_spec *lanes, int n_lanes,
                     struct compute_device **out, struct fault *fault)
{
    int32_t shares[LIMIT_LANES];
    const struct cuda_options options = { .index = spec->cores[0],
                                          .n_lanes = n_lanes,
                                          .shares = n_lanes > 1 ? shares : NULL,
                                          .is_strict = spec->is_strict };
    for (int i = 1; i < n_lanes; i++)
        shares[i - 1] = lanes[i].n_cores;
    struct fault own = { "" };
    const struct cuda_plugin *plugin = NULL;
    enum status status = load(&plugin, &own);
    if (status == STATUS_OK)
        status = plugin->open(&options, out, &own);
    if (status != STATUS_OK)
        return fault_set(fault, status, "device cuda:%d: %.200s", (int)options.index, own.text);
    if (spec->memory_bytes == 0)
        spec->memory_bytes = usual_bytes(plugin->free_bytes(*out));
    return STATUS_OK;
}

int32_t gpu_count(struct fault *fault)
{
    const struct cuda_plugin *plugin;
    return load(&plugin, fault) == STATUS_OK ? plugin->count(fault) : 0;
}

bool gpu_look(int32_t index, struct gpu_facts *out)
{
    const struct cuda_plugin *plugin;
    struct cuda_driver_info info;
    struct fault fault;
    *out = (struct gpu_facts){ .memory_bytes = 0 };
    if (gpu_count(&fault) <= index || load(&plugin, &fault) != STATUS_OK ||
        !plugin->look(index, &info))
        return false;
    memcpy(out->name, info.name, sizeof out->name);
    memcpy(out->bus, info.bus, sizeof out->bus);
    out->memory_bytes = info.memory_bytes;
    return true;
}

void gpu_choose(struct config *config)
{
    struct fault fault;
    if (!config_devices_are_auto(config))
        return;
    int32_t n = gpu_count(&fault);
    config->n_devices = 0;
    if (n == 0)
        log_line(LOG_INFO, "serve", "devices auto: engines run on CPUs: %s", fault.text);
    else
        log_line(LOG_INFO, "serve", "devices auto: %d GPU%s found%s", (int)n, n > 1 ? "s" : "",
                 n > LIMIT_DEVICES ? ", more than a server has engines" : "");
    for (int32_t i = 0; i < min_i32(n, LIMIT_DEVICES); i++) {
        char text[16];
        int n_text = snprintf(text, sizeof text, "cuda:%d", (int)i);
        config->devices[config->n_devices++] = pile_text(&config->pile, text, (size_t)n_text);
    }
}
