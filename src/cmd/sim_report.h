/* Writes the output of `shoal sim`: one run in full, or a comparison of many. */
#pragma once
#include "cmd/sim_cases.h"

void sim_report_one(const struct sim_case *c, struct str *out);
void sim_report_one_json(const struct sim_case *c, struct str *out);
/* Cases of several labels, rates and seeds: labels[l] at rates[r] with seed s is case
 * (r * n_labels + l) * n_seeds + s. */
struct sim_grid {
    const struct sim_case *cases;
    const char *const *labels;
    const double *rates;
    int n_labels, n_rates, n_seeds;
};
/* A line per rate and label: means with 95% intervals over seeds, and the paired difference to the
 * first label. */
void sim_report_grid(const struct sim_grid *grid, struct str *out);
void sim_report_grid_json(const struct sim_grid *grid, struct str *out);
