/* The table of devices. */
#include "predict/device.h"
#include <string.h>

#define GIB (INT64_C(1) << 30)

/* Peaks in flop/s, bandwidths in bytes/s. Sources: data sheets; a100, h100, h200, l40s, a30 as in
 * ai-dynamo/aiconfigurator's systems (Apache-2.0). */
static const struct predict_device devices[] = {
    { "a100", "NVIDIA A100 SXM 80 GB, NVLink", 312e12, 2039e9, 300e9, 32e9, 80 * GIB, 8 },
    { "a100-40g", "NVIDIA A100 SXM 40 GB, NVLink", 312e12, 1555e9, 300e9, 32e9, 40 * GIB, 8 },
    { "a100-pcie", "NVIDIA A100 PCIe 80 GB", 312e12, 1935e9, 32e9, 32e9, 80 * GIB, 8 },
    { "a800", "NVIDIA A800 80 GB, NVLink at 200 GB/s", 312e12, 2039e9, 200e9, 32e9, 80 * GIB, 8 },
    { "h100", "NVIDIA H100 SXM 80 GB", 989e12, 3350e9, 450e9, 64e9, 80 * GIB, 8 },
    { "h100-pcie", "NVIDIA H100 PCIe 80 GB", 756e12, 2000e9, 64e9, 64e9, 80 * GIB, 8 },
    { "h800", "NVIDIA H800 80 GB, NVLink at 200 GB/s", 989e12, 3350e9, 200e9, 64e9, 80 * GIB, 8 },
    { "h200", "NVIDIA H200 SXM 141 GB", 989e12, 4800e9, 450e9, 64e9, 141 * GIB, 8 },
    { "l40s", "NVIDIA L40S 48 GB, PCIe", 362e12, 864e9, 32e9, 32e9, 45 * GIB, 8 },
    { "a40", "NVIDIA A40 48 GB, PCIe", 150e12, 696e9, 32e9, 32e9, 48 * GIB, 8 },
    { "a30", "NVIDIA A30 24 GB, PCIe", 165e12, 933e9, 32e9, 32e9, 24 * GIB, 4 },
    { "v100", "NVIDIA V100 SXM2 32 GB, NVLink", 125e12, 900e9, 150e9, 16e9, 32 * GIB, 8 },
    { "v100-16g", "NVIDIA V100 SXM2 16 GB, NVLink", 125e12, 900e9, 150e9, 16e9, 16 * GIB, 8 },
    { "rtx-3090", "NVIDIA GeForce RTX 3090 24 GB", 71e12, 936e9, 16e9, 16e9, 24 * GIB, 4 },
    { "rtx-4090", "NVIDIA GeForce RTX 4090 24 GB", 165e12, 1008e9, 32e9, 32e9, 24 * GIB, 4 },
    { "t4", "NVIDIA T4 16 GB, PCIe", 65e12, 320e9, 16e9, 16e9, 16 * GIB, 4 },
    { "l4", "NVIDIA L4 24 GB, PCIe", 121e12, 300e9, 32e9, 32e9, 24 * GIB, 4 },
    { "cpu-avx2", "a core with AVX2: 168 Giga int8 operations, 21 GB/s", 168e9, 21e9, 21e9, 21e9,
      4 * GIB, 16 },
    { "cpu-2c", "two cores with AVX-512 VNNI: 1.6 Tera int8 operations, 36 GB/s", 1.6e12, 36e9,
      36e9, 36e9, 8 * GIB, 1 },
};

const struct predict_device *predict_device_all(int *n)
{
    *n = (int)COUNT_OF(devices);
    return devices;
}

const char *predict_device_names(void)
{
    return "a100, a100-40g, a100-pcie, a800, h100, h100-pcie, h800, h200, l40s, a40, a30, "
           "v100, v100-16g, rtx-3090, rtx-4090, t4, l4, cpu-avx2, cpu-2c";
}

const struct predict_device *predict_device_find(const char *name)
{
    for (size_t i = 0; i < COUNT_OF(devices); i++)
        if (strcmp(devices[i].name, name) == 0)
            return &devices[i];
    return NULL;
}
