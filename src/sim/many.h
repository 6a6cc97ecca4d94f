/* Runs many simulations at once: replicas, sweeps, comparisons, over every core.
 *
 * A simulation is a value, so each gives the same report, byte for byte, on any number of threads.
 * Options that share a `take` get it called from several threads. */
#pragma once
#include "sim/sim.h"

/* Runs options[i] into reports[i] for all i in [0, n), the first ones first. It uses n_threads
 * threads, including the caller's; n_threads <= 0: one per core. The caller frees the reports. */
void sim_many_run(const struct sim_options *options, struct sim_report *reports, int n,
                  int n_threads);
