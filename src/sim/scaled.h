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
#include "base/base.h"

struct sim;
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
