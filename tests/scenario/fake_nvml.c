/* A library with NVML's functions for machines that the environment names: FAKE_NVML is
 * "pairs" (four GPUs, each two joined by four NVLinks), "switch" (three, all on a switch by 18
 * each), "bare" (four without NVLinks, each level another) or "none". */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct pci {
    char bus_id_legacy[16];
    unsigned domain, bus, device, device_id, subsystem_id;
    char bus_id[32];
};
struct gpu {
    unsigned index;
};
static struct gpu gpus[4] = { { 0 }, { 1 }, { 2 }, { 3 } };

static int is(const char *name)
{
    const char *machine = getenv("FAKE_NVML");
    return machine != NULL && strcmp(machine, name) == 0;
}

int nvmlInit_v2(void);
int nvmlInit_v2(void)
{
    return is("none") ? 9 : 0; /* NVML_ERROR_DRIVER_NOT_LOADED */
}

int nvmlShutdown(void);
int nvmlShutdown(void)
{
    return 0;
}

int nvmlDeviceGetCount_v2(unsigned *n);
int nvmlDeviceGetCount_v2(unsigned *n)
{
    *n = is("switch") ? 3 : 4;
    return 0;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned i, struct gpu **out);
int nvmlDeviceGetHandleByIndex_v2(unsigned i, struct gpu **out)
{
    *out = &gpus[i];
    return 0;
}

static void address(unsigned gpu, struct pci *out)
{
    memset(out, 0, sizeof(*out));
    out->bus = 0x10 + gpu;
}

int nvmlDeviceGetPciInfo_v3(struct gpu *gpu, struct pci *out);
int nvmlDeviceGetPciInfo_v3(struct gpu *gpu, struct pci *out)
{
    address(gpu->index, out);
    return 0;
}

/* 0 and 1 are on one switch, 2 behind another of the same bridge, 3 on the other socket. */
int nvmlDeviceGetTopologyCommonAncestor(struct gpu *a, struct gpu *b, unsigned *level);
int nvmlDeviceGetTopologyCommonAncestor(struct gpu *a, struct gpu *b, unsigned *level)
{
    unsigned last = a->index > b->index ? a->index : b->index;
    *level = last == 1 ? 10 : last == 2 ? 20 : 50;
    return 0;
}

int nvmlDeviceGetNvLinkState(struct gpu *gpu, unsigned link, unsigned *is_active);
int nvmlDeviceGetNvLinkState(struct gpu *gpu, unsigned link, unsigned *is_active)
{
    (void)gpu;
    *is_active = is("switch") || (is("pairs") && link < 4);
    return is("bare") ? 3 : 0; /* NVML_ERROR_NOT_SUPPORTED */
}

int nvmlDeviceGetNvLinkRemoteDeviceType(struct gpu *gpu, unsigned link, unsigned *type);
int nvmlDeviceGetNvLinkRemoteDeviceType(struct gpu *gpu, unsigned link, unsigned *type)
{
    (void)gpu;
    (void)link;
    *type = is("switch") ? 2 : 0;
    return 0;
}

int nvmlDeviceGetNvLinkRemotePciInfo_v2(struct gpu *gpu, unsigned link, struct pci *out);
int nvmlDeviceGetNvLinkRemotePciInfo_v2(struct gpu *gpu, unsigned link, struct pci *out)
{
    (void)link;
    address(gpu->index ^ 1, out);
    return 0;
}
