/* Finds links between GPUs with NVIDIA's management library. It is loaded on demand, and its header
 * is not needed to build. */
#include "base/mem.h"
#include "base/num.h"
#include "scenario/links_here.h"

#include <dlfcn.h>
#include <stdio.h>

/* From nvml.h, whose ABI is stable: results are 0 or an error. */
typedef struct nvml_device *nvml_handle;
enum { NVML_LINKS_MAX = 18, NVML_REMOTE_SWITCH = 2 };
struct nvml_pci {
    char bus_id_legacy[16];
    unsigned domain, bus, device, device_id, subsystem_id;
    char bus_id[32];
};
struct nvml {
    int (*init)(void);
    int (*shutdown)(void);
    int (*count)(unsigned *n);
    int (*handle)(unsigned index, nvml_handle *out);
    int (*pci)(nvml_handle gpu, struct nvml_pci *out);
    int (*ancestor)(nvml_handle a, nvml_handle b, unsigned *level);
    int (*link_state)(nvml_handle gpu, unsigned link, unsigned *is_active);
    int (*link_remote)(nvml_handle gpu, unsigned link, struct nvml_pci *out);
    int (*link_type)(nvml_handle gpu, unsigned link, unsigned *type); /* NULL with an old driver */
};
struct gpu {
    nvml_handle handle;
    struct nvml_pci pci;
};

static bool load(void *library, struct nvml *nvml)
{
    const struct {
        const char *name;
        void *at; /* a pointer to a function pointer */
    } names[] = {
        { "nvmlInit_v2", &nvml->init },
        { "nvmlShutdown", &nvml->shutdown },
        { "nvmlDeviceGetCount_v2", &nvml->count },
        { "nvmlDeviceGetHandleByIndex_v2", &nvml->handle },
        { "nvmlDeviceGetPciInfo_v3", &nvml->pci },
        { "nvmlDeviceGetTopologyCommonAncestor", &nvml->ancestor },
        { "nvmlDeviceGetNvLinkState", &nvml->link_state },
        { "nvmlDeviceGetNvLinkRemotePciInfo_v2", &nvml->link_remote },
        { "nvmlDeviceGetNvLinkRemoteDeviceType", &nvml->link_type },
    };
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        *(void **)names[i].at = dlsym(library, names[i].name);
        if (*(void **)names[i].at == NULL && names[i].at != (void *)&nvml->link_type)
            return false;
    }
    return true;
}

/* Counts NVLinks from one GPU to the other; those to a switch reach all. */
static int32_t count_links(const struct nvml *nvml, const struct gpu *from, const struct gpu *to)
{
    int32_t n = 0;
    for (unsigned link = 0; link < NVML_LINKS_MAX; link++) {
        struct nvml_pci far;
        unsigned is_active = 0, type = 0;
        if (nvml->link_state(from->handle, link, &is_active) != 0 || is_active == 0)
            continue;
        if (nvml->link_type != NULL && nvml->link_type(from->handle, link, &type) == 0 &&
            type == NVML_REMOTE_SWITCH)
            n++;
        else if (nvml->link_remote(from->handle, link, &far) == 0 && far.domain == to->pci.domain &&
                 far.bus == to->pci.bus && far.device == to->pci.device)
            n++;
    }
    return n;
}

/* Returns nvmlGpuTopologyLevel_t in nvidia-smi's words; two on one board are as near as one
 * switch. */
static const char *word_of(unsigned level)
{
    static const char *const words[] = { "PIX", "PIX", "PXB", "PHB", "NODE", "SYS" };
    return words[min_i32((int32_t)(level / 10), (int32_t)COUNT_OF(words) - 1)];
}

static enum status read_link(const struct nvml *nvml, const struct gpu *a, const struct gpu *b,
                             struct links_link *link)
{
    char word[16];
    unsigned level;
    int32_t n = count_links(nvml, a, b);
    if (n > 0)
        snprintf(word, sizeof(word), "NV%d", n);
    else if (nvml->ancestor(a->handle, b->handle, &level) == 0)
        snprintf(word, sizeof(word), "%s", word_of(level));
    else
        return STATUS_IO;
    return links_word(word, link) ? STATUS_OK : STATUS_IO;
}

static enum status read_links(const struct nvml *nvml, struct links *links, struct fault *fault)
{
    struct gpu gpus[LINKS_DEVICES_MAX];
    unsigned n = 0;
    if (nvml->count(&n) != 0 || n == 0)
        return fault_set(fault, STATUS_NOT_FOUND, "NVML: it knows of no GPU here");
    if (n > LINKS_DEVICES_MAX)
        return fault_set(fault, STATUS_BAD_INPUT, "NVML: %u GPUs; at most %d", n,
                         LINKS_DEVICES_MAX);
    for (unsigned i = 0; i < n; i++)
        if (nvml->handle(i, &gpus[i].handle) != 0 || nvml->pci(gpus[i].handle, &gpus[i].pci) != 0)
            return fault_set(fault, STATUS_IO, "NVML: it can't say where GPU %u is", i);
    *links = (struct links){ (int32_t)n, mem_take((size_t)n * n * sizeof(links->at[0])) };
    for (unsigned i = 0; i < n * n; i++)
        if (i / n != i % n &&
            read_link(nvml, &gpus[i / n], &gpus[i % n], &links->at[i]) != STATUS_OK)
            return fault_set(fault, STATUS_IO, "NVML: it can't say what joins GPU %u and GPU %u",
                             i / n, i % n);
    return STATUS_OK;
}

enum status links_nvml(const char *library, struct links *links, struct fault *fault)
{
    struct nvml nvml;
    *links = (struct links){ 0 };
    void *loaded = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    if (loaded == NULL)
        return fault_set(fault, STATUS_NOT_FOUND, "NVML: %.120s is not on this machine", library);
    enum status status;
    if (!load(loaded, &nvml)) {
        status = fault_set(fault, STATUS_UNSUPPORTED, "NVML: %.120s is too old", library);
    } else if (nvml.init() != 0) {
        status = fault_set(fault, STATUS_NOT_FOUND, "NVML: no driver answers");
    } else {
        status = read_links(&nvml, links, fault);
        (void)nvml.shutdown();
    }
    dlclose(loaded);
    return status;
}
