/* GPUs, by way of a plug-in that is opened at run time, so that one program starts with and without
 * a driver. */
#pragma once
#include "config/lanes.h"

struct compute_device;

/* Opens the GPU with the lanes, and sets the shares that they got. If spec->memory_bytes is 0, it
 * becomes most of the GPU's free memory.
 * STATUS_UNSUPPORTED with a sentence when the plug-in, the driver or the GPU is missing. The
 * plug-in stays open for good. */
enum status gpu_open(struct device_spec *spec, struct lanes *lanes, struct compute_device **out,
                     struct fault *fault) MUST_USE;
