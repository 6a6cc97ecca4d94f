/* Figures of real traffic: quantiles of lengths, rates by the clock, and classes of clients.
 * tools/workload_tables.py makes them from public traces, each with its source. */
#pragma once
#include "sim/workload.h"

/* The quantiles' probabilities are the same for every table, and dense in the tail. */
enum { SIM_QUANTILES = 64, SIM_QUANTILES_GUIDE = 256 };
extern const double sim_tables_p[SIM_QUANTILES];
/* The last point whose probability is <= i / 256. */
extern const uint8_t sim_tables_guide[SIM_QUANTILES_GUIDE];

/* Prompt lengths, and output lengths for each of n_groups ranges of prompts, so that the two go
 * together as in the data. The rows' own figures serve for comparison. */
struct sim_joint_table {
    const char *name, *source;
    uint32_t n_rows;
    double mean_prompt, mean_output;
    int32_t p50_prompt, p99_prompt, p50_output, p99_output;
    uint32_t n_groups;
    const int32_t *prompt;                  /* (SIM_QUANTILES) */
    const int32_t (*output)[SIM_QUANTILES]; /* (n_groups, SIM_QUANTILES) */
};
/* A rate by the clock, and how the gaps vary once the clock runs with the rate. */
struct sim_rate_table {
    const char *name, *source;
    double rate_per_s, cv;
    struct sim_profile profile;
};
/* Clients of ServeGen with similar requests. */
struct sim_client_class {
    const char *model, *lengths;    /* the name of its sim_joint_table */
    double model_rate_per_s, share; /* of the model's requests */
    double cv;
    struct sim_profile profile;
};
extern const struct sim_joint_table sim_tables_lengths[], sim_tables_servegen[];
extern const struct sim_rate_table sim_tables_rates[];
extern const struct sim_client_class sim_tables_classes[];
extern const uint32_t sim_tables_n_lengths, sim_tables_n_servegen, sim_tables_n_rates,
    sim_tables_n_classes;

/* NULL when no table has the name. */
const struct sim_joint_table *sim_tables_find(const char *name);
const struct sim_rate_table *sim_tables_find_rate(const char *name);
