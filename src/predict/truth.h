/* The true time of a step, with which a simulation computes: a linear model or a table.
 *
 * Schedulers and routers always use a struct perf. truth_reduce makes one of any truth, and
 * measures its error. */
#pragma once
#include "predict/perf.h"

struct perf_truth {
    int64_t (*step_ps)(const void *self, const struct perf_load *load);
    const void *self; /* outlives the truth */
};
/* Like perf_decode_span_ps and perf_decode_steps_in, for decodes with `first` as their first step.
 * They add up steps (the second at most n_most). */
int64_t truth_span_ps(const struct perf_truth *truth, const struct perf_load *first,
                      int64_t n_steps);
int64_t truth_steps_in(const struct perf_truth *truth, const struct perf_load *first,
                       int64_t span_ps, int64_t n_most);

struct truth_range { /* the range in which the linear model should be accurate */
    int32_t n_prompt_min, n_prompt_max, n_batch_max, n_context_min, n_context_max;
};
struct truth_reduced {
    struct perf perf;
    struct perf_errors prefill, decode; /* against the truth, over the grid of the fit */
};
/* Samples prompts, batches and contexts by powers of the root of 2 over the range and fits them.
 * Returns false when the samples don't determine a model. */
bool truth_reduce(const struct perf_truth *truth, const struct truth_range *range,
                  struct truth_reduced *out) MUST_USE;
