/* The micro-profile at start-up: times a loaded model on a few batches and fits its performance
 * model. */
#pragma once
#include "predict/perf.h"
#include "run/model.h"

struct run_profile_options {
    int64_t budget_ns;     /* it stops measuring after this time: 0.5 s */
    int32_t n_rows_max;    /* largest prompt chunk tried */
    int32_t n_decodes_max; /* largest decode batch tried */
    /* Its cache, logits and scratch together stay below this, except a cache for one short request;
     * 0 = as much as the passes need. */
    int64_t bytes_max;
};
/* Always yields a usable model. When time runs out before the fit is determined, it uses the few
 * points that it has. */
void run_profile(const struct run_model *model, const struct run_profile_options *options,
                 struct perf *out);
