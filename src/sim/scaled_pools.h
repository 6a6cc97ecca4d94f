/* The state of pools of workers that come and go. */
#pragma once
#include "base/set.h"
#include "place/scale.h"

enum sim_scaled_state { SIM_SCALED_ON, SIM_SCALED_OFF, SIM_SCALED_STARTING, SIM_SCALED_LEAVING };
struct sim_scaled_pool {
    const struct scale_config *config;
    struct scale scale;
    struct set services; /* of its engines: arrivals that count */
    int32_t first, n;    /* its engines */
    int64_t wake_ns;     /* of the scaler */
};
struct sim_scaled {
    int32_t n_pools;
    struct sim_scaled_pool *pools;
    uint8_t *states;              /* (n_engines) enum sim_scaled_state */
    int64_t *since_ns, *ready_ns; /* (n_engines) on or starting since; starting until */
    int32_t n_starting, n_leaving;
    int64_t wake_ns; /* TIME_NEVER without pools */
};
