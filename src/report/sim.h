/* Writes the output of `shoal sim`: one run in full, or a comparison of many. */
#pragma once
#include "base/doc.h"
#include "scenario/cases.h"

void report_sim_one(const struct scenario_case *c, struct doc *out);
void report_sim_one_json(const struct scenario_case *c, struct str *out);
/* Cases of several labels, rates and seeds: labels[l] at rates[r] with seed s is case
 * (r * n_labels + l) * n_seeds + s. */
struct report_sim_grid {
    const struct scenario_case *cases;
    const char *const *labels;
    const double *rates;
    int n_labels, n_rates, n_seeds;
};
/* A line per rate and label: means with 95% intervals over seeds, and the paired difference to the
 * first label. */
void report_sim_grid(const struct report_sim_grid *grid, struct doc *out);
void report_sim_grid_json(const struct report_sim_grid *grid, struct str *out);
