/* Workers that come and go: pools of equal engines, each as large as place/scale.h says.
 *
 * An engine is off, starting (for the cold start), on, or leaving: it takes no more requests and is
 * off when its own have ended. An engine that is leaving is taken back before one is started. The
 * engines themselves are always there; what a router sees is whether they are open.
 *
 *     off --order up--> starting --cold start over--> on --order down--> leaving --empty--> off
 *
 * Private to this room. */
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
/* The run is over: counts what is still on. */
void sim_scaled_end(struct sim *sim);
