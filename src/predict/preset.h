/* Published measurements: performance models of a model on devices, each with its source, and the
 * slowdown on a part of the device. */
#pragma once
#include "predict/device.h"
#include "predict/perf.h"

struct preset_row {
    const char *model, *device, *source;
    int32_t tp;
    struct perf perf;
};
const struct preset_row *preset_rows(int *n);
/* Returns the first row for a model of this shape on tp such devices; NULL when there is none. */
const struct preset_row *preset_find(const struct predict_model *model,
                                     const struct predict_device *device, int32_t tp);
