/* The roofline: a performance model for a device and model without a profile, from peak flops,
 * bandwidths and the model's shape.
 *
 * The reached part of each peak, and a step's other costs (launches, the host, an all-reduce), are
 * fitted on the devices that were profiled. */
#pragma once
#include "predict/device.h"
#include "predict/perf.h"

struct roofline_efficiency {
    double compute;    /* of the peak, in matrices and attention */
    double memory;     /* of the bandwidth, reading weights, keys and values */
    double link;       /* of the link, an all-reduce's bytes */
    double request_ms; /* per request of a decode batch */
    double layer_ms;   /* per layer of a step, whatever its content: launches and the host */
    double reduce_ms;  /* per all-reduce, two a layer, when there is more than one device */
    double
        knee; /* decode becomes compute bound at this part of the batch at which both bounds meet */
};
/* Fits by relative least squares over every profile of perf_preset's table. */
void predict_roofline_fit(struct roofline_efficiency *out);
/* Sets the model on tp devices of this kind, split by tensors. */
void predict_roofline_perf(const struct predict_model *model, const struct predict_device *device,
                           int32_t tp, const struct roofline_efficiency *efficiency,
                           struct perf *out);
