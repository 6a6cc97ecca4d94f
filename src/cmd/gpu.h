/* GPUs, by way of a plug-in that is opened at run time, so that one program starts with and without
 * a driver. */
#pragma once
#include "core/device.h"

struct compute_device;
struct config;

struct gpu_facts {
    char name[128], bus[32]; /* bus: its address, by which NVML knows it */
    int64_t memory_bytes;    /* all that it has */
};
/* Counts the GPUs that the plug-in finds. Returns 0, with a sentence, when there is none, no driver
 * or no plug-in. */
int32_t gpu_count(struct fault *fault);
/* Describes a GPU without opening it. Returns false when it is not there. */
bool gpu_look(int32_t index, struct gpu_facts *out);
/* Replaces `devices: auto` by all GPUs that are there; without any, by none, so that the engines
 * get cores as if the key were absent. One log line says which. */
void gpu_choose(struct config *config);

/* Opens the GPU. lanes: (n_lanes) with lane 0, which has all of it; the others have processors of
 * their own in proportion to their n_cores. If spec->memory_bytes is 0, it becomes most of the
 * GPU's free memory. STATUS_UNSUPPORTED with a sentence when the plug-in, the driver or the GPU is
 * missing. The plug-in stays open for good. */
enum status gpu_open(struct device_spec *spec, const struct device_spec *lanes, int n_lanes,
                     struct compute_device **out, struct fault *fault) MUST_USE;
