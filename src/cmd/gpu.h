/* GPUs, by way of a plug-in that is opened at run time, so that one program starts with and without
 * a driver. */
#pragma once
#include "core/device.h"

struct compute_device;

/* Opens the GPU. lanes: (n_lanes) with lane 0, which has all of it; the others have processors of
 * their own in proportion to their n_cores. If spec->memory_bytes is 0, it becomes most of the
 * GPU's free memory. STATUS_UNSUPPORTED with a sentence when the plug-in, the driver or the GPU is
 * missing. The plug-in stays open for good. */
enum status gpu_open(struct device_spec *spec, const struct device_spec *lanes, int n_lanes,
                     struct compute_device **out, struct fault *fault) MUST_USE;
