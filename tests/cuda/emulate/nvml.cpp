// Stands for NVML: one GPU at the address of the emulated one, which does not tell its temperature.
#include <string.h>

#define EXPORT extern "C" __attribute__((visibility("default")))
enum { OK, NOT_SUPPORTED = 3, NOT_FOUND = 6 };
static int gpu;

struct memory_info {
    unsigned long long total, free, used;
};
struct utilisation {
    unsigned gpu, memory;
};

EXPORT int nvmlInit_v2(void)
{
    return OK;
}

EXPORT int nvmlShutdown(void)
{
    return OK;
}

EXPORT int nvmlDeviceGetHandleByPciBusId_v2(const char *bus, void **out)
{
    *out = &gpu;
    return strcmp(bus, "0000:3B:00.0") == 0 ? OK : NOT_FOUND;
}

EXPORT int nvmlDeviceGetMemoryInfo(void *, memory_info *out)
{
    *out = { 3ull << 30, 2ull << 30, 1ull << 30 };
    return OK;
}

EXPORT int nvmlDeviceGetPowerUsage(void *, unsigned *milliwatts)
{
    *milliwatts = 123456;
    return OK;
}

EXPORT int nvmlDeviceGetUtilizationRates(void *, utilisation *out)
{
    *out = { 42, 7 };
    return OK;
}

EXPORT int nvmlDeviceGetTemperature(void *, int, unsigned *)
{
    return NOT_SUPPORTED;
}
