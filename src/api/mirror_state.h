/* The state of a service over all engines, from their last reports. */
#pragma once
#include "api/house.h"

struct api_model_state { /* a service over all engines */
    enum service_status status;
    int percent;
    int64_t weights_bytes, activation_bytes, kv_used_bytes, kv_cached_bytes, sleep_bytes;
    int32_t n_waiting, n_running;
};
struct api_model_state api_mirror_state(const struct api *api, uint16_t service);
