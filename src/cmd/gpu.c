/* Opens GPUs through a plug-in, libshoal_cuda.so. It lies beside the program or on the loader's
 * path. */
#include "cmd/gpu.h"

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
    char path[PATH_MAX + 32];
    struct fault own = { "" };
    path_of(path, sizeof path);
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL)
        return fault_set(fault, STATUS_UNSUPPORTED,
                         "device cuda:%d: the CUDA plug-in does not load: %.180s",
                         (int)options.index, dlerror());
    const struct cuda_plugin *plugin = dlsym(library, CUDA_PLUGIN);
    if (plugin == NULL || plugin->device_bytes != sizeof(struct compute_device) ||
        plugin->pass_bytes != sizeof(struct compute_pass))
        return fault_set(fault, STATUS_UNSUPPORTED,
                         "device cuda:%d: %.160s is the plug-in of another build of shoal",
                         (int)options.index, path);
    enum status status = plugin->open(&options, out, &own);
    if (status != STATUS_OK)
        return fault_set(fault, status, "device cuda:%d: %.200s", (int)options.index, own.text);
    if (spec->memory_bytes == 0)
        spec->memory_bytes = usual_bytes(plugin->free_bytes(*out));
    return STATUS_OK;
}
