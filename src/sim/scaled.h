/* Workers that start and stop: pools of equal engines, each as large as place/scale.h decides.
 *
 * An engine is off, starting (for the cold start), on, or leaving. A leaving engine takes no more
 * requests, and it is off when its own have ended. A leaving engine is taken back before one is
 * started. The engines themselves always exist, and a router sees only whether they are open.
 *
 *     off --order up--> starting --cold start over--> on --order down--> leaving --empty--> off
 *
 * It is private to this room. */
#pragma once
#include "base/set.h"
#include "place/scale.h"

struct sim;
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
/* All engines are on at first. */
void sim_scaled_open(struct sim *sim);
void sim_scaled_close(struct sim *sim);
void sim_scaled_arrived(struct sim *sim, int32_t service);
/* A request left this engine. */
void sim_scaled_left(struct sim *sim, uint16_t engine);
/* The wake has come. */
void sim_scaled_tick(struct sim *sim);
/* Ends the run, and counts the workers that are still on. */
void sim_scaled_end(struct sim *sim);
