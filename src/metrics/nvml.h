/* Figures of GPUs by NVIDIA's management library, which is opened when it is first wanted.
 *
 * A thread reads them every second, since a call of the library may take milliseconds. Nothing of
 * the library is needed to build or to start. */
#pragma once
#include "base/status.h"

enum { NVML_GPUS_MAX = 16 };
enum nvml_figure {
    NVML_MEMORY_TOTAL, /* bytes */
    NVML_MEMORY_USED,  /* bytes, of all processes */
    NVML_POWER,        /* watts */
    NVML_UTILISATION,  /* 0 to 1: the share of the last period with a kernel running */
    NVML_TEMPERATURE,  /* degrees Celsius */
    NVML_FIGURES
};
struct nvml_reading {
    bool has[NVML_FIGURES]; /* false: the library or this GPU does not tell it */
    double of[NVML_FIGURES];
};
struct nvml;

/* The name by which the loader finds the library. */
extern const char nvml_library[];
/* Opens the library and finds GPUs by their PCI addresses. buses: (n), up to NVML_GPUS_MAX.
 * STATUS_UNSUPPORTED with a sentence when the library is missing or too old, or no driver answers.
 */
enum status nvml_open(const char *library, const char *const *buses, int n, struct nvml **out,
                      struct fault *fault) MUST_USE;
void nvml_close(struct nvml *nvml); /* may be NULL */
/* Returns the latest figures of the GPU with the index-th address; none if nvml is NULL. Any
 * thread may call it. */
struct nvml_reading nvml_read(struct nvml *nvml, int index);
