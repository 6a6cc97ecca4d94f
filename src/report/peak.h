/* Measures a run's use of its devices: useful arithmetic and memory traffic, as parts of their
 * peaks. */
#pragma once
#include "scenario/world.h"

struct report_peak {        /* docs/METRICS.md has the formulas */
    bool is_known;          /* every service has a known model, and time has passed */
    double flops, bytes;    /* needed by the requests; moved at least by their batches */
    double compute, memory; /* of the peak of all devices, over the makespan */
};
/* makespan_s: of all requests. Arithmetic comes from the records alone. Traffic also needs the
 * number of batches of each service. */
void report_peak_of(const struct scenario_world *world, const struct record_set *set,
                    const struct sim_report *report, double makespan_s, struct report_peak *out);
