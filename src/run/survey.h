/* Measures a loaded model over a grid of passes: what `shoal profile` writes down.
 *
 * Passes are measured in rounds, each round in another order, and a pass' time is the median of its
 * rounds: whatever slows the machine for a while slows a round of all of them, not one point. */
#pragma once
#include "predict/profile.h"
#include "run/meter.h"

struct run_survey_options {
    int64_t budget_ns; /* about so long, but three rounds of a few passes at least */
    int32_t n_batch_max, n_prompt_max, n_context_max;
};
/* Decodes by batch and context, prompts, and prompts behind a context, small ones first. A fifth of
 * them is held out. Sets the group's samples, n_samples and n_held. */
void run_survey(const struct run_model *model, const struct run_survey_options *options,
                struct predict_profile_group *group);
/* How much longer a pass takes on the device's lane 1 while lane 2 computes the same model: medians
 * of rounds, each of which measures it alone and beside. The device has lanes 1 and 2. */
void run_survey_beside(const struct run_model *model, const struct run_survey_options *options,
                       struct predict_profile_beside *out);
