/* How long a step takes in truth: what a simulation computes with, be it linear or not.
 *
 * Schedulers and routers always reckon with a struct perf; truth_reduce makes one of any truth, and
 * says how far it is. */
#pragma once
#include "predict/perf.h"

struct perf_truth {
    int64_t (*step_ps)(const void *self, const struct perf_load *load);
    const void *self; /* outlives the truth */
};
/* As perf_decode_span_ps and perf_decode_steps_in, of decodes whose first step is `first`, by
 * adding up steps (no more than n_most of them for the second). */
int64_t truth_span_ps(const struct perf_truth *truth, const struct perf_load *first,
                      int64_t n_steps);
int64_t truth_steps_in(const struct perf_truth *truth, const struct perf_load *first,
                       int64_t span_ps, int64_t n_most);

struct truth_range { /* where the linear model is asked to be near */
    int32_t n_prompt_min, n_prompt_max, n_batch_max, n_context_min, n_context_max;
};
struct truth_reduced {
    struct perf perf;
    struct perf_errors prefill, decode; /* against the truth, over the grid that it was fitted to */
};
/* Samples prompts, batches and contexts by powers of the root of 2 over the range and fits. False
 * when the samples don't determine a model. */
bool truth_reduce(const struct perf_truth *truth, const struct truth_range *range,
                  struct truth_reduced *out) MUST_USE;
