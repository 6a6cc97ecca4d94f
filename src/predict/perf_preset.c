/* The performance model of a model on a device: as it was published, or else the roofline's. */
#include "predict/preset.h"
#include "predict/roofline.h"

const char *perf_preset(const struct predict_model *model, const struct predict_device *device,
                        int32_t tp, struct perf *out)
{
    const struct preset_row *row = preset_find(model, device, tp);
    if (row != NULL) {
        *out = row->perf;
        return row->source;
    }
    struct roofline_efficiency efficiency;
    predict_roofline_fit(&efficiency);
    predict_roofline_perf(model, device, tp, &efficiency, out);
    return "roofline";
}
