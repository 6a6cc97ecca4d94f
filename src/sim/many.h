/* Many simulations at once: replicas, sweeps, comparisons over every core.
 *
 * A simulation is a value, so each gives the same report, byte for byte, on any number of threads.
 * Where options share a `take`, it is called from several threads. */
#pragma once
#include "sim/sim.h"

/* Runs options[i] into reports[i] for all i in [0, n), the first ones first, on n_threads threads,
 * the caller's being one; n_threads <= 0: one per core. Reports are the caller's to free. */
void sim_many_run(const struct sim_options *options, struct sim_report *reports, int n,
                  int n_threads);
