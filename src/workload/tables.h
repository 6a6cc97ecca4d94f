/* Figures of real traffic: quantiles of lengths, rates by the clock, and classes of clients.
 * tools/workload_tables.py makes them from public traces, each with its source. */
#pragma once
#include "workload/workload.h"

/* The quantiles' probabilities are the same for every table, and dense in the tail. */
enum { WORKLOAD_QUANTILES = 64, WORKLOAD_QUANTILES_GUIDE = 256 };
extern const double workload_tables_p[WORKLOAD_QUANTILES];
/* The last point whose probability is <= i / 256. */
extern const uint8_t workload_tables_guide[WORKLOAD_QUANTILES_GUIDE];

/* Prompt lengths, and output lengths for each of n_groups ranges of prompts, so that the two go
 * together as in the data. The rows' own figures serve for comparison. */
struct workload_joint_table {
    const char *name, *source;
    uint32_t n_rows;
    double mean_prompt, mean_output;
    int32_t p50_prompt, p99_prompt, p50_output, p99_output;
    uint32_t n_groups;
    const int32_t *prompt;                       /* (WORKLOAD_QUANTILES) */
    const int32_t (*output)[WORKLOAD_QUANTILES]; /* (n_groups, WORKLOAD_QUANTILES) */
};
/* A rate by the clock, and how the gaps vary once the clock runs with the rate. */
struct workload_rate_table {
    const char *name, *source;
    double rate_per_s, cv;
    struct workload_profile profile;
};
/* Clients of ServeGen with similar requests. */
struct workload_client_class {
    const char *model, *lengths;    /* the name of its workload_joint_table */
    double model_rate_per_s, share; /* of the model's requests */
    double cv;
    struct workload_profile profile;
};
extern const struct workload_joint_table workload_tables_lengths[], workload_tables_servegen[];
extern const struct workload_rate_table workload_tables_rates[];
extern const struct workload_client_class workload_tables_classes[];
extern const uint32_t workload_tables_n_lengths, workload_tables_n_servegen,
    workload_tables_n_rates, workload_tables_n_classes;

/* NULL when no table has the name. */
const struct workload_joint_table *workload_tables_find(const char *name);
const struct workload_rate_table *workload_tables_find_rate(const char *name);
