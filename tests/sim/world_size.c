/* Measures a leading manager in a large simulated cluster without faults. */
#include "world_size.h"

#include "base/time.h"
#include "world.h"
#include <stdio.h>

int world_size(int n_nodes, int n_gateways, int seconds)
{
    const struct world_options options = { .seed = 1,
                                           .n_managers = 2,
                                           .n_gateways = n_gateways,
                                           .n_nodes = n_nodes,
                                           .n_engines = 1,
                                           .report_ns = 100 * TIME_NS_PER_MS,
                                           .delay_ns = TIME_NS_PER_MS,
                                           .rate_per_s = 5,
                                           .is_still = true };
    struct world *w = world_open(&options);
    world_run(w, w->now_ns + seconds * TIME_NS_PER_S);
    world_close(w);
    return 0;
}
